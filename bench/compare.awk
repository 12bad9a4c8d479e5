# SPDX-License-Identifier: MIT
# Reads the raw figures `run,program,bench,size,value,unit`; prints the tables; writes the medians and
# the ratios as CSV into the files named by the variables `medians` and `ratios`. The file `foreign` says
# how much processor time others took meanwhile. POSIX awk.
#
# A ratio is taken inside each run and then the median of the ratios: what slows the whole machine
# down during one run then touches both of its parts.

BEGIN { FS = "," }

NR == 1 { next }

{
    key = $2 SUBSEP $3 SUBSEP $4
    value[key, $1] = $5
    unit[key] = $6
    if ($1 > runs) runs = $1
    if (!(($3, $4) in known)) {
        known[$3, $4] = 1
        sizes_of[$3] = sizes_of[$3] " " $4
    }
    if (!(key in seen)) {
        seen[key] = 1
        keys[++key_count] = key
    }
}

# The ratio of bufenlarge's figure to that of `over`, run by run.
function ratio(bench, over, over_bench, size,    run, n, list) {
    for (run = 1; run <= runs; run++)
        if (("bufenlarge", bench, size, run) in value && (over, over_bench, size, run) in value)
            list[++n] = value["bufenlarge", bench, size, run] / value[over, over_bench, size, run]
    if (summarize(list, n + 0) > 0)
        printf "%s,%s,%s:%s,%.4f,%.4f,%.4f,%d\n", bench, size, over, over_bench, middle, low, high, n > ratios
    return n + 0
}

function median_text(program, bench, size, format) {
    return series(program, bench, size) > 0 ? sprintf(format, middle) : "-"
}

# "0.97 (0.95-1.02) +": the ratio, and how a target is met: kind "most", "least", "below" or "above"
# `limit`, or "" where no target holds.
function ratio_text(bench, over, over_bench, size, kind, limit, target,    mark) {
    if (kind != "") asked[target]++
    if (ratio(bench, over, over_bench, size) == 0) {
        if (kind != "") missed[target] = missed[target] sprintf(" %s (no figure)", size)
        return "-"
    }
    mark = kind == "" ? " " : busy ? "?" : judge(target, kind, limit, size)
    return sprintf("%.2f (%.2f-%.2f) %s", middle, low, high, mark)
}

function holds(kind, figure, limit) {
    if (kind == "most") return figure <= limit
    if (kind == "least") return figure >= limit
    return kind == "below" ? figure < limit : figure > limit
}

# Judges low, middle and high: reached in every run, by the median only, or missed.
function judge(target, kind, limit, size) {
    if (!holds(kind, middle, limit)) {
        missed[target] = missed[target] sprintf(" %s (%.2f)", size, middle)
        return "!"
    }
    reached[target]++
    if (holds(kind, low, limit) && holds(kind, high, limit)) return "+"
    unsure[target]++
    return "~"
}

function sorted_sizes(bench, list,    n, i) {
    n = split(sizes_of[bench], list, " ")
    for (i = 1; i <= n; i++) list[i] += 0
    sort_numbers(list, n)
    return n
}

function latency_table(    n, i, s, list, raw_kind, ofi_kind) {
    print "Latency: half round trip, us"
    printf "%8s %12s %9s %9s %11s | %20s %20s %20s\n", "size", "fi_pingpong", "raw", "ofi", \
        "bufenlarge", "to fi_pingpong", "to raw", "to ofi"
    n = sorted_sizes("latency", list)
    for (i = 1; i <= n; i++) {
        s = list[i]
        raw_kind = s >= 8 && s <= 4096 ? "most" : ""
        ofi_kind = s <= 1048576 ? "below" : ""
        printf "%8d %12s %9s %9s %11s | %20s %20s %20s\n", s, \
            median_text("fi_pingpong", "latency", s, "%.2f"), median_text("raw", "latency", s, "%.2f"), \
            median_text("ofi", "latency", s, "%.2f"), median_text("bufenlarge", "latency", s, "%.2f"), \
            ratio_text("latency", "fi_pingpong", "latency", s, raw_kind, 1.05, RAW_LATENCY), \
            ratio_text("latency", "raw", "latency", s, "", 0, ""), \
            ratio_text("latency", "ofi", "latency", s, ofi_kind, 1, OFI_LATENCY)
    }
}

# Bandwidth and message rate; the targets hold from raw_from (0: nowhere) and from ofi_from to ofi_to.
function window_table(bench, title, scale, raw_from, ofi_from, ofi_to, raw_target, ofi_target, \
                      n, i, s, list) {
    print "\n" title
    printf "%8s %10s %10s %10s %11s | %20s %20s %20s\n", "size", "raw send", "raw write", "ofi", \
        "bufenlarge", "to raw send", "to raw write", "to ofi"
    n = sorted_sizes(bench, list)
    for (i = 1; i <= n; i++) {
        s = list[i]
        printf "%8d %10s %10s %10s %11s | %20s %20s %20s\n", s, \
            median_text("raw", "send_" bench, s, scale), median_text("raw", "write_" bench, s, scale), \
            median_text("ofi", bench, s, scale), median_text("bufenlarge", bench, s, scale), \
            ratio_text(bench, "raw", "send_" bench, s, raw_from > 0 && s >= raw_from ? "least" : "", \
                       0.95, raw_target), \
            ratio_text(bench, "raw", "write_" bench, s, "", 0, ""), \
            ratio_text(bench, "ofi", bench, s, s >= ofi_from && s <= ofi_to ? "above" : "", 1, ofi_target)
    }
}

# One operation and its flush, and a window of 64 and one flush; only ch4:ofi has the same.
function onesided_table(bench, title, scale, kind,    n, i, s, list) {
    n = sorted_sizes(bench, list)
    if (n == 0) return
    print "\n" title
    printf "%8s %10s %11s | %20s\n", "size", "ofi", "bufenlarge", "to ofi"
    for (i = 1; i <= n; i++) {
        s = list[i]
        printf "%8d %10s %11s | %20s\n", s, median_text("ofi", bench, s, scale), \
            median_text("bufenlarge", bench, s, scale), ratio_text(bench, "ofi", bench, s, kind, 1, ONESIDED)
    }
}

function memory_row(ranks, moment,    bench) {
    bench = "private_" moment "_max"
    printf "%6d %-12s %11s %11s %11s %11s | %20s\n", ranks, moment, \
        median_text("ofi", "private_" moment "_median", ranks, "%d"), \
        median_text("ofi", bench, ranks, "%d"), \
        median_text("bufenlarge", "private_" moment "_median", ranks, "%d"), \
        median_text("bufenlarge", bench, ranks, "%d"), ratio_text(bench, "ofi", bench, ranks, "", 0, "")
    if (moment != "after_init") return
    asked[MEMORY]++
    if (series("bufenlarge", bench, ranks) > 0) {
        low /= 1024
        middle /= 1024
        high /= 1024
        judge(MEMORY, "below", 6, ranks)
    } else {
        missed[MEMORY] = missed[MEMORY] sprintf(" %s (no figure)", ranks)
    }
}

function memory_table(    n, i, list) {
    print "\nPrivate memory of a process, KiB, median and largest over the ranks"
    printf "%6s %-12s %11s %11s %11s %11s | %20s\n", "ranks", "", "ofi median", "ofi max", \
        "be median", "be max", "max to ofi"
    n = sorted_sizes("private_after_init_max", list)
    for (i = 1; i <= n; i++) {
        memory_row(list[i], "before_init")
        memory_row(list[i], "after_init")
        memory_row(list[i], "after_touch")
    }
}

# Programs that yield while they wait fare better on a busy machine than those that do not, so that
# ratios are then wrong and not only wide: no target of time is judged.
function read_foreign(    line, part, program, taken, all, share) {
    while ((getline line < foreign) > 0) {
        split(line, part, ",")
        if (part[3] !~ /^(latency|window|onesided)$/) continue
        taken[part[2]] += part[4] > 0 ? part[4] : 0
        all[part[2]] += part[5]
    }
    printf "Processor time that others took while it was measured:"
    for (program in all) {
        share = 100 * taken[program] / all[program]
        printf " %s %d %%", program, share
        if (share > FOREIGN_MAX) busy = 1
    }
    print "\n"
}

function target_line(target) {
    if (asked[target] == 0) return
    if (busy && target != MEMORY) {
        printf "  %-58s not judged: the machine was busy\n", target
        return
    }
    printf "  %-58s %2d of %2d%s%s\n", target, reached[target], asked[target], \
        unsure[target] == 0 ? "" : ", " unsure[target] " of them not in every run", \
        missed[target] == "" ? "" : ", missed at" missed[target]
}

function write_medians(    i, n, part) {
    print "program,bench,size,median,min,max,runs,unit" > medians
    for (i = 1; i <= key_count; i++) {
        split(keys[i], part, SUBSEP)
        n = series(part[1], part[2], part[3])
        printf "%s,%s,%s,%.4f,%.4f,%.4f,%d,%s\n", part[1], part[2], part[3], middle, low, high, n, \
            unit[keys[i]] > medians
    }
}

END {
    FOREIGN_MAX = 5
    RAW_LATENCY = "latency at most 1.05 of fi_pingpong, 8 B to 4 KiB"
    OFI_LATENCY = "latency below ofi, to 1 MiB"
    RAW_BANDWIDTH = "bandwidth at least 0.95 of raw send, from 64 KiB"
    OFI_BANDWIDTH = "bandwidth above ofi"
    OFI_RATE = "message rate above ofi, 8 B"
    ONESIDED = "one-sided: latency below ofi, bandwidth above"
    MEMORY = "private memory after MPI_Init below 6 MiB"
    print "bench,size,over,median,min,max,runs" > ratios
    write_medians()
    printf "Medians of %d runs. Ratios: bufenlarge to the other; median (smallest-largest) of the runs'\n", runs
    print "ratios; target + reached in every run, ~ by the median only, ! missed. Less is better for latency"
    print "and memory."
    read_foreign()
    latency_table()
    window_table("bandwidth", "Bandwidth: window of 64, MB/s", "%.2f", 65536, 1, 4194304, \
                 RAW_BANDWIDTH, OFI_BANDWIDTH)
    window_table("message_rate", "Message rate: window of 64, messages/s", "%.0f", 0, 8, 8, "", OFI_RATE)
    onesided_table("put_latency", "MPI_Put and flush, us", "%.2f", "below")
    onesided_table("get_latency", "MPI_Get and flush, us", "%.2f", "below")
    onesided_table("put_bandwidth", "64 MPI_Puts and flush, MB/s", "%.2f", "above")
    onesided_table("get_bandwidth", "64 MPI_Gets and flush, MB/s", "%.2f", "above")
    memory_table()
    print "\nTargets reached, in sizes or numbers of ranks"
    target_line(RAW_LATENCY)
    target_line(OFI_LATENCY)
    target_line(RAW_BANDWIDTH)
    target_line(OFI_BANDWIDTH)
    target_line(OFI_RATE)
    target_line(ONESIDED)
    target_line(MEMORY)
}

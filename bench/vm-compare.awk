# SPDX-License-Identifier: MIT
# Reads the raw figures of bench/vm-compare, `run,program,bench,size,value,unit`; prints Markdown tables of
# medians and ratios; writes medians, smallest and largest into the file named by `medians`, and reads the
# reasons for what is missing from the file `failures`. POSIX awk.
#
# A ratio is taken inside each round, then the median of the ratios: what slows the whole machine during
# one round then touches both of its parts.

BEGIN { FS = "," }
NR == 1 { next }

{
    value[$2, $3, $4, $1] = $5
    if ($1 > runs) runs = $1
    if (!(($3, $4) in known)) {
        known[$3, $4] = 1
        sizes_of[$3] = sizes_of[$3] " " $4
    }
}

function ratio(program, over, bench, size,    run, n, list) {
    for (run = 1; run <= runs; run++)
        if ((program, bench, size, run) in value && (over, bench, size, run) in value)
            list[++n] = value[program, bench, size, run] / value[over, bench, size, run]
    return summarize(list, n + 0)
}

function short(x) { return x >= 1000 ? sprintf("%.0f", x) : sprintf("%.3g", x) }

# Median, and smallest to largest.
function figure(program, bench, size,    n) {
    n = series(program, bench, size)
    if (n == 0) return "-"
    printf "%s,%s,%s,%.4f,%.4f,%.4f,%d\n", program, bench, size, middle, low, high, n > medians
    return short(middle) " (" short(low) "-" short(high) ")" (n < runs ? " of " n : "")
}

function quotient(program, over, bench, size) {
    return ratio(program, over, bench, size) == 0 ? "-" : sprintf("%.2f (%.2f-%.2f)", middle, low, high)
}

function size_name(bytes) {
    if (bytes >= 1048576) return bytes / 1048576 " MiB"
    return bytes >= 1024 ? bytes / 1024 " KiB" : bytes " B"
}

function title(text, first,    i) {
    printf "\n**%s: %s**\n\n| %s", fabric, text, first
    for (i = 1; i <= columns; i++) printf " | %s", size_name(size[i])
    printf " |\n|---"
    for (i = 1; i <= columns; i++) printf "|---"
    print "|"
}

function table(bench, text,    i, p, over, o) {
    columns = split(sizes_of[bench], size, " ")
    if (columns == 0) return
    title(text ", median of " runs " (smallest-largest)", "")
    for (p = 1; p <= programs; p++) {
        if (!has(program[p], bench)) continue
        printf "| %s", program[p]
        for (i = 1; i <= columns; i++) printf " | %s", figure(program[p], bench, size[i])
        print " |"
    }
    o = split("ofi perftest fi_pingpong", over, " ")
    for (p = 1; p <= 3; p++)
        for (i = 1; i <= o; i++)
            if (has(over[i], bench)) ratios(program[p], over[i], bench)
}

function ratios(name, over, bench,    i) {
    printf "| %s / %s", name, over
    for (i = 1; i <= columns; i++) printf " | %s", quotient(name, over, bench, size[i])
    print " |"
}

function has(name, bench,    i) {
    for (i = 1; i <= columns; i++)
        if (series(name, bench, size[i]) > 0) return 1
    return 0
}

END {
    programs = split("bufenlarge-mixed bufenlarge-polled bufenlarge-doorbell ofi perftest fi_pingpong", program, " ")
    print "program,bench,size,median,smallest,largest,runs" > medians
    table("latency_typical", "half round trip in us, the median of a run's single ones")
    table("latency", "half round trip in us, the mean of a run")
    table("bandwidth", "bandwidth in MB/s, the mean of a run")
    table("put_latency", "MPI_Put and flush, us")
    table("get_latency", "MPI_Get and flush, us")
    table("put_bandwidth", "many MPI_Puts and flush, MB/s")
    table("get_bandwidth", "many MPI_Gets and flush, MB/s")
    print ""
    while ((getline line < failures) > 0) {
        split(line, part, ",")
        if (part[1] != "run") printf "failed: round %s, %s, %s: %s\n", part[1], part[2], part[3], part[4]
    }
}

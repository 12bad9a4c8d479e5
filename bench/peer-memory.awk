# SPDX-License-Identifier: MIT
# Reads `run,arrival,endpoints,source,name,bytes` of bench/peer-memory; prints Markdown: bytes per connected
# idle endpoint, the slope of a straight line through the steps of a run, run by run. POSIX awk.
BEGIN { FS = "," }
NR == 1 { next }

{
    key = $1 SUBSEP $2 SUBSEP $4 SUBSEP $5
    if ($1 > runs) runs = $1
    add(key, $3, $6)
    if ($4 == "meminfo" && $5 ~ /^(MemFree|Buffers|Cached|SReclaimable)$/)
        idle[$1, $2, $3] += $6
    if ($4 == "meminfo" && $5 == "MemTotal") total = $6
    steps[$1, $2, $3] = 1
    if ($4 == "slab") slab[$5] = 1
    if ($4 == "slab") objects[$1, $2, $3] += $6
    if ($4 == "meminfo" && $5 ~ /^(AnonPages|VmallocUsed|Slab|Percpu|KernelStack|PageTables)$/)
        parts[$1, $2, $3] += $6
    if ($4 == "library") library[$1, $2, $5] = $6
}

function add(key, x, y) {
    n[key]++
    sx[key] += x
    sy[key] += y
    sxx[key] += x * x
    sxy[key] += x * y
}

function slope(run, arrival, source, name,    key, below) {
    key = run SUBSEP arrival SUBSEP source SUBSEP name
    below = n[key] * sxx[key] - sx[key] * sx[key]
    return below == 0 ? 0 : (n[key] * sxy[key] - sx[key] * sy[key]) / below
}

function row(text, source, name,    a, run) {
    printf "| %s", text
    for (a = 1; a <= 2; a++) {
        printf " | "
        for (run = 1; run <= runs; run++)
            printf "%s%.0f", (run > 1 ? ", " : ""), slope(run, arrival[a], source, name)
    }
    print " |"
}

function mean_slope(a, source, name,    run, sum) {
    for (run = 1; run <= runs; run++) sum += slope(run, arrival[a], source, name)
    return sum / runs
}

function counted(a) {
    return library[1, arrival[a], "ring"] + library[1, arrival[a], "control"] + library[1, arrival[a], "heap"] \
        + library[1, arrival[a], "send_queue"] + library[1, arrival[a], "receive_queue"] + library[1, arrival[a], "completion_queue"]
}

END {
    split("polled doorbell", arrival, " ")
    for (step in steps) {
        split(step, part, SUBSEP)
        add(part[1] SUBSEP part[2] SUBSEP "system" SUBSEP "used", part[3], total - idle[step])
        add(part[1] SUBSEP part[2] SUBSEP "system" SUBSEP "parts", part[3], parts[step])
        add(part[1] SUBSEP part[2] SUBSEP "system" SUBSEP "objects", part[3], objects[step])
    }
    printf "**%s: bytes per connected idle endpoint; slope of each of %d runs**\n\n", fabric, runs
    print "| | polled | doorbell |\n|---|---|---|"
    row("system, all in (MemTotal - MemFree - Buffers - Cached - SReclaimable)", "system", "used")
    row("sum of AnonPages, VmallocUsed, Slab, Percpu, KernelStack, PageTables", "system", "parts")
    row("process: AnonPages", "meminfo", "AnonPages")
    row("process: Private_Dirty", "process", "Private_Dirty")
    row("kernel: Slab", "meminfo", "Slab")
    row("kernel: SUnreclaim", "meminfo", "SUnreclaim")
    row("kernel: slab objects in use", "system", "objects")
    row("kernel: VmallocUsed", "meminfo", "VmallocUsed")
    row("kernel: Percpu", "meminfo", "Percpu")
    row("kernel: KernelStack", "meminfo", "KernelStack")
    row("kernel: PageTables", "meminfo", "PageTables")
    row("registered by the library", "registered", "bytes")
    lines = split("ring control heap send_queue receive_queue completion_queue driver", name, " ")
    for (i = 1; i <= lines; i++)
        printf "| library counts: %s | %d | %d |\n", name[i], library[1, arrival[1], name[i]], library[1, arrival[2], name[i]]
    printf "| library counts: sum without driver | %d | %d |\n", counted(1), counted(2)
    printf "| driver, provider and kernel: sum of the parts less the library's | %.0f | %.0f |\n\n", \
        mean_slope(1, "system", "parts") - counted(1), mean_slope(2, "system", "parts") - counted(2)
    print "Kernel objects in use, bytes per endpoint (over 32):\n\n| cache | polled | doorbell |\n|---|---|---|"
    for (cache in slab)
        if (mean_slope(1, "slab", cache) > 32 || mean_slope(2, "slab", cache) > 32)
            printf "| %s | %.0f | %.0f |\n", cache, mean_slope(1, "slab", cache), mean_slope(2, "slab", cache)
}

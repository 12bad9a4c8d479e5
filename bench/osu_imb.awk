# SPDX-License-Identifier: MIT
# Reads the table that a benchmark of OSU's or of Intel's prints, and prints it as lines `question,size,value,unit` for
# raw.awk; `question` is a variable. POSIX awk.
#
# OSU: a line "# Size  Avg Latency(us) ..." or "# Size  MB/s ...", then rows: the size, and the first figure, which is
# what the benchmark is about; the least and the most of -f, percentiles and messages per second come after it. Without
# "Size" (osu_barrier) a row has only figures.
# Intel: a line "#bytes #repetitions ...", then rows. The column t[usec], or t_avg[usec] where there are several times,
# as OSU's is the mean over the ranks; Mbytes/sec where there is no time. Without "#bytes" (Barrier) the size is 0.

BEGIN { OFS = "," }

/^[[:space:]]*#bytes|^[[:space:]]*#repetitions/ {
    column = rows = 0
    for (i = 1; i <= NF; i++) at[$i] = i
    if ("t[usec]" in at) { column = at["t[usec]"]; unit = "us" }
    else if ("t_avg[usec]" in at) { column = at["t_avg[usec]"]; unit = "us" }
    else if ("Mbytes/sec" in at) { column = at["Mbytes/sec"]; unit = "MB/s" }
    sized = "#bytes" in at
    split("", at)
    next
}

/^#.*(\(us\)|MB\/s)/ {
    unit = index($0, "MB/s") && !(index($0, "(us)") && index($0, "(us)") < index($0, "MB/s")) ? "MB/s" : "us"
    sized = $0 ~ /^#[[:space:]]*Size/
    column = sized ? 2 : 1
    rows = 0
    next
}

/^[[:space:]]*$/ || /^#/ { if (column && rows) column = 0; next }

column && $1 ~ /^[0-9]+$/ && sized && $column ~ /^[0-9]+(\.[0-9]+)?$/ { print question, $1, $column, unit; rows++ }

column && !sized && $column ~ /^[0-9]+(\.[0-9]+)?$/ { print question, 0, $column, unit; rows++ }

# SPDX-License-Identifier: MIT
# Medians of few figures, for the tables of this folder; read before them with a -f of its own. They fill
# value[program, bench, size, run] and runs. POSIX awk.

# Sorts list[1..n], which is short.
function sort_numbers(list, n,    i, j, moved) {
    for (i = 2; i <= n; i++) {
        moved = list[i]
        for (j = i - 1; j >= 1 && list[j] > moved; j--) list[j + 1] = list[j]
        list[j + 1] = moved
    }
}

# Sets low, middle, high; returns how many there were.
function summarize(list, n) {
    sort_numbers(list, n)
    low = list[1]
    high = list[n]
    middle = n == 0 ? "" : (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
    return n
}

function series(program, bench, size,    run, n, list) {
    for (run = 1; run <= runs; run++)
        if ((program, bench, size, run) in value) list[++n] = value[program, bench, size, run] + 0
    return summarize(list, n + 0)
}

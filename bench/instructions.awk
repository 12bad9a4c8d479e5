# SPDX-License-Identifier: MIT
# Reads `program,call,messages,object,instructions`; prints instructions per call, from the difference
# of the counts `first` and `third`; says so where the two halves of it differ. POSIX awk.

BEGIN { FS = ","; split("total mpi libfabric rest", objects, " ") }

NR > 1 { counted[$1, $2, $3, $4] = $5 }

# `call` may be "both": the sum of the two.
function per_call(program, call, object, from, to) {
    if (call == "both")
        return per_call(program, "MPI_Send", object, from, to) + per_call(program, "MPI_Recv", object, from, to)
    return (counted[program, call, to, object] - counted[program, call, from, object]) / (to - from)
}

function row(program, call,    i, lower, upper, steady) {
    printf "%-11s %-9s", program, call
    for (i = 1; i <= 4; i++) printf " %10.1f", per_call(program, call, objects[i], first, third)
    lower = per_call(program, call, "total", first, second)
    upper = per_call(program, call, "total", second, third)
    steady = lower > 0 && upper / lower < 1.02 && upper / lower > 0.98
    printf "   %s\n", steady ? "steady" : sprintf("NOT STEADY: %.1f, then %.1f", lower, upper)
}

function ratio_row(call,    i, other) {
    printf "%-11s %-9s", "ratio", call
    for (i = 1; i <= 4; i++) {
        other = per_call("ofi", call, objects[i], first, third)
        if (other > 0) printf " %10.2f", per_call("bufenlarge", call, objects[i], first, third) / other
        else printf " %10s", "-"
    }
    printf "\n"
}

END {
    print "Instructions of one call, 8 bytes; MPI_Recv with its message arrived. mpi: libmpi, with"
    print "libbufenlarge in it. rest: C library and loader; the kernel is not counted.\n"
    printf "%-11s %-9s %10s %10s %10s %10s\n", "", "", "total", "mpi", "libfabric", "rest"
    calls = split("MPI_Send MPI_Recv both", names, " ")
    for (c = 1; c <= calls; c++) {
        call = names[c]
        row("bufenlarge", call)
        row("ofi", call)
        ratio_row(call)
    }
}

# SPDX-License-Identifier: MIT
# Reads a callgrind profile; prints `object,instructions` for the MPI library, libfabric, the rest
# (C library, loader) and the whole. Own costs only: the line after `calls=` repeats what the callee
# spent. Fails where the parts do not add up to the total that the profile states. POSIX awk.

/^ob=/ {
    text = substr($0, 4)
    id = text
    sub(/ .*/, "", id)
    if (text ~ / /) name[id] = substr(text, index(text, " ") + 1)
    object = name[id] ~ /libmpi[^\/]*$/ ? "mpi" : name[id] ~ /libfabric[^\/]*$/ ? "libfabric" : "rest"
    next
}

# The same numbering is used for called objects, whose name may be given here first.
/^cob=/ {
    text = substr($0, 5)
    id = text
    sub(/ .*/, "", id)
    if (text ~ / /) name[id] = substr(text, index(text, " ") + 1)
    next
}

/^calls=/ { callee = 1; next }

/^[-+*0-9]/ {
    if (!callee) { cost[object] += $2; sum += $2 }
    callee = 0
    next
}

/^totals:/ { total = $2 }

END {
    if (total == 0 || sum != total) {
        print FILENAME ": the costs add up to " sum + 0 ", the profile says " total + 0 > "/dev/stderr"
        exit 1
    }
    printf "mpi,%d\nlibfabric,%d\nrest,%d\ntotal,%d\n", cost["mpi"], cost["libfabric"], cost["rest"], total
}

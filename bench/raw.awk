# SPDX-License-Identifier: MIT
# Turns what the measuring programs print, lines `question,size,value,unit`, into lines of raw.tsv (README.md): the
# variables `fabric`, `program` and `run` say whose figures they are. Other lines are left out; fails where no line has
# figures. POSIX awk.

BEGIN { FS = ","; OFS = "\t" }

NF == 4 && $2 ~ /^[0-9]+$/ && $3 ~ /^[0-9.]+$/ && $3 > 0 {
    question = $1
    size = $2
    who = program
    # raw_bench has two ways to send; each is a program of its own beside the MPIs.
    if (program == "raw" && question ~ /^(send|write)_/) {
        who = "raw-" substr(question, 1, index(question, "_") - 1)
        sub(/^[a-z]+_/, "", question)
    }
    # vector_bench names the block in the question, and the curve is by the size of the block.
    if (question ~ /^vector [0-9]+$/) {
        size = substr(question, 8)
        question = "noncontiguous_" $2
    }
    print question, fabric, who, size, run, $3, $4
    figures++
}

END { exit figures == 0 }

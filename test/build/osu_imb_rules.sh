# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bench/osu-imb: what it reads from the benchmarks' tables, what it refuses and how it tells a failure; sourced by run.
# The MPIs and the benchmarks are stand-ins: mpicc writes a script that prints a table, and mpiexec runs it once.

# shellcheck disable=SC2154 # run sets it
stand=$work/stand
mkdir -p "$stand"/{one,two,bare}/bin "$stand"/{osu,made,nothing} "$stand"/imb/{src_c,src_cpp}

# stand_in FILE: a script of standard input's lines.
stand_in() { { printf '#!/bin/sh\n' && cat; } >"$1" && chmod +x "$1"; }

stand_in "$stand/program" <<'END'
case ${0##*/} in
    osu_latency)
        printf '# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n'
        printf '0           1.50\n8           2.00\n1024        4.25\n' ;;
    osu_put_latency)
        printf '# OSU MPI_Put Latency Test v7.4\n# Window creation: MPI_Win_allocate\n'
        printf '# Synchronization: MPI_Win_flush\n# Size       Avg Latency(us)\n1        7.12\n' ;;
    osu_bw) printf '# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size  Bandwidth (MB/s)\n1      0.75\n' ;;
    osu_mbw_mr) printf '# [ pairs: 2 ]\n# Size                  MB/s        Messages/s\n4      9.50     2375000.00\n' ;;
    osu_allreduce)
        printf '# OSU MPI Allreduce Latency Test v7.4\n# Size   Avg Latency(us)   Min Latency(us)   Max Latency(us)  '
        printf 'Iterations\n4      11.25      9.00      13.00        1000\n' ;;
    osu_barrier) printf '# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             21.50\n' ;;
    osu_alltoall) echo "rank 1: cannot" >&2 && exit 3 ;;
    osu_bibw) exec sleep 60 ;;
    osu_bcast) echo "# nothing measured" ;;
    PingPong)
        printf '# Benchmarking PingPong\n       #bytes #repetitions      t[usec]   Mbytes/sec\n'
        printf '            0         1000         1.75         0.00\n'
        printf '           64         1000         3.50        18.29\n'
        printf '\n# All processes entering MPI_Finalize\n' ;;
    Sendrecv)
        printf '   #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n'
        printf '       16         1000         5.00         6.00         5.50         5.33\n' ;;
    Barrier) printf ' #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  1000    7.00     9.00     8.00\n' ;;
    Biband) printf '   #bytes #repetitions   Mbytes/sec      Msg/sec\n   8    1000     2.50     312500\n' ;;
esac
END
stand_in "$stand/mpicc" <<'END'
while [ "$1" != -o ]; do shift; done
cp "${0%/*}/../../program" "$2" && chmod +x "$2"
END
stand_in "$stand/mpiexec" <<'END'
[ "$1" != --version ] || { echo "HYDRA build details:" && exit 0; }
echo "NOLOCAL=$MPIR_CVAR_NOLOCAL UCX=$UCX_TLS PROVIDER=$MPIR_CVAR_BUFENLARGE_PROVIDER $*" >>"${0%/*}/../calls"
while [ "$1" != -n ]; do shift; done
exec "$3" "$@"
END
stand_in "$stand/mpichversion" <<'END'
printf "MPICH Version:    \t4.0.2\nMPICH Device:    \tch4:${STAND_DEVICE:-stand}\n"
END
cp "$stand"/mpicc "$stand/mpiexec" "$stand/mpichversion" "$stand/one/bin/"
for name in mpicc mpicxx; do cp "$stand/mpicc" "$stand/two/bin/$name.two"; done
sed 's/HYDRA build details:/mpiexec (OpenRTE) 4.1.4/' "$stand/mpiexec" >"$stand/two/bin/mpiexec.two"
cp "$stand/mpicc" "$stand/bare/bin/mpicc"
sed 's/HYDRA.*details:/some other MPI/' "$stand/mpiexec" >"$stand/bare/bin/mpiexec"
chmod +x "$stand"/*/bin/*
for name in latency put_latency bw mbw_mr allreduce barrier alltoall bibw bcast; do
    echo 'int main(void) { return 0; }' >"$stand/osu/osu_$name.c"
done
echo 'void helper(void) {}' >"$stand/osu/osu_util.c"
cp "$stand/osu/osu_latency.c" "$stand/made/"
# shellcheck disable=SC2016 # of the Makefile and of make
stand_in "$stand/made/configure" <<'END'
printf "osu_latency:\n\t%s -o osu_latency\n" "${1#CC=}" >Makefile
END
printf '    "%s",\n' PingPong Sendrecv Barrier Biband >"$stand/imb/src_c/IMB_bnames_mpi1.h"
# shellcheck disable=SC2016
printf 'CFLAGS += -Werror\nIMB-MPI1:\n\t$(CXX) -o $@\n' >"$stand/imb/src_cpp/Makefile"
echo "of another MPI" >"$stand/imb/src_cpp/IMB-MPI1"

job=(env -u BUFENLARGE_STARTED -u BUFENLARGE_PROGRESS "TMPDIR=$stand" bench/osu-imb --out "$stand/out")
both=(--mpi "one=$stand/one" --mpi "two=$stand/two")

# figures BENCHMARK: what the kept figures of the last job have of it.
figures() {
    awk -F '\t' -v question="$1" '!/^#/ && $1 == question { print $3, $4, $5, $6, $7 }' "$stand/out/raw.tsv" |
        paste -s -d ,
}

digest_of_stand() { (cd "$stand" && find osu made imb -type f | digest_of_files); }
before=$(digest_of_stand)
succeeds "osu-imb builds and runs OSU's and Intel's benchmarks with two MPIs" \
    "${job[@]}" "${both[@]}" --osu "$stand/osu" \
    --imb "$stand/imb" --runs 2 --ranks 6 --osu-options '-i 5' --options 'one=-hosts a,b' --benchmarks \
    osu_latency,osu_put_latency,osu_bw,osu_mbw_mr,osu_allreduce,osu_barrier,PingPong,Sendrecv,Barrier,Biband
report "it reads OSU's latency in the order of turns" "$(
    turn() { printf '%s 0 %s 1.50 us,%s 8 %s 2.00 us,%s 1024 %s 4.25 us' "$1" "$2" "$1" "$2" "$1" "$2"; }
    wanted=$(turn one 1),$(turn two 1),$(turn two 2),$(turn one 2)
    [ "$(figures osu_latency)" = "$wanted" ] || figures osu_latency)"
for expected in "osu_put_latency 1 1 7.12 us" "osu_bw 1 1 0.75 MB/s" "osu_mbw_mr 4 1 9.50 MB/s" \
    "osu_allreduce 4 1 11.25 us" "osu_barrier 0 1 21.50 us" "imb_PingPong 64 1 3.50 us" "imb_Sendrecv 16 1 5.50 us" \
    "imb_Barrier 0 1 8.00 us" "imb_Biband 8 1 2.50 MB/s"; do
    report "and the table of ${expected%% *}" "$(
        grep -qF "one ${expected#* }," <<<"$(figures "${expected%% *}")" ||
            echo "not '$expected': $(figures "${expected%% *}")")"
done
report "there is a table and a picture of each, with both MPIs" "$(
    for name in osu_latency osu_put_latency osu_bw osu_mbw_mr osu_allreduce osu_barrier imb_PingPong imb_Sendrecv \
        imb_Barrier imb_Biband; do
        grep -q "!\[.*\]($name.svg)" "$stand/out/table.md" || echo "no $name in table.md"
        [ "$(grep -c '>one<\|>two<' "$stand/out/$name.svg")" = 2 ] || echo "$name.svg has not both"
    done
    grep -qFx '|  | one | two | one to two |' "$stand/out/table.md" || echo "no head of a table"
    grep -qFx '| 1 KiB | 4.25 | 4.25 | 1.00 (1.00 to 1.00) |' "$stand/out/table.md" || echo "no row of 1 KiB")"
report "an MPICH without mpicxx compiles C++ by its mpicc" "$(
    grep -q "bin/mpicc -cc=c++ -o IMB-MPI1" "$stand/out/logs/compile-one-imb.log" || echo "no -cc=c++")"
report "both keep to TCP, with the ranks that a benchmark takes" "$(
    grep -q "=1 UCX=tcp,self PROVIDER= -bind-to none -hosts a,b -n 2 .*/osu_latency -i 5\$" "$stand/one/calls" ||
        echo "not one's 2"
    grep -q "NOLOCAL=1 .*-n 6 .*/Sendrecv -npmin 6 Sendrecv\$" "$stand/one/calls" || echo "not one's 6"
    grep -q -- "--mca btl tcp,self --mca osc ^sm,ucx .*-n 6 .*/osu_allreduce -i 5\$" "$stand/two/calls" ||
        echo "not two's 6")"
succeeds "osu-imb uses OSU's configure, and leaves the rest to the MPI with --path own" \
    "${job[@]}" --mpi "one=$stand/one" --mpi "bare=$stand/bare" --osu "$stand/made" --runs 1 --path own \
    --work "$stand/kept"
report "and nothing keeps it to TCP then" "$(
    grep "^NOLOCAL= UCX= PROVIDER= -n 2 " "$stand/one/calls" >/dev/null || tail -n 1 "$stand/one/calls"
    grep "^NOLOCAL= UCX= PROVIDER= -n 2 " "$stand/bare/calls" >/dev/null || tail -n 1 "$stand/bare/calls")"
rm -f "$stand/bare/bin/mpicc" "$stand/out/logs/compile"*
stand_in "$stand/bare/bin/mpicc" <<<'exit 1'
succeeds "what --work has is not built again" "${job[@]}" --mpi "one=$stand/one" --mpi "bare=$stand/bare" \
    --osu "$stand/made" --runs 1 --path own --work "$stand/kept"
report "the user's folders stay as they are" "$([ "$(digest_of_stand)" = "$before" ] || echo "they differ")"

failing=(--mpi "one=$stand/one" --osu "$stand/osu" --limit 1)
export STAND_DEVICE=bufenlarge
refused "a benchmark that fails is named with its log" \
    "FAILED: run 1, one, osu_alltoall: status 3; log: $stand/out/logs/run1-one-osu_alltoall.log" \
    "${job[@]}" "${failing[@]}" --runs 3 --benchmarks osu_alltoall,osu_latency
report "what it said is shown, and it has no third try" "$(
    grep -q '| rank 1: cannot' "$work/refused.log" || echo "not what it said"
    [ "$(grep -c FAILED "$work/refused.log")" = 2 ] || echo "not 2 tries"
    grep -q 'run 2, one, osu_alltoall: status 3' "$stand/out/table.md" || echo "not in table.md")"
report "bufenlarge has its tcp provider" "$(
    tail -n 1 "$stand/one/calls" | grep -v "^NOLOCAL=1 UCX= PROVIDER=tcp -bind-to none -n 2 ")"
unset STAND_DEVICE
started=$SECONDS
refused "so is one that hangs, and one without a table" "osu_bcast: no table in what it printed; log: " \
    "${job[@]}" "${failing[@]}" --runs 1 --benchmarks osu_bibw,osu_bcast
report "with the time it had" "$([ $((SECONDS - started)) -lt 30 ] || echo "it had $((SECONDS - started)) s"
    grep -q 'osu_bibw: not finished after 1 s' "$work/refused.log" ||
    cat "$work/refused.log")"

refused "osu-imb asks for a folder" "name the folder of the benchmarks: --osu DIR" "${job[@]}" "${both[@]}"
refused "a folder that is not OSU's" "not the OSU micro-benchmarks" "${job[@]}" "${both[@]}" --osu "$stand/nothing"
refused "a folder that is not Intel's" "not the Intel MPI Benchmarks" "${job[@]}" "${both[@]}" --imb "$stand/osu"
refused "a folder that is not there" "no such directory: $stand/none" "${job[@]}" "${both[@]}" --osu "$stand/none"
refused "a benchmark that there is not, beside those there are" \
    "there is no 'osu_nothing'; of OSU there are: osu_allreduce osu_alltoall osu_barrier" \
    "${job[@]}" "${both[@]}" --osu "$stand/osu" --benchmarks osu_latency,osu_nothing
refused "an MPI without mpicc" "mpi x: no mpicc.x and no mpicc in $stand/nothing/bin" \
    "${job[@]}" --mpi "x=$stand/nothing" --osu "$stand/osu"
refused "an MPI without mpicxx" "no mpicxx in" "${job[@]}" --mpi "bare=$stand/bare" --imb "$stand/imb" --path own
refused "an MPI that it cannot keep to TCP" "choose --path own" "${job[@]}" --mpi "bare=$stand/bare" --osu "$stand/osu"
refused "a name twice" "'one' is there twice" "${job[@]}" "${both[@]}" --mpi "one=$stand/one" --osu "$stand/osu"
refused "a name with a blank" "allowed is NAME=PREFIX" "${job[@]}" --mpi "a b=$stand/one" --osu "$stand/osu"
refused "options of nobody" "no --mpi is called 'three'; there are: one two" \
    "${job[@]}" "${both[@]}" --osu "$stand/osu" --options three=-x
refused "a number of ranks that is 0" "--ranks '0': allowed are 1 to 99999" "${job[@]}" "${both[@]}" --ranks 0 --osu x
refused "a path that is none" "--path 'rdma': allowed are tcp and own" "${job[@]}" "${both[@]}" --path rdma --osu x

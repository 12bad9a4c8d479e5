# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What source_rules.sh, compile_rules.sh and length_rules.sh must refuse; sourced by negative_rules.sh.

library=src/bufenlarge
wrong_line "a socket in protocol/" source "FAIL  protocol/ includes only" \
    $library/protocol/wire.h '#include <sys/socket.h>'
wrong_line "a clock in protocol/" source "FAIL  protocol/ has no clock" \
    $library/protocol/wire.h '#include <chrono>'
wrong_line "fabric/ in channel/" source "FAIL  channel/ includes nothing of fabric/" \
    $library/channel/settings.h '#include "fabric/fid.h"'
wrong_line "channel/ in fabric/" source "FAIL  fabric/ includes nothing of channel/" \
    $library/fabric/fid.h '#include "channel/settings.h"'
wrong_line "MPI in the library" source "FAIL  nothing of the library includes MPI" $library/knobs.cc '#include <mpi.h>'
wrong_line "libfabric called by channel/" source "FAIL  only fabric/ calls libfabric" \
    $library/channel/settings.h 'inline void f() { fi_write (nullptr); }'
wrong_line "an exception caught in channel/" source "FAIL  only the C boundary catches" \
    $library/channel/settings.h 'inline void f() { try {} catch (int) {} }'
wrong_line "the environment in the library" source "FAIL  the library does not read the environment" \
    $library/knobs.cc 'char* f() { return getenv(""); }'
wrong_line "a thread in the library" source "FAIL  the library starts no thread" \
    $library/knobs.cc 'void f() { std::thread([] {}); }'
wrong_line "protocol/ in the netmod" source "FAIL  the netmod includes no header of the library" \
    src/netmod/bufenlarge/bufenlarge_init.c '#include "protocol/wire.h"'
wrong_line "a source that no list names" source "FAIL  src/bufenlarge/sources.am lists" $library/new.h '// new'
wrong_line "a test that no list names" source "FAIL  test/sources.am lists" test/unit/new_test.cc '// new'
wrong_line "a source without licence" source "FAIL  every source has its licence line" test/netmod/new.c '/* new */'
wrong_line "a script that does not parse" source "FAIL  shell scripts parse" tools/suite 'if then'
wrong_line "a pipe into grep -q" source "FAIL  nothing is piped into grep -q" \
    tools/suite "echo x |$(printf ' grep -q') x"
wrong_line "a patch without a reason" source "FAIL  every MPICH patch is in its series" \
    mpich-patches/4.0.2/0099-new.patch 'new'
sed -i 's/0\.1\.0/0.1.9/' "$copy/configure.ac"
wrong "two versions" source "FAIL  one version everywhere" configure.ac
rm -r "$copy/test/sim"
# shellcheck disable=SC2046 # names without blanks
wrong "a folder of tests that is gone" source "test/sim has no sources" $(grep '^test/sim/' "$work/copied")

wrong_line "a warning of the compiler" compile "conversion" $library/knobs.cc 'int narrow(long a) { return a; }'

repeated 321 '// line' >"$copy/$library/new.h"
wrong "a file of 321 lines" length "new\.h: a file of 321 lines" $library/new.h
for file in new.c new.cc; do
    { echo 'int too_long(int a) {' && repeated 39 '  a += 1;' && echo '}'; } >"$copy/test/netmod/$file"
    wrong "a function of 41 lines in $file" length "too_long: a function of 41 lines" test/netmod/$file
done
{ echo 'TEST_CASE("too long", "[x]") {' && repeated 39 '  f();' && echo '}'; } >"$copy/test/unit/new.cc"
wrong "a test case of 41 lines" length "too long: a function of 41 lines" test/unit/new.cc
{ echo 'too_long() {' && repeated 39 '    echo' && echo '}'; } >"$copy/tools/new.sh"
wrong "a function of 41 lines in a script" length "too_long: a function of 41 lines" tools/new.sh
wrong_line "a line of 121 columns" length "new\.sh:1: a line of 121 columns" tools/new.sh "#$(printf '%120s' x)"
wrong_line "a file whose braces do not add up" length "new\.cc cannot be measured" test/unit/new.cc 'int f() { {'
wrong_line "an exception that is not needed" length "no exception is needed for the file src/none\.h" \
    test/build/length_exceptions.txt 'file src/none.h 400 it is a file that is not there'
wrong_line "an exception without a reason" length "length_exceptions\.txt:[0-9]*: not" \
    test/build/length_exceptions.txt 'file src/bufenlarge/bufenlarge.h 340'

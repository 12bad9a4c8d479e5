# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Rules over the text of the sources; sourced by run, with the checkout as current folder.

library=src/bufenlarge
# Lines of code with their file and number; comments of whole lines and string literals are not code.
code_lines() {
    grep -rn --include='*.cc' --include='*.h' '' "$@" | sed -E 's/"([^"\\]|\\.)*"/""/g; s|//.*||' |
        grep -Ev '^[^:]*:[0-9]+:[[:space:]]*(\*|/\*)' || true
}
includes() { grep -rnE --include='*.cc' --include='*.h' '^[[:space:]]*#[[:space:]]*include' "$@" || true; }

# The rules below look for what must not be there; this one that there is something to look at.
report "the folders that the rules look at have sources" "$(
    for folder in $library $library/protocol $library/channel $library/fabric src/netmod/bufenlarge \
        test/support test/unit test/sim test/fabric; do
        [ "$(find "$folder" -name '*.h' -o -name '*.cc' -o -name '*.c' | grep -c .)" -gt 2 ] ||
            echo "$folder has no sources"
    done)"
report "protocol/ includes only the standard library, iovec, protocol/, status.h and check.h" "$(
    includes $library/protocol |
        grep -Ev '<[a-z_]+>|<sys/uio\.h>|"(protocol/[a-z0-9_]+|status|check)\.h"|<(xxhash|sodium)\.h>')"
no_header='chrono|thread|mutex|random|ctime|condition_variable|time\.h|unistd\.h|pthread\.h'
report "protocol/ has no clock, thread, lock or random number" "$(
    includes $library/protocol | grep -E "<($no_header)>")"
report "channel/ includes nothing of fabric/ or libfabric" "$(
    includes $library/channel | grep -E 'fabric/|rdma/')"
report "fabric/ includes nothing of channel/ but port.h" "$(
    includes $library/fabric | grep -E '"channel/' | grep -v '"channel/port\.h"')"
report "nothing of the library includes MPI" "$(includes $library | grep -E '[<"](mpi|mpid|mpir)[a-z]*\.h')"
report "only fabric/ calls libfabric" "$(
    code_lines $library | grep -E '\bfi_[a-z_]+[[:space:]]*\(' | grep -v "^$library/fabric/")"
report "only the C boundary catches exceptions (info_main.cc is a program)" "$(
    code_lines $library | grep -E '\bcatch[[:space:]]*\(' |
        grep -Ev "^$library/(c_api|c_api_addresses|c_api_memory|c_api_messages|info_main)\.cc:")"
report "the library does not read the environment" "$(code_lines $library | grep -E '\b(secure_)?getenv\b')"
report "no class of the library has a friend" "$(
    code_lines $library | grep -E '^[^:]*:[0-9]*:[[:space:]]*friend\b')"
report "the library starts no thread" "$(code_lines $library | grep -E 'std::(thread|jthread|async)|pthread_create')"
report "the netmod includes no header of the library but bufenlarge.h" "$(
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"(protocol|channel|fabric)/' src/netmod || true)"
# MPICH 5.0 compiles the netmod once more, with the header of the standard ABI, where such constants are integers.
report "the netmod uses no enumeration of mpi.h as a type" "$(
    grep -rnE '\bMPIR_T_(pvar_class|bind|verbosity|scope|event_order)[a-z_]*_t\b' src/netmod || true)"

# A file that no list names is never compiled, and its tests never run.
listed() { sed -n 's/^[[:space:]]*\([a-z][^ ]*\.\(cc\|h\)\).*/\1/p' "$@" | LC_ALL=C sort; }
present() { find "$@" -type f \( -name '*.cc' -o -name '*.h' \) | LC_ALL=C sort; }
report "src/bufenlarge/sources.am lists what is there" "$(
    LC_ALL=C comm -3 <(listed $library/sources.am) <(present $library | grep -Ev '/bufenlarge(_stats)?\.h$'))"
report "test/sources.am lists what is there" "$(
    LC_ALL=C comm -3 <(listed test/sources.am) <(present test/support test/unit test/sim test/fabric))"

# A build of the packages has all of MPICH below debian/.
debian_scripts='debian/mpich-terms debian/mpirun.in debian/tests'
# shellcheck disable=SC2086
report "every source has its licence line" "$(
    find src test tools bench m4 quickstart check autogen.sh .ci configure.ac Makefile.am packaging \
        debian/control debian/rules $debian_scripts -type f ! -path debian/tests/control \
        ! -name '*.md' ! -name '*.csv' ! -name '*.tsv' ! -name '*.txt' ! -name '*.o' ! -name 'expected*' \
        -exec grep -L 'SPDX-License-Identifier: MIT' {} +)"
# shellcheck disable=SC2086
report "shell scripts parse" "$(
    grep -rlE '^#!.*\b(ba)?sh\b' quickstart check autogen.sh .ci tools bench test $debian_scripts 2>/dev/null |
        while IFS= read -r script; do
            case $(head -n 1 "$script") in
                *bash*) bash -n "$script" 2>&1 || true ;;
                *) sh -n "$script" 2>&1 || true ;;
            esac
        done)"
# grep -q ends at the first match, and then pipefail sees what writes into it fail, now and then.
# shellcheck disable=SC2086
report "nothing is piped into grep -q" "$(
    grep -rnE '[^|]\|[[:space:]]*grep( -[-a-zA-Z]+)* -[a-zA-Z]*q' -I \
        quickstart check autogen.sh .ci tools bench test $debian_scripts |
        grep -v '^test/build/source_rules.sh:' || true)"
report "README.md names the two commands" "$(
    for command in ./quickstart ./check; do
        grep -qF -- "$command" README.md 2>/dev/null || echo "README.md lacks $command"
    done)"
report "one version everywhere" "$(
    version=$(sed -n 's/^AC_INIT(\[bufenlarge\], \[\(.*\)\]).*/\1/p' configure.ac)
    grep -qF "\"$version (wire " $library/version.h || echo "configure.ac has $version, version.h another one"
    grep -qxF "VERSION = \"$version\"" src/report/summary.py || echo "summary.py has another version than $version"
    grep -qF "$version" CHANGELOG.md || echo "CHANGELOG.md does not mention $version")"
report "every MPICH patch is in its series and says why" "$(
    for folder in mpich-patches/*/; do
        own=$(patches_of "$folder" | grep -v /) || true
        diff <(printf '%s' "${own:+$own$'\n'}") <(find "$folder" -name '*.patch' -printf '%f\n' | LC_ALL=C sort) || true
        for patch_file in $(patches_of "$folder"); do
            patch_file=$folder$patch_file
            [ -e "$patch_file" ] || echo "there is no $patch_file"
            grep -q '^Why: ' <<<"$(sed '/^--- /,$d' "$patch_file")" || echo "$patch_file does not say why"
        done
    done)"

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What make install installs, and whether a C program can use it; sourced by run.

root=$work/installed
succeeds "make install" make -C "$build" install "prefix=$root"
report "exactly these files are installed" "$(
    diff <(printf '%s\n' bin/bufenlarge_info bin/bufenlarge_report include/bufenlarge.h include/bufenlarge_stats.h \
        lib/libbufenlarge.a lib/pkgconfig/bufenlarge.pc share/bufenlarge/report/{charts,figures,growth}.py \
        share/bufenlarge/report/{matrix.js,page.css} share/bufenlarge/report/{page,parts,sections,summary}.py \
        share/man/man1/bufenlarge_{info,report}.1 share/man/man7/bufenlarge.7) \
        <(cd "$root" && find . -type f | sed 's|^\./||' | LC_ALL=C sort))"
succeeds "bufenlarge_report finds its parts where they are installed" "$root/bin/bufenlarge_report" --version
report "libbufenlarge.a has no sanitizer in it" "$(
    nm -u "$root/lib/libbufenlarge.a" 2>/dev/null | grep -E '__(asan|tsan|ubsan)_' | sort -u)"

cat >"$work/user.c" <<'END'
#include <bufenlarge.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    puts(bufenlarge_version());
    return strcmp(bufenlarge_status_name(BUFENLARGE_OK), "BUFENLARGE_OK") != 0;
}
END
pc() { PKG_CONFIG_LIBDIR="$root/lib/pkgconfig" pkg-config "--define-variable=prefix=$root" --static "$@" bufenlarge; }
export -f pc
export root work
succeeds "bufenlarge.h is C99" \
    gcc -std=c99 -pedantic -Wall -Wextra -Werror -I"$root/include" -fsyntax-only "$work/user.c"
succeeds "a C program links by bufenlarge.pc, without libstdc++ being named" \
    bash -c 'gcc -o "$work/user" "$work/user.c" $(pc --cflags --libs) && "$work/user"'
report "bufenlarge.pc drags in none of libfabric's own libraries" "$(
    pc --libs | tr ' ' '\n' | grep -E '^-l' | grep -vE '^-l(bufenlarge|fabric|sodium|stdc\+\+|m|pthread)$')"

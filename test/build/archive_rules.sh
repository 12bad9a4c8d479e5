# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The release archive that make dist makes from this tree; sourced by run.

archive=$work/archive
mkdir -p "$archive"
# What the archive has beside the files of the tree: autotools' output, and the list of the files.
made_by_autotools='^(MANIFEST|configure|aclocal\.m4|Makefile\.in|build-aux/.*)$'

# archive_offenders UNPACKED LIST: names that are in one of both only.
archive_offenders() {
    diff <(cd "$1" && find . -type f | sed 's|^\./||' | grep -Ev "$made_by_autotools" | LC_ALL=C sort) \
        <(LC_ALL=C sort "$2") | sed -n 's/^< /only in the archive: /p; s/^> /not in the archive: /p'
    [ -s "$2" ] || echo "the tree has no files"
}

succeeds "make dist" make -C "$build" dist
mv "$build"/bufenlarge-*.tar.xz "$archive" 2>/dev/null || true
succeeds "the archive can be unpacked" bash -c 'tar -C "$1" -xf "$1"/bufenlarge-*.tar.xz' sh "$archive"
unpacked=$(find "$archive" -mindepth 1 -maxdepth 1 -type d)
tools/source-files . --with-new >"$archive/files"
report "the archive has every file of the tree, and autotools' output" "$(
    archive_offenders "$unpacked" "$archive/files")"
succeeds "configure runs in the archive" env -C "$unpacked" ./configure "--prefix=$archive/installed"
succeeds "and make dist makes an archive of it again" make -C "$unpacked" dist
report "with the same files" "$(diff <(tar -tf "$archive"/bufenlarge-*.tar.xz | sort) \
    <(tar -tf "$unpacked"/bufenlarge-*.tar.xz | sort) 2>&1)"
report "the rules about text find the same in the archive as here" "$(
    text_rules=(length reference)
    for place in there here; do
        [ "$place" = here ] && run=test/build/run || run=$unpacked/test/build/run
        "$run" --build "$build" --work "$archive/$place" "${text_rules[@]}" >"$archive/$place.log" 2>&1 || true
    done
    grep -qE '^(ok|FAIL)  ' "$archive/here.log" || echo "no rule was run here"
    diff "$archive/there.log" "$archive/here.log")"

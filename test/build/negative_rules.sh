# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shows that the rules fail where they should: each is run over a copy of the tree in which something is wrong; sourced
# by run. A rule that is taken out fails here, because nothing is refused.

. test/build/negative_symbols.sh

copy=$work/copy
mkdir -p "$copy"
tools/source-files . --with-new >"$work/copied"
tar -cf - -T "$work/copied" | tar -C "$copy" -xf -

# restore FILE...: in the copy, as it is in the tree.
restore() {
    local file
    for file in "$@"; do
        rm -f "$copy/$file"
        [ ! -e "$file" ] || { mkdir -p "$(dirname "$copy/$file")" && cp -p "$file" "$copy/$file"; }
    done
    cp "$work/copied" "$copy/MANIFEST"
}

# wrong TEXT RULES OFFENCE FILE...: the copy has the FILEs changed; the rules must fail, and name the OFFENCE, an
# extended regular expression. Then the files are restored.
wrong() {
    local text=$1 rules=$2 offence=$3
    shift 3
    (cd "$copy" && printf '%s\n' "$@" | cat - MANIFEST | sort -u | while IFS= read -r file; do
        [ ! -e "$file" ] || echo "$file"
    done >MANIFEST.new && mv MANIFEST.new MANIFEST)
    "$copy/test/build/run" --build "$build" --work "$work/copy-work" "$rules" >"$work/wrong.log" 2>&1 </dev/null || true
    sed -n '/^FAIL/,/^ok/p' "$work/wrong.log" >"$work/wrong.found"
    report "refused: $text" "$(grep -Eq -- "$offence" "$work/wrong.found" ||
        { echo "not refused, or not with '$offence':" && tail -n 5 "$work/wrong.log"; })"
    restore "$@"
}

# wrong_line TEXT RULES OFFENCE FILE LINE: with the LINE at the end of the FILE.
wrong_line() {
    printf '%s\n' "$5" >>"$copy/$4"
    wrong "${@:1:4}"
}

# repeated COUNT TEXT
repeated() { awk -v count="$1" -v text="$2" 'BEGIN { for (i = 0; i < count; i++) print text }'; }

restore
. test/build/negative_texts.sh
. test/build/negative_pages.sh
. test/build/negative_manuals.sh
. test/build/negative_builds.sh

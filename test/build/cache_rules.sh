# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The cache folder is shared by all trees of one user, so it serves one after another; sourced by run.

mkdir -p "$work/trees/plain" "$work/trees/in-place"
for tree in plain in-place; do
    tools/source-files . --with-new >"$work/trees/$tree/MANIFEST"
    tar -cf - -T "$work/trees/$tree/MANIFEST" | tar -C "$work/trees/$tree" -xf -
done
# As after autogen.sh in the tree itself: its output is among the files.
succeeds "autogen.sh runs in a tree" env -C "$work/trees/in-place" ./autogen.sh
(cd "$work/trees/in-place" && find . -type f ! -path './autom4te.cache/*' | sed 's|^\./||') >"$work/trees/list"
mv "$work/trees/list" "$work/trees/in-place/MANIFEST"

# updated TREE: makes the cache folder's copy of the tree, and runs its configure.
updated() {
    env "BUFENLARGE_CACHE=$work/trees/cache" bash -c 'set -euo pipefail
        top=$1; . tools/common.sh; . tools/cache.sh; update_checkout
        "$cache/checkout/configure" --version' sh "$work/trees/$1"
}
export -f updated
export work
succeeds "the cache folder takes a tree" bash -c 'updated plain'
succeeds "then a tree in which autogen.sh was run" bash -c 'updated in-place'
succeeds "then again one in which it was not" bash -c 'updated plain'
report "and has what autogen.sh makes" "$(
    for name in Makefile.in aclocal.m4 build-aux/missing build-aux/depcomp; do
        [ -e "$work/trees/cache/checkout/$name" ] || echo "$name is missing"
    done)"

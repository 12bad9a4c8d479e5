# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Compiles the library, and what bench/ makes of its inner headers, with warnings as errors; sourced by run. Not in the
# builds themselves: a newer compiler's new warning must not stop a user's build.

report "the library and bench's programs of its parts compile without a warning" "$(
    find src/bufenlarge bench -name '*.cc' -print0 | xargs -0 -n 1 -P "$(nproc)" "${CXX:-g++}" -std=c++20 \
        -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -DPACKAGE_VERSION='""' -Isrc/bufenlarge 2>&1 ||
        echo "the compiler ended with a failure")"

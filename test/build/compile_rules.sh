# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Compiles the library with warnings as errors; sourced by run. Not in the builds themselves: a newer compiler's new
# warning must not stop a user's build.

report "the library compiles without a warning" "$(
    find src/bufenlarge -name '*.cc' -print0 | xargs -0 -n 1 -P "$(nproc)" "${CXX:-g++}" -std=c++20 -fsyntax-only \
        -Wall -Wextra -Wconversion -Wshadow -Werror -DPACKAGE_VERSION='""' -Isrc/bufenlarge 2>&1 ||
        echo "the compiler ended with a failure")"

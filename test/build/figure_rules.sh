# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Figures in pages are those the code prints; sourced by run.

succeeds "a program that prints the sizes on the wire compiles" \
    "${CXX:-g++}" -std=c++20 -Isrc/bufenlarge -o "$work/wire-figures" test/build/wire_figures.cc
silent "figures in pages are what the code prints (figures.txt)" \
    python3 test/build/figures.py "$build/bufenlarge_info" "$work/wire-figures" test/build/figures.txt
succeeds "docs/results.md and its pictures are what the kept raw figures give" bench/report --check

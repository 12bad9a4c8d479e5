# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Lengths of files, functions and lines; sourced by run.

silent "files, functions and lines are as long as CONTRIBUTING.md allows" \
    python3 test/build/lengths.py test/build/length_exceptions.txt

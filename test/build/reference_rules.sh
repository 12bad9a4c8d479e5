# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What pages and comments name is there; sourced by run.

silent "files, headings and decisions that pages and comments name are there" \
    python3 test/build/references.py files test/build/reference_exceptions.txt
silent "functions that pages name are in the code" \
    python3 test/build/references.py names test/build/name_exceptions.txt
silent "docs/tour.md names what is in src, in at most 120 lines" \
    python3 test/build/references.py tour docs/tour.md
silent "docs/traceability.md names test cases that are there" \
    python3 test/build/references.py tests docs/traceability.md
silent "only docs/traceability.md names patents" python3 test/build/references.py patents

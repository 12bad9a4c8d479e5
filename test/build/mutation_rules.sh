# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tools/mutate builds in does what the same change in the source does; sourced by run.

silent "a change that is built in does what it does in the source" \
    python3 test/build/mutations.py test/build/mutations.cc "$work/mutations"

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shows that the rules fail where they should: each is run over something that is wrong; sourced
# by run. A rule that is taken out fails here, because nothing is refused.

. test/build/negative_symbols.sh


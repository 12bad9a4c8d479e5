# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# docs/errors.md has every text of an error or a warning that the source has, and no other; sourced by run.

silent "docs/errors.md has the errors and warnings of the source" \
    python3 test/build/messages.py docs/errors.md test/build/message_exceptions.txt

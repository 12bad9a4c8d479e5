# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Messages of commits; sourced by run. The rule holds for commits after this one.

commit_base=64ee076

if [ ! -e .git ]; then
    skipped "messages of commits" "no git history here"
elif [ "$(git rev-parse --is-shallow-repository)" = true ] &&
    ! git cat-file -e "$commit_base^{commit}" 2>/dev/null; then
    skipped "messages of commits" "a shallow clone without $commit_base"
else
    silent "messages of commits after $commit_base are as CONTRIBUTING.md says" \
        test/build/commit-messages . "$commit_base"
fi

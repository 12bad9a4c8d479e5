# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The man pages are whole and well formed; sourced by run.
#
# Warnings of mandoc are what counts here; its advice on style is not asked for.

manual=$work/manual
mkdir -p "$manual"
cp docs/man/*.1 "$manual"
succeeds "bufenlarge(7) is made from its source and the knobs" bash -c '"$@" >"$0"' \
    "$manual/bufenlarge.7" tools/man-page "$build/bufenlarge_info" docs/man/bufenlarge.7.in
silent "bufenlarge(7) has every knob" python3 test/build/manuals.py knobs "$manual/bufenlarge.7"
silent "bufenlarge_info(1) has the options of bufenlarge_info" \
    python3 test/build/manuals.py options docs/man/bufenlarge_info.1 "$build/bufenlarge_info"
silent "bufenlarge_report(1) has the options of bufenlarge_report" \
    python3 test/build/manuals.py options docs/man/bufenlarge_report.1 src/report/bufenlarge_report
silent "rdma-vm(1) has the options of tools/rdma-vm" \
    python3 test/build/manuals.py options docs/man/rdma-vm.1 tools/rdma-vm
silent "every installed program has a man page" python3 test/build/manuals.py programs Makefile.am
if command -v mandoc >/dev/null; then
    silent "man pages have no errors" mandoc -T lint -W warning "$manual"/*.[17]
else
    skipped "the form of the man pages" "there is no mandoc"
fi

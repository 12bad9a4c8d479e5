# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What manual_rules.sh and message_rules.sh must refuse; sourced by negative_rules.sh.

page=docs/man/bufenlarge.7.in
sed -i '/^@KNOBS@$/d' "$copy/$page"
wrong "a page without the place of the knobs" manual "has no line @KNOBS@" $page
wrong_line "a knob that the man page lacks" manual "describes the knob NONE 0 times" src/bufenlarge/knob_table.h \
    '  X(NONE, none, "", "", "")'
wrong_line "a knob of the netmod that the man page lacks" manual "describes the knob NONE 0 times" \
    src/netmod/bufenlarge/bufenlarge_knob_table.h '    X(NONE, none, "", "", "")'
wrong_line "a knob of the man page that no table has" manual "describes the knob NONE, which no table has" $page \
    ".It Ev MPIR_CVAR_BUFENLARGE_NONE"
page=docs/man/bufenlarge_info.1
sed -i '/^\.It Fl -json$/d' "$copy/$page"
wrong "an option that a man page lacks" manual "$page has no option --json" $page
wrong_line "an option that only the man page has" manual "$page has the option --none" $page '.It Fl -none'
sed -i '/^\.It Fl -output /d' "$copy/docs/man/bufenlarge_report.1"
wrong "an option that the man page of bufenlarge_report lacks" manual "bufenlarge_report\.1 has no option --output" \
    docs/man/bufenlarge_report.1
sed -i '/^\.It Fl -loss /d' "$copy/docs/man/rdma-vm.1"
wrong "an option that the man page of rdma-vm lacks" manual "rdma-vm\.1 has no option --loss" docs/man/rdma-vm.1
sed -i 's|^man_MANS = [^ ]* |man_MANS = |' "$copy/Makefile.am"
wrong "a program whose man page is not installed" manual "bufenlarge_info has no man page" Makefile.am
wrong_line "a program without a man page" manual "tools/none has no man page" Makefile.am 'bin_SCRIPTS = tools/none'
if command -v mandoc >/dev/null; then
    wrong_line "a word that is no macro of a man page" manual "unknown macro" $page '.Nonsense'
fi

text="nobody knows this text"
wrong_line "an error of the library that the page lacks" message "knobs\.cc:[0-9]+: .* lacks '$text'" \
    src/bufenlarge/knobs.cc "void f() { throw FabricError(\"$text: \" + g()); }"
wrong_line "one that is returned" message "knobs\.cc:[0-9]+: .* lacks '$text'" src/bufenlarge/knobs.cc \
    "const char* f() { return \"nobody knows\"  \" this text\"; }"
wrong_line "an error of the netmod that the page lacks" message "init\.c:[0-9]+: .* lacks '$text" \
    src/netmod/bufenlarge/bufenlarge_init.c "void f(void) { snprintf(a, b, \"$text %d\", c); }"
wrong_line "a warning that the page lacks" message "init\.c:[0-9]+: .* lacks '$text" \
    src/netmod/bufenlarge/bufenlarge_init.c "void f(void) { fprintf(stderr, \"$text\"); }"
wrong_line "a text of MPICH's error stack that the page lacks" message "errnames\.txt:[0-9]+: .* lacks '$text" \
    src/netmod/bufenlarge/errnames.txt "**bufenlarge_none:$text"
wrong_line "an error of a script that the page lacks" message "quickstart:[0-9]+: .* lacks '$text" quickstart \
    "die \"$text: \$fabric\""
wrong_line "an error of bufenlarge_report that the page lacks" message "summary\.py:[0-9]+: .* lacks '$text" \
    src/report/summary.py "raise ReportError(f'$text: {why}')"
wrong_line "an error of configure that the page lacks" message "mpich\.m4:[0-9]+: .* lacks '$text" \
    m4/bufenlarge_mpich.m4 "AC_MSG_ERROR([$text])"
wrong_line "a text of the page that no source has" message "errors\.md:[0-9]+: the source has no text '$text'" \
    docs/errors.md "| \`$text: WHY\` | a cause | a cure |"
sed -i 's/the peer closed the connection/the peer shut the connection/' "$copy/docs/errors.md"
wrong "a text of the page that is stale" message "lacks 'the peer closed the connection'" docs/errors.md
wrong_line "an exception for a text that is not there" message "nothing matches the exception none" \
    test/build/message_exceptions.txt 'none  of nobody'

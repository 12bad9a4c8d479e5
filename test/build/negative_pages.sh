# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What reference_rules.sh and figure_rules.sh must refuse; sourced by negative_rules.sh.

page=docs/glossary.md
# shellcheck disable=SC2016 # backquotes are markdown
{
    wrong_line "a path in a page" reference "$page:[0-9]+: there is no channel/none" $page 'See `channel/none.h`.'
    wrong_line "a file in a page" reference "$page:[0-9]+: there is no none\.cc" $page 'See none.cc.'
    wrong_line "a link in a page" reference "$page:[0-9]+: there is no none" $page 'See [this](none).'
    wrong_line "a heading in a page" reference "$page:[0-9]+: there is no heading knobs.md#none" $page \
        '[x](knobs.md#none)'
    wrong_line "a decision in a page" reference "$page:[0-9]+: there is no decision 0099" $page 'See (0099).'
    wrong_line "a page in a comment" reference "check\.h:[0-9]+: there is no docs/none" src/bufenlarge/check.h \
        '// See docs/none.md.'
    wrong_line "a header in a comment" reference "init\.c:[0-9]+: there is no none\.h" \
        src/netmod/bufenlarge/bufenlarge_init.c '/* See none.h. */'
    wrong_line "a script in a script" reference "check:[0-9]+: there is no tools/none" check '# See tools/none.'
    wrong_line "an exception that matches nothing" reference "nothing matches the exception none" \
        test/build/reference_exceptions.txt 'none  of nobody'
    wrong_line "a function in a page" reference "$page:[0-9]+: the code has no no_such_function" $page \
        'See `no_such_function()`.'
    wrong_line "a member function in a page" reference "$page:[0-9]+: the code has no no_such" $page \
        'See `PhaseTable::no_such`.'
    wrong_line "a test case in the page of claims" reference \
        "traceability\.md:[0-9]+: there is no test case 'none at all'" docs/traceability.md '* unit: *none at all*'
    # A good page of the tour, so that only what is added to it is wrong.
    repeated 20 '`PhaseTable` of `protocol/phase_table.h`' >"$work/tour.md"
    cp "$work/tour.md" "$copy/docs/tour.md"
    wrong_line "a name in the tour" reference "tour\.md:21: src has no NoSuchType" docs/tour.md '`NoSuchType::send()`'
    { cat "$work/tour.md" && repeated 101 'line'; } >"$copy/docs/tour.md"
    wrong "a tour of 121 lines" reference "tour\.md has 121 lines" docs/tour.md
    echo '`PhaseTable`' >"$copy/docs/tour.md"
    wrong "a tour that names nothing" reference "tour\.md names only 1" docs/tour.md
}
rm -f "$copy/docs/tour.md"
wrong "no tour" reference "there is no docs/tour\.md" docs/tour.md
# Not written out, for this file is looked at, too.
for words in "seed ""004" "002 f""ig 3" "000 ""c7" "blocks ""334" "claim ""5" "figure ""3"; do
    wrong_line "a patent: $words" reference "settings\.h:[0-9]+: '$words'" src/bufenlarge/channel/settings.h "// $words"
done

sed -i 's/132,096/131,072/' "$copy/docs/architecture.md"
wrong "the bytes of a large ring that are stale" figure "architecture\.md:[0-9]+: is to say 132,096" \
    docs/architecture.md
sed -i 's/63,406,080/62,914,560/' "$copy/docs/traceability.md"
wrong "the bytes of all large rings that are stale" figure "traceability\.md:[0-9]+: is to say 63,406,080" \
    docs/traceability.md
sed -i '/control block |/d' "$copy/docs/architecture.md"
wrong "a figure that a page does not have" figure "architecture\.md: no line matches .*; it is to say 256" \
    docs/architecture.md
sed -i 's/| `256,512,8256` |/| `256,512,8192` |/' "$copy/README.md"
wrong "a default in README.md that is stale" figure \
    "README\.md:[0-9]+: the default of .*_PHASES is 256,512,8256, not 256,512,8192" README.md
kept=bench/results/2026-11-22-osu-imb
mkdir -p "$copy/$kept"
printf '# %s\n' 'raw figures of bufenlarge, format 1' $'date\t2026-11-22 00:00 UTC' $'commit\tnone' $'machine\tnone' \
    $'command\tnone' >"$copy/$kept/raw.tsv"
printf 'osu_latency\ttcp\tone\t8\t1\t2\tus\n' >>"$copy/$kept/raw.tsv"
(cd "$copy" && bench/report && sed -i 's/| 8 B | 2.00 |/| 8 B | 2.01 |/' "$kept/table.md")
wrong "a kept table of OSU's that the raw figures do not give" figure "$kept/table\.md, line [0-9]+" \
    docs/results.md "$kept"/{raw.tsv,table.md,osu_latency.svg}
rmdir "$copy/$kept"
wrong_line "a knob in a page that is not there" figure "$page:[0-9]+: there is no knob MPIR_CVAR_BUFENLARGE_NONE" \
    $page "MPIR_CVAR_BUFENLARGE_""NONE"
wrong_line "a figure that the code does not print" figure "the code prints no figure none" test/build/figures.txt \
    "none $page word"

# SPDX-License-Identifier: MIT
"""The page docs/results.md as a whole."""
from reporting import each, figures, questions, runs, special, tables

INTRODUCTION = """\
<!-- Made by bench/report from bench/results/*/raw.tsv; edit neither this page nor its pictures. -->
# Results

How fast MPICH's device ch4:bufenlarge is, and how much memory it takes, beside what else runs on the same machine:

| name | program | over |
|---|---|---|
| bufenlarge | MPICH, ch4:bufenlarge | tcp provider; verbs, in each arrival mode |
| ch4:ofi | MPICH of the same source and flags, ch4:ofi | `tcp;ofi_rxm`; `verbs;ofi_rxm` |
| fi_pingpong | libfabric's `fi_pingpong -e msg` | tcp provider; verbs provider |
| raw provider, fi_send, fi_write | `raw_bench.c`, libfabric with nothing above it | tcp provider |
| perftest | `ib_write_lat`, `ib_write_bw` | verbs, with nothing above it |

**Where it was measured.** `tcp` is libfabric's tcp provider over loopback. RoCE and iWARP are Linux's rdma_rxe and siw
in a guest of `tools/rdma-vm` whose processors are emulated, so that only ratios mean something there. Both MPIs run
without shared memory, and each rank has a processor of its own. The last table names the machine of each run. No figure
here is of a network card.

**How it was measured.** Each run has every program once, in changing order. A figure is the median over the runs.
A ratio is bufenlarge's figure divided by the other program's figure of the same run; the tables give the median of
these ratios and, in brackets, the smallest and the largest. Where the brackets include 1, the runs do not tell the two
programs apart. A ratio with a target has a mark: `+` every run reached it, `~` the median reached it, `!` the median
missed it, `?` nobody can judge, because other processes took more than 5 % of the processors.

**How to repeat it.** `bench/compare`, `bench/vm-compare`, `bench/peer-memory` and `bench/instructions` write `raw.tsv`;
[bench/README.md](../bench/README.md) describes them and the format. Keep the file as `bench/results/NAME/raw.tsv` and
run `bench/report`, which writes this page and its pictures. `bench/report --check` fails where page and raw figures
differ.
"""

MEMORY_TEXT = """\
Private memory (`Private_Dirty` and `Private_Hugetlb`) of a process of an MPI job."""

PEER_TEXT = """\
What one more connected endpoint takes while it is idle: from the system's own figures, as the slope over the number of
endpoints, and by the library's count. The library cannot choose what driver and kernel take. No other program is in
this table."""

INSTRUCTION_TEXT = """\
Instructions of one `MPI_Send`, and of one `MPI_Recv` whose message has arrived, counted by valgrind's callgrind, which
does not see the kernel."""

NONCONTIGUOUS_TEXT = """\
Messages of blocks with gaps as long as a block. *Blocks advertised*: the receiver reads each block where it is. *Blocks
packed*: the sender copies the blocks and sends them through the ring. Where a table has these two, each was forced in
turn; [decision 18](decisions/0018-segments.md) says which one bufenlarge chooses."""


def with_picture(title, text, found, picture, drawn):
    """A section; nothing where nothing is kept."""
    if not found:
        return []
    image = [f'![{figures.TITLES[picture]}](results/{picture}.svg)', ''] if picture in drawn else []
    return [f'## {title}', '', text, ''] + image + found


def sections(kept, link, drawn, caches=False):
    out = []
    for section in questions.SECTIONS:
        found = tables.section_tables(kept, section, link)
        out += with_picture(section.title, section.text, found, section.picture, drawn)
    for title, text, found, picture in (
            ('Memory of a process', MEMORY_TEXT, special.memory_table(kept, link), 'memory'),
            ('Memory of a connected, idle peer', PEER_TEXT, special.peer_memory_tables(kept, link, caches),
             'peer-memory'),
            ('Instructions of one call', INSTRUCTION_TEXT, special.instruction_tables(kept, link), None),
            ('Noncontiguous data', NONCONTIGUOUS_TEXT, special.noncontiguous_tables(kept, link), 'noncontiguous')):
        out += with_picture(title, text, found, picture, drawn)
    return out


def known_benchmarks(kept, link):
    """Where the tables and pictures of OSU's and Intel's benchmarks are: beside their raw figures."""
    lines = []
    for run in sorted(kept, key=lambda run: (run.header['date'], run.name)):
        asked = each.questions_of(run)
        if asked:
            names = ', '.join(each.title_of(run, question) for question, _ in asked)
            programs = ', '.join(tables.in_order({name for key in asked for name in run.programs(*key)}))
            lines.append(f'* [{run.name}]({link}/{run.name}/table.md), {programs}: {names}')
    text = 'A table and a picture of each, with every MPI that was measured in turn (`bench/osu-imb`):'
    return ["## OSU's and Intel's benchmarks", '', text, ''] + lines + [''] if lines else []


ASKED = [
    ('instructions of one call', 'instructions:MPI_Send:total', ['tcp'], 'bench/instructions'),
    ('one-sided communication', 'put_latency', ['tcp', 'rxe', 'siw'], 'bench/vm-compare --fabric {} --what onesided'),
    ('noncontiguous data beside ch4:ofi', 'noncontiguous_1048576', ['tcp'], 'bench/compare --what noncontiguous'),
]


def not_kept(kept):
    """Questions that a command answers and no kept figure does."""
    lines = []
    for text, question, fabrics, command in ASKED:
        for fabric in fabrics:
            have = [run for run in kept if run.has(question, fabric)]
            if question.startswith('noncontiguous'):
                have = [run for run in have if 'ofi' in run.programs(question, fabric)]
            if not have:
                lines.append(f'* {questions.FABRICS[fabric]}: {text}: `{command.format(fabric)}`')
    text = ['## Not on this page', '', 'No raw figures are kept of these; the command gives them:', '']
    return text + lines + [''] if lines else []


def shown_runs(kept):
    questions_asked = {key[:2] for run in kept for key in run.values}
    shown = {runs.newest(kept, question, fabric).name for question, fabric in questions_asked}
    return shown | {run.name for _, run in special.memory_runs(kept)}


def kept_table(kept, link):
    lines = []
    shown = shown_runs(kept)
    for run in sorted(kept, key=lambda run: (run.header['date'], run.name)):
        lines.append([f'[{run.name}]({link}/{run.name}/raw.tsv)', run.header['date'], run.header['commit'],
                      f'`{run.header["command"]}`' + tables.note_of(run), run.header['machine'],
                      'yes' if run.name in shown else 'no'])
    text = 'Where several runs answer a question, this page shows the newest; the last column says which it shows.'
    table = tables.rows(['raw figures', 'date', 'commit', 'command', 'machine', 'shown'], lines)
    table[1] = '|---|---|---|---|---|---|'
    return ['## Kept runs', '', text, ''] + table


def page(kept, link, drawn):
    text = INTRODUCTION.split('\n')
    text += ['## At a glance', '', 'bufenlarge to ch4:ofi, medians of the ratios of all runs:', '']
    text += tables.glance_table(kept)
    targets = tables.target_table(kept)
    text += ['The targets of the project, all on tcp:', ''] + targets if targets else []
    text += sections(kept, link, drawn) + known_benchmarks(kept, link) + not_kept(kept) + kept_table(kept, link)
    return '\n'.join(text).rstrip('\n') + '\n'


def one_run(kept):
    """The tables of some runs, for the screen."""
    text = sections(kept, '', {}, caches=True)
    text += ['## Targets', ''] + tables.target_table(kept) if tables.target_table(kept) else []
    for run in kept:
        text += tables.failure_lines(run)
    return '\n'.join(text).rstrip('\n') + '\n'

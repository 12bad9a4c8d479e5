# SPDX-License-Identifier: MIT
"""Tables of figures that are not by the size of a message: memory, instructions, noncontiguous data."""
from reporting import questions, runs, tables

CALLS = ('MPI_Send', 'MPI_Recv')
OBJECTS = ('total', 'mpi', 'libfabric', 'rest')


def memory_runs(kept):
    """For each number of ranks the newest run that has it."""
    found = {}
    for run in sorted(kept, key=lambda run: (run.header['date'], run.name)):
        for ranks in run.sizes('private_after_init_max', 'tcp'):
            found[ranks] = run
    return sorted(found.items())


def memory_table(kept, link):
    """Private memory of a process; numbers of ranks of several runs may stand in one table."""
    lines = []
    for ranks, run in memory_runs(kept):
        line = [f'{ranks}, {question.title[0].lower()}{question.title[1:]}' for question in questions.MEMORY]
        for text, question in zip(line, questions.MEMORY):
            cells = [text]
            for program in ('bufenlarge', 'ofi'):
                summary = runs.median_of(run, question.key, 'tcp', program, ranks)
                cells.append(tables.number(summary.middle) if summary.count else '')
            ratio = runs.ratio_of(run, question.key, 'tcp', 'bufenlarge', 'ofi', ranks)
            cells.append(tables.ratio_text(ratio, 3) if ratio.count else '')
            lines.append(cells)
    if not lines:
        return []
    text = []
    for run in dict.fromkeys(run for _, run in memory_runs(kept)):
        ranks = ', '.join(str(ranks) for ranks, of in memory_runs(kept) if of is run)
        text += [f'{ranks} ranks: ' + tables.source_line(run, 'private_after_init_max', 'tcp', link), '']
    return text + ['**tcp: private memory of a process, KiB, the largest of the ranks** (less is better)', ''] \
        + tables.rows(['ranks, when', 'bufenlarge', 'ch4:ofi', 'to ch4:ofi'], lines)


# Of /proc/meminfo; together all that a process or the kernel can take for a connection.
PARTS = ('AnonPages', 'VmallocUsed', 'Slab', 'Percpu', 'KernelStack', 'PageTables')
COUNTED = ('ring', 'control', 'heap', 'send_queue', 'receive_queue', 'completion_queue')


def peer_memory_points(run, fabric, program, names, at):
    """(endpoints, bytes) of one run: the sum of the figures named."""
    points = {}
    for name in names:
        for endpoints, figures in run.values.get((f'peer_memory:{name}', fabric, program), {}).items():
            if at in figures:
                points[endpoints] = points.get(endpoints, 0) + figures[at]
    return sorted(points.items())


def peer_memory_runs(run, fabric, program):
    first = run.values.get(('peer_memory:meminfo:AnonPages', fabric, program), {})
    return sorted({at for figures in first.values() for at in figures})


def per_endpoint(run, fabric, program, names):
    return runs.Summary([runs.slope(peer_memory_points(run, fabric, program, names, at))
                         for at in peer_memory_runs(run, fabric, program)])


def counted(run, fabric, program, name):
    """What the library counts for one peer; the last step's figure."""
    sizes = run.values.get((f'peer_memory:library:{name}', fabric, program), {})
    return runs.Summary(sizes[max(sizes)].values()) if sizes else runs.Summary([])


def peer_memory_rows(run, fabric, programs):
    def line(text, summaries):
        return [text] + [f'{s.middle:,.0f} ({s.low:,.0f} to {s.high:,.0f})' if s.low != s.high else f'{s.middle:,.0f}'
                         for s in summaries]

    def system(text, *names):
        return line(text, [per_endpoint(run, fabric, name, names) for name in programs])

    lines = [system('system: all of the parts below', *('meminfo:' + part for part in PARTS)),
             system('process (AnonPages)', 'meminfo:AnonPages'),
             system('kernel: slabs', 'meminfo:Slab'),
             system('kernel: mapped pages (VmallocUsed)', 'meminfo:VmallocUsed'),
             system('kernel: per-processor memory, stacks, page tables', *('meminfo:' + part for part in PARTS[3:])),
             system('registered by the library', 'registered:bytes')]
    for name in COUNTED:
        lines.append(line(f'counted by the library: {name.replace("_", " ")}',
                          [counted(run, fabric, program, name) for program in programs]))
    sums, rest = [], []
    for program in programs:
        sums.append(runs.Summary([sum(counted(run, fabric, program, name).middle for name in COUNTED)]))
        parts = per_endpoint(run, fabric, program, ['meminfo:' + part for part in PARTS])
        rest.append(runs.Summary([parts.middle - sums[-1].middle]))
    lines.append(line('counted by the library: sum', sums))
    lines.append(line('driver, provider and kernel: the system\'s less that sum', rest))
    return lines


def peer_memory_tables(kept, link, caches=False):
    text = []
    for fabric in questions.FABRICS:
        run = runs.newest(kept, 'peer_memory:meminfo:AnonPages', fabric)
        if run is None:
            continue
        programs = tables.in_order(run.programs('peer_memory:meminfo:AnonPages', fabric))
        text += [tables.source_line(run, 'peer_memory:meminfo:AnonPages', fabric, link), '',
                 f'**{questions.FABRICS[fabric]}: memory of a connected, idle endpoint, bytes** (less is better)', '']
        heading = [''] + [tables.program_name(program) for program in programs]
        text += tables.rows(heading, peer_memory_rows(run, fabric, programs))
        text += slab_table(run, fabric, programs) if caches else []
    return text


def slab_table(run, fabric, programs):
    """Objects of the kernel's caches; a cache with less than 32 bytes per endpoint is noise."""
    lines = []
    for name in sorted({key[0] for key in run.values if key[0].startswith('peer_memory:slab:')}):
        found = [per_endpoint(run, fabric, program, [name.partition(':')[2]]) for program in programs]
        if any(summary.middle > 32 for summary in found):
            lines.append([name.split(':', 2)[2]] + [f'{summary.middle:,.0f}' for summary in found])
    return tables.rows(['slab cache'] + [tables.program_name(program) for program in programs], lines) if lines else []


def instructions_of(run, program, call, name, pick=(0, -1)):
    """Instructions of one call: from the difference of two counts, so that all that happens once falls out."""
    points = sorted((size, next(iter(figures.values()))) for size, figures in
                    run.values.get((f'instructions:{call}:{name}', 'tcp', program), {}).items())
    if len(points) < 2:
        return None
    (from_size, from_count), (to_size, to_count) = points[pick[0]], points[pick[1]]
    return (to_count - from_count) / (to_size - from_size)


def steady(run, program, call):
    """Whether both halves of the difference agree within 2 %: the count then grows with the messages only."""
    lower = instructions_of(run, program, call, 'total', (0, 1))
    upper = instructions_of(run, program, call, 'total', (1, 2))
    return 'yes' if lower and 0.98 < upper / lower < 1.02 else f'no: {lower:,.0f}, then {upper:,.0f}'


def instruction_tables(kept, link):
    run = runs.newest(kept, 'instructions:MPI_Send:total', 'tcp')
    if run is None:
        return []
    lines, both = [], {}
    programs = tables.in_order(run.programs('instructions:MPI_Send:total', 'tcp'))
    for call in CALLS:
        for program in programs:
            figures = [instructions_of(run, program, call, name) for name in OBJECTS]
            both[program] = both.get(program, 0) + figures[0]
            lines.append([f'{call}, {tables.program_name(program)}'] + [f'{figure:,.0f}' for figure in figures]
                         + [steady(run, program, call)])
    for program, instructions in both.items():
        lines.append([f'both, {tables.program_name(program)}', f'{instructions:,.0f}', '', '', '', ''])
    if 'bufenlarge' in both and both.get('ofi'):
        lines.append(['both, bufenlarge to ch4:ofi', f'{both["bufenlarge"] / both["ofi"]:.2f}', '', '', '', ''])
    return [tables.source_line(run, 'instructions:MPI_Send:total', 'tcp', link), '',
            '**tcp: instructions of one call, 8 bytes** (less is better)', ''] \
        + tables.rows(['', 'total', 'libmpi with libbufenlarge', 'libfabric', 'C library, loader', 'steady'], lines)


# Beside other programs, and each of the two ways in turn.
NONCONTIGUOUS = ('noncontiguous', 'forced')


def noncontiguous_sizes(kept, kind, fabric):
    """The sizes of the messages that were measured, by size of a block."""
    return sorted({int(key[0].split('_')[1]) for run in kept for key in run.values
                   if key[0].startswith(kind + '_') and key[1] == fabric})


def noncontiguous_tables(kept, link):
    text = []
    for fabric, kind in ((fabric, kind) for fabric in questions.FABRICS for kind in NONCONTIGUOUS):
        said = None
        for size in noncontiguous_sizes(kept, kind, fabric):
            question = f'{kind}_{size}'
            run = runs.newest(kept, question, fabric)
            text += [tables.source_line(run, question, fabric, link), ''] if run is not said else []
            said = run
            message = f'{questions.FABRICS[fabric]}: half round trip of {tables.size_name(size)}'
            text += [f'**{message}, by the size of a block, {run.units[question]}** (less is better)', '']
            text += tables.by_size(run, question, fabric)
    return text

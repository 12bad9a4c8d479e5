# SPDX-License-Identifier: MIT
"""Markdown tables of figures by size, and the targets that hold for them."""
from reporting import questions, runs

# Above this share of processor time taken by others no target of time is judged.
OTHERS_MAX = 0.05


def number(value):
    """Three digits that count, and all of those before the point."""
    if abs(value) >= 100:
        return f'{value:,.0f}'
    return f'{value:#.3g}'.rstrip('.')


def size_name(size):
    if size >= 1 << 20 and size % (1 << 20) == 0:
        return f'{size >> 20} MiB'
    if size >= 1 << 10 and size % (1 << 10) == 0:
        return f'{size >> 10} KiB'
    return f'{size} B'


def rows(heading, lines):
    """A Markdown table; the first column is text, the others are figures."""
    text = ['| ' + ' | '.join(heading) + ' |', '|---' + '|---:' * (len(heading) - 1) + '|']
    return text + ['| ' + ' | '.join(line) + ' |' for line in lines] + ['']


def in_order(programs):
    known = list(questions.PROGRAMS)
    return sorted(programs, key=lambda name: (known.index(name) if name in known else len(known), name))


def program_name(name):
    return questions.PROGRAMS.get(name, name)


def subject_of(programs, fabric):
    """The program whose ratios to the others are shown."""
    default = questions.DEFAULT.get(fabric)
    return default if default in programs else in_order(programs)[0]


def others_of(programs, subject, fabric):
    """The programs that ratios are taken to: other arrival modes of bufenlarge itself are not among them."""
    if subject == questions.DEFAULT.get(fabric):
        programs = [name for name in programs if not name.startswith('bufenlarge')]
    return [name for name in in_order(programs) if name != subject]


def others_share(run):
    """The largest share of processor time that other processes took from one of the programs; 0 where not counted."""
    taken, elapsed = {}, {}
    for (question, _, program), sizes in run.values.items():
        kind = question.partition(':')[0]
        if kind in ('others', 'elapsed'):
            into = taken if kind == 'others' else elapsed
            into[program] = into.get(program, 0) + sum(max(0, ticks) for ticks in sizes[0].values())
    return max((taken.get(program, 0) / ticks for program, ticks in elapsed.items() if ticks), default=0)


def target_for(question, fabric, over, size):
    if fabric != 'tcp':
        return None
    for target in questions.TARGETS:
        if question in target.questions and target.over == over and target.sizes[0] <= size <= target.sizes[1]:
            return target
    return None


def verdict(target, summary, busy):
    """`+` reached in every run, `~` by the median only, `!` missed, `?` not judged."""
    if busy:
        return '?'
    if not target.holds(summary.middle * target.scale):
        return '!'
    return '+' if target.holds(summary.low * target.scale) and target.holds(summary.high * target.scale) else '~'


def median_cell(summary, count):
    if not summary.count:
        return ''
    return number(summary.middle) + (f' ({summary.count} of {count} runs)' if summary.count < count else '')


def ratio_text(ratio, digits):
    middle, low, high = (f'{figure:.{digits}f}' for figure in (ratio.middle, ratio.low, ratio.high))
    return f'{middle} ({low} to {high})' if ratio.count > 1 else f'{middle} (1 run)'


def ratio_cell(run, question, fabric, subject, over, size):
    ratio = runs.ratio_of(run, question, fabric, subject, over, size)
    if not ratio.count:
        return ''
    target = target_for(question, fabric, over, size)
    mark = ' ' + verdict(target, ratio, others_share(run) > OTHERS_MAX) if target else ''
    return ratio_text(ratio, 2) + mark


def by_size(run, question, fabric, size_text=size_name):
    """Sizes down; medians of the programs, then ratios of bufenlarge to each of the others."""
    programs = run.programs(question, fabric)
    subject = subject_of(programs, fabric)
    others = others_of(programs, subject, fabric)
    count = run.runs(question, fabric)
    heading = ['']
    for name in in_order(programs):
        chosen = len(programs) > 1 and name == subject == questions.DEFAULT.get(fabric) and fabric != 'tcp'
        heading.append(program_name(name) + (' (default)' if chosen else ''))
    heading += ['to ' + program_name(name) for name in others]
    lines = []
    for size in run.sizes(question, fabric):
        line = [size_text(size)]
        line += [median_cell(runs.median_of(run, question, fabric, name, size), count) for name in in_order(programs)]
        line += [ratio_cell(run, question, fabric, subject, over, size) for over in others]
        lines.append(line)
    return rows(heading, lines)


def note_of(run):
    return f' Note: {run.header["note"]}.' if 'note' in run.header else ''


def source_line(run, question, fabric, link):
    """Where the figures of a table come from."""
    count = run.runs(question, fabric)
    name = f'[{run.name}]({link}/{run.name}/raw.tsv)' if link else run.name
    return (f'{count} run{"s" if count > 1 else ""}, {run.header["date"]}, commit {run.header["commit"]}, '
            f'`{run.header["command"]}`; raw figures: {name}.' + note_of(run))


def failure_lines(run, measured=None):
    """The failures of a run; `measured`: only those of this measurement (latency, window, onesided ...)."""
    lines = [f'* run {at}, {program_name(program)}, {what}: {reason}'
             for at, program, what, reason in run.failures if measured in (None, what)]
    return ['What failed in these runs:', ''] + lines + [''] if lines else []


def question_table(run, question, fabric):
    unit = run.units[question.key]
    better = 'less' if question.less_is_better else 'more'
    return [f'**{questions.FABRICS.get(fabric, fabric)}: {question.title}, {unit}** ({better} is better)', ''] \
        + by_size(run, question.key, fabric)


def section_tables(kept, section, link):
    """The tables of a section, each group of one run below a line that says which; empty where nothing is kept."""
    text = []
    for fabric in section.fabrics:
        said = None
        for question in section.questions:
            run = runs.newest(kept, question.key, fabric)
            if run is None:
                continue
            if run is not said:
                text += failure_lines(said, section.measured) if said else []
                text += [source_line(run, question.key, fabric, link), '']
                said = run
            text += question_table(run, question, fabric)
        text += failure_lines(said, section.measured) if said else []
    return text


def judged(target, kept):
    """For each size of a target: size, summary and verdict. The sizes without a figure are not in it."""
    for question in target.questions:
        for run in [runs.newest(kept, question, 'tcp')]:
            busy = run is not None and target.over is not None and others_share(run) > OTHERS_MAX
            for size in run.sizes(question, 'tcp') if run else []:
                if not target.sizes[0] <= size <= target.sizes[1]:
                    continue
                summary = (runs.ratio_of(run, question, 'tcp', 'bufenlarge', target.over, size) if target.over
                           else runs.median_of(run, question, 'tcp', 'bufenlarge', size))
                if summary.count:
                    yield question, size, summary, verdict(target, summary, busy)


def target_table(kept):
    lines = []
    for target in questions.TARGETS:
        found = list(judged(target, kept))
        if not found:
            continue
        marks = [mark for _, _, _, mark in found]
        missed = []
        for question, size, summary, mark in found:
            at = f'{size} ranks' if target.over is None else size_name(size)
            if mark == '!':
                missed.append(f'{question.split("_")[0] + " " if len(target.questions) > 1 else ""}{at} '
                              f'({summary.middle * target.scale:.2f})')
        reached = 'not judged: the machine was busy' if '?' in marks else \
            f'{marks.count("+") + marks.count("~")} of {len(marks)}'
        lines.append([target.text, reached, str(marks.count('+')), ', '.join(missed)])
    return rows(['target', 'reached by the median', 'in every run', 'missed at (median)'], lines) if lines else []


GLANCE = [('latency', 'half round trip'), ('latency_typical', 'half round trip'), ('bandwidth', 'bandwidth'),
          ('put_latency', 'MPI_Put and flush'), ('get_latency', 'MPI_Get and flush'),
          ('put_bandwidth', 'windows of MPI_Puts'), ('get_bandwidth', 'windows of MPI_Gets')]
GLANCE_SIZES = [8, 512, 4096, 65536, 1 << 20, 1 << 22]


def glance_cell(ratio, count):
    if not ratio.count:
        return ''
    return f'{ratio.middle:.2f}' + (f' ({ratio.count} of {count} runs)' if ratio.count < count else '')


def glance_table(kept):
    """Medians of the ratios of bufenlarge to ch4:ofi."""
    lines = []
    for fabric in questions.FABRICS:
        for question, title in GLANCE:
            run = runs.newest(kept, question, fabric)
            if run is None or question == 'latency' and run.has('latency_typical', fabric):
                continue
            better = 'less' if question.endswith(('latency', 'latency_typical')) else 'more'
            line = [f'{questions.FABRICS[fabric]}: {title} ({better} is better)']
            for size in GLANCE_SIZES:
                ratio = runs.ratio_of(run, question, fabric, questions.DEFAULT[fabric], 'ofi', size)
                line.append(glance_cell(ratio, run.runs(question, fabric)))
            lines.append(line)
    return rows(['bufenlarge to ch4:ofi'] + [size_name(size) for size in GLANCE_SIZES], lines)

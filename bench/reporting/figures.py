# SPDX-License-Identifier: MIT
"""Which curves go into which picture."""
from reporting import chart, questions, runs, special, tables

# What stands beside the vertical axis, before the unit.
AXES = {'latency': 'half round trip, ', 'noncontiguous': 'half round trip, ', 'forced': 'half round trip, ',
        'bandwidth': 'bandwidth, ',
        'put_latency': 'one operation and flush, ', 'get_latency': 'one operation and flush, ',
        'put_bandwidth': 'bandwidth, ', 'get_bandwidth': 'bandwidth, '}


def panel_of(run, question, fabric, title, extra=()):
    """The medians of every program; `extra`: other programs of the run, by the question that has their figures."""
    lines = {}
    asked = [(question, program) for program in run.programs(question, fabric)] + list(extra)
    for key, program in asked:
        summaries = [(size, runs.median_of(run, key, fabric, program, size)) for size in run.sizes(key, fabric)]
        lines[program] = [(size, summary.middle) for size, summary in summaries if summary.count]
    unit = run.units[question]
    name = next((text for start, text in AXES.items() if question.startswith(start)), '')
    return chart.Panel(title, 'bytes of a message', f'{name}{unit}', lines, tables.size_name)


def short(fabric):
    """A fabric's name without the driver's."""
    return questions.FABRICS[fabric].partition(' (')[0]


def legend(panels, names=None):
    shown = tables.in_order({program for panel in panels for program in panel.lines})
    names = dict(names or {})
    if 'bufenlarge' in shown and 'bufenlarge-mixed' in shown:  # One style for both.
        shown.remove('bufenlarge-mixed')
        names['bufenlarge'] = 'bufenlarge (RoCE, iWARP: mixed)'
    return [(program, names.get(program) or tables.program_name(program)) for program in shown]


def latency(kept):
    panels = []
    for fabric in questions.FABRICS:
        key = 'latency' if fabric == 'tcp' else 'latency_typical'
        run = runs.newest(kept, key, fabric)
        if run is None:
            continue
        missing = set(run.programs('latency', fabric)) - set(run.programs(key, fabric))
        extra = [('latency', name) for name in sorted(missing)]
        panels.append(panel_of(run, key, fabric, short(fabric), extra))
    return panels, {'fi_pingpong': 'fi_pingpong (mean)'}


def one_question(kept, question, fabrics):
    found = [(fabric, runs.newest(kept, question, fabric)) for fabric in fabrics]
    return [panel_of(run, question, fabric, short(fabric)) for fabric, run in found if run]


def onesided(kept):
    panels = []
    for fabric in questions.FABRICS:
        for question in questions.ONESIDED:
            run = runs.newest(kept, question.key, fabric)
            if run:
                panels.append(panel_of(run, question.key, fabric, f'{short(fabric)}: {question.title}'))
    return panels


def memory(kept):
    """Private memory by the number of ranks; the points of a curve may come from several runs."""
    panels = []
    for question in questions.MEMORY[1:]:
        lines = {}
        for ranks, run in special.memory_runs(kept):
            for program in ('bufenlarge', 'ofi'):
                summary = runs.median_of(run, question.key, 'tcp', program, ranks)
                if summary.count:
                    lines.setdefault(program, []).append((ranks, summary.middle / 1024))
        if lines:
            panels.append(chart.Panel(question.title, 'ranks', 'MiB of a process', lines, str))
    return panels


def peer_memory(kept):
    """What the system gives for connections, above what it had given before the first one; linear."""
    panels = []
    for fabric in questions.FABRICS:
        run = runs.newest(kept, 'peer_memory:meminfo:AnonPages', fabric)
        if run is None:
            continue
        lines = {}
        for program in run.programs('peer_memory:meminfo:AnonPages', fabric):
            names = ['meminfo:' + part for part in special.PARTS]
            rises = {}
            for at in special.peer_memory_runs(run, fabric, program):
                points = special.peer_memory_points(run, fabric, program, names, at)
                for endpoints, used in points:
                    rises.setdefault(endpoints, []).append((used - points[0][1]) / (1 << 20))
            lines[program] = [(endpoints, runs.Summary(figures).middle) for endpoints, figures in sorted(rises.items())]
        panels.append(chart.Panel(short(fabric), 'connected, idle endpoints', 'MiB in use, process and kernel',
                                  lines, chart.plain_number, logarithmic=False))
    return panels


def noncontiguous(kept):
    panels = []
    for fabric, kind in ((fabric, kind) for fabric in questions.FABRICS for kind in special.NONCONTIGUOUS):
        for size in special.noncontiguous_sizes(kept, kind, fabric):
            run = runs.newest(kept, f'{kind}_{size}', fabric)
            title = f'{short(fabric)}: message of {tables.size_name(size)}'
            panel = panel_of(run, f'{kind}_{size}', fabric, title)
            panel.x_text = 'bytes of a block'
            panels.append(panel)
    return panels


TITLES = {
    'latency': 'Half round trip by size',
    'bandwidth': 'Bandwidth by size',
    'message-rate': 'Message rate by size',
    'one-sided': 'One-sided communication by size',
    'memory': 'Private memory of a process by the number of ranks',
    'peer-memory': 'Memory of connected, idle endpoints',
    'noncontiguous': 'Half round trip of noncontiguous messages by the size of a block',
}


def pictures(kept):
    """SVG texts by name; a picture without figures is not there."""
    latency_panels, latency_names = latency(kept)
    panels = {
        'latency': latency_panels,
        'bandwidth': one_question(kept, 'bandwidth', questions.FABRICS),
        'message-rate': one_question(kept, 'message_rate', ['tcp']),
        'one-sided': onesided(kept),
        'memory': memory(kept),
        'peer-memory': peer_memory(kept),
        'noncontiguous': noncontiguous(kept),
    }
    return {name: chart.picture(found, legend(found, latency_names if name == 'latency' else None), TITLES[name])
            for name, found in panels.items() if found}

# SPDX-License-Identifier: MIT
"""OSU's and Intel's benchmarks (bench/osu-imb): one table and one picture for each, with every MPI."""
from reporting import chart, runs, tables

SUITES = {'osu_': "OSU's", 'imb_': "Intel's"}
WORDS = {'us': 'time', 'MB/s': 'bandwidth'}


def questions_of(run):
    """(question, fabric) of each benchmark, in the order in which they were measured."""
    return list(dict.fromkeys(key[:2] for key in run.values if key[0].startswith(tuple(SUITES))))


def title_of(run, question):
    """What it is, whose, with how many ranks."""
    name = question if question.startswith('osu_') else question.partition('_')[2]
    ranks = run.header.get(f'ranks of {question}')
    return f"{SUITES[question[:4]]} {name}" + (f', {ranks} ranks' if ranks else '')


def size_name(size):
    return tables.size_name(size) if size else 'no data'


def ratio_cell(run, question, fabric, subject, over, size):
    ratio = runs.ratio_of(run, question, fabric, subject, over, size)
    return tables.ratio_text(ratio, 2) if ratio.count else ''


def table(run, question, fabric):
    """Sizes down; medians of the MPIs, then ratios of the first of them to each of the others."""
    programs = tables.in_order(run.programs(question, fabric))
    count = run.runs(question, fabric)
    lines = []
    for size in run.sizes(question, fabric):
        line = [size_name(size)]
        line += [tables.median_cell(runs.median_of(run, question, fabric, name, size), count) for name in programs]
        line += [ratio_cell(run, question, fabric, programs[0], over, size) for over in programs[1:]]
        lines.append(line)
    return tables.rows([''] + programs + [f'{programs[0]} to {name}' for name in programs[1:]], lines)


def picture(run, question, fabric):
    """The medians by size. No data has no place on a logarithmic axis: it is drawn where there is nothing else."""
    programs, sizes = tables.in_order(run.programs(question, fabric)), run.sizes(question, fabric)
    shown = [size for size in sizes if size > 0] or sizes
    lines = {}
    for name in programs:
        summaries = [(size, runs.median_of(run, question, fabric, name, size)) for size in shown]
        points = [(size, summary.middle) for size, summary in summaries if summary.count]
        if points:
            lines[name] = points
    unit, title = run.units[question], title_of(run, question)
    by_size = shown != [0]
    panel = chart.Panel(title, 'bytes of a message' if by_size else 'no data', f'{WORDS.get(unit, "figure")}, {unit}',
                        lines, tables.size_name if by_size else lambda size: '', logarithmic=by_size)
    return chart.picture([panel], [(name, name) for name in programs if name in lines], title)


def introduction(run):
    asked = questions_of(run)
    programs = tables.in_order({name for key in asked for name in run.programs(*key)})
    count = max(run.runs(*key) for key in asked)
    text = ['<!-- Made by bench/report from raw.tsv; edit neither this page nor its pictures. -->',
            "# OSU's and Intel's benchmarks", '',
            f'Figures are medians of {count} run{"s" if count > 1 else ""}; ratios are taken inside each run, and the '
            'brackets have the smallest', 'and the largest of them. In a run every MPI has its turn. What is measured, '
            'and how, is the benchmark\'s own.', '']
    lines = [[key, run.header.get(key, '')] for key in ['date', 'commit', 'machine', 'command'] + programs]
    lines.append(["others' processor time, at most", f'{tables.others_share(run):.1%}'])
    heading = tables.rows(['', ''], lines)
    heading[1] = '|---|---|'
    return text + heading


def page(run):
    text = introduction(run)
    for question, fabric in questions_of(run):
        unit = run.units[question]
        better = 'less' if unit == 'us' else 'more'
        title = title_of(run, question)
        text += [f'## {title}', '', f'{fabric}: {WORDS.get(unit, "figure")}, {unit} ({better} is better)', '',
                 f'![{title}]({question}.svg)', ''] + table(run, question, fabric)
    text += ['## Failures', ''] + tables.failure_lines(run) if run.failures else []
    return '\n'.join(text).rstrip('\n') + '\n'


def files(run):
    """The page and the pictures, by name."""
    asked = questions_of(run)
    chart.give_styles(tables.in_order({name for key in asked for name in run.programs(*key)}))
    made = {'table.md': page(run), **{f'{question}.svg': picture(run, question, fabric) for question, fabric in asked}}
    chart.give_styles([])
    return made

# SPDX-License-Identifier: MIT
"""Raw figures: files of the format that bench/README.md describes, and medians, ratios and slopes of them."""
import statistics

FORMAT = '# raw figures of bufenlarge, format 1'


class BadFile(Exception):
    """A file that is not of the format; says where."""


class Run:
    """The raw figures of one file: header, failures, and values[question, fabric, program][size][run]."""

    def __init__(self, name, text):
        self.name = name
        self.header = {}
        self.failures = []
        self.values = {}
        self.units = {}
        lines = text.splitlines()
        if not lines or lines[0] != FORMAT:
            raise BadFile(f'{name}: line 1 is not "{FORMAT}"')
        for number, line in enumerate(lines[1:], 2):
            try:
                self._take(line)
            except ValueError as error:
                raise BadFile(f'{name}: line {number}: {error}') from None
        for key in ('date', 'commit', 'machine', 'command'):
            if key not in self.header:
                raise BadFile(f'{name}: the header has no {key}')

    def _take(self, line):
        if line.startswith('# failure\t'):
            self.failures.append(line.split('\t')[1:])
        elif line.startswith('# '):
            key, _, value = line[2:].partition('\t')
            self.header.setdefault(key, value)
        else:
            columns = line.split('\t')
            if len(columns) != 7:
                raise ValueError(f'{len(columns)} columns, not 7')
            question, fabric, program, size, run, value, unit = columns
            sizes = self.values.setdefault((question, fabric, program), {})
            sizes.setdefault(int(size), {})[int(run)] = float(value)
            self.units[question] = unit

    def has(self, question, fabric):
        return any(key[:2] == (question, fabric) for key in self.values)

    def programs(self, question, fabric):
        return [key[2] for key in self.values if key[:2] == (question, fabric)]

    def sizes(self, question, fabric):
        return sorted({size for program in self.programs(question, fabric)
                       for size in self.values[question, fabric, program]})

    def series(self, question, fabric, program, size):
        """The figures of all runs, by run."""
        return self.values.get((question, fabric, program), {}).get(size, {})

    def runs(self, question, fabric):
        """The number of runs that a question was measured in."""
        return max(len(runs) for key, sizes in self.values.items() if key[:2] == (question, fabric)
                   for runs in sizes.values())


class Summary:
    """Median, smallest and largest of some figures; `count` 0 where there are none."""

    def __init__(self, figures):
        figures = sorted(figures)
        self.count = len(figures)
        if figures:
            self.low, self.middle, self.high = figures[0], statistics.median(figures), figures[-1]


def median_of(run, question, fabric, program, size):
    return Summary(run.series(question, fabric, program, size).values())


def ratio_of(run, question, fabric, program, over, size):
    """
    The ratio is taken inside each run, and the median of the ratios after that: what slows the whole machine down
    during one run then touches both parts of its ratio.
    """
    figures = run.series(question, fabric, program, size)
    others = run.series(question, fabric, over, size)
    return Summary([figures[i] / others[i] for i in figures if others.get(i)])


def slope(points):
    """Of the straight line through (x, y), by least squares."""
    count, sum_x, sum_y = len(points), sum(x for x, _ in points), sum(y for _, y in points)
    below = count * sum(x * x for x, _ in points) - sum_x * sum_x
    return (count * sum(x * y for x, y in points) - sum_x * sum_y) / below if below else 0.0


def newest(runs, question, fabric):
    """The newest run that has figures of the question, or None."""
    found = [run for run in runs if run.has(question, fabric)]
    return max(found, key=lambda run: (run.header['date'], run.name), default=None)

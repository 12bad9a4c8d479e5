# SPDX-License-Identifier: MIT
"""Pictures: panels of curves over logarithmic axes with one legend, as SVG on white ground."""
import math
from xml.sax.saxutils import escape

FONT = 'font-family="DejaVu Sans, Verdana, Arial, sans-serif"'
PANEL_WIDTH, PANEL_HEIGHT = 470, 340
LEFT, RIGHT, TOP, BOTTOM = 84, 14, 40, 52
LEGEND_ROW = 24
COLUMNS = 2

# Colours that people who see red and green alike can tell apart; the marker tells lines of one colour apart.
STYLES = {
    'bufenlarge': ('#0060b0', 'circle', ''),
    'bufenlarge-mixed': ('#0060b0', 'circle', ''),
    'bufenlarge-polled': ('#0060b0', 'square', '7 4'),
    'bufenlarge-notified': ('#0060b0', 'triangle', '2 3'),
    'bufenlarge-advertised': ('#0060b0', 'circle', ''),
    'bufenlarge-rendezvous': ('#0060b0', 'circle', ''),
    'bufenlarge-packed': ('#56a0d8', 'square', '7 4'),
    'bufenlarge-ring': ('#56a0d8', 'square', '7 4'),
    'ofi': ('#d05000', 'diamond', ''),
    'fi_pingpong': ('#008060', 'triangle', '7 4'),
    'raw': ('#808000', 'square', ''),
    'raw-send': ('#808000', 'square', ''),
    'raw-write': ('#a040a0', 'triangle', '7 4'),
    'perftest': ('#505050', 'cross', ''),
}
OTHER_STYLE = ('#000000', 'circle', '2 3')
# For programs that the user names, by give_styles().
MORE_STYLES = [('#d05000', 'diamond', ''), ('#008060', 'triangle', ''), ('#a040a0', 'square', ''),
               ('#808000', 'cross', ''), ('#505050', 'circle', '7 4'), ('#c02060', 'square', '2 3')]
GIVEN = {}


def give_styles(programs):
    """Tells programs of one picture apart that have no style of their own; what was given before is forgotten."""
    taken = [STYLES[name] for name in programs if name in STYLES]
    free = [style for style in MORE_STYLES if style not in taken]
    unknown = [name for name in programs if name not in STYLES]
    GIVEN.clear()
    GIVEN.update({name: free[i % len(free)] for i, name in enumerate(unknown)})


class Axis:
    """Maps figures to a range of pixels; logarithmic, or linear from 0."""

    def __init__(self, figures, begin, end, logarithmic=True):
        self.logarithmic = logarithmic
        self.begin, self.end = begin, end
        self.low, self.high = (min(figures), max(figures)) if logarithmic else (0, max(figures) or 1)
        if logarithmic and self.high < 2 * self.low:
            self.low, self.high = self.low / 1.5, self.high * 1.5

    def widen(self):
        """Leaves room around the figures."""
        if self.logarithmic:
            margin = (self.high / self.low) ** 0.06
            self.low, self.high = self.low / margin, self.high * margin
        else:
            self.high *= 1.05
        return self

    def at(self, figure):
        if self.logarithmic:
            part = math.log(figure / self.low) / math.log(self.high / self.low)
        else:
            part = (figure - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        """Round figures: powers of ten, and more between them where there are few."""
        if not self.logarithmic:
            step = 10 ** math.floor(math.log10(self.high / 2))
            step *= next(by for by in (1, 2, 5, 10) if self.high / (step * by) <= 6)
            return [step * i for i in range(int(self.high / step) + 1)]
        decades = math.log10(self.high / self.low)
        factors = (1, 1.5, 2, 3, 4, 5, 6, 8) if decades < 1 else (1, 2, 5) if decades < 3.2 else (1,)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        found = [factor * 10.0 ** power for power in range(first, last + 1) for factor in factors]
        return [figure for figure in found if self.low <= figure <= self.high]


class Panel:
    """Curves of one question: title, texts of the axes, and lines {program: [(x, y), ...]}."""

    def __init__(self, title, x_text, y_text, lines, x_name, logarithmic=True):
        self.title = title
        self.x_text = x_text
        self.y_text = y_text
        self.lines = lines
        self.x_name = x_name
        self.logarithmic = logarithmic


def plain_number(figure):
    return f'{figure:,.0f}' if figure >= 10 else f'{figure:g}'


def text_at(x, y, text, size=13, anchor='middle', more=''):
    where = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {where} fill="#202020"{more}>{escape(text)}</text>'


def marker(kind, x, y, colour):
    if kind == 'circle':
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    if kind == 'cross':
        return (f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="2.5" fill="none"/>')
    path = {'square': f'M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7z', 'triangle': f'M{x:.1f} {y - 4.8:.1f}l4.6 8h-9.2z',
            'diamond': f'M{x:.1f} {y - 5.2:.1f}l5.2 5.2l-5.2 5.2l-5.2 -5.2z'}[kind]
    return f'<path d="{path}" fill="{colour}"/>'


def curve(program, points):
    """`points` in pixels. bufenlarge's lines are the thicker ones."""
    colour, kind, dashes = STYLES.get(program) or GIVEN.get(program, OTHER_STYLE)
    width = 2.4 if program.startswith('bufenlarge') else 1.6
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ''
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'] \
        + [marker(kind, x, y, colour) for x, y in points]


def x_ticks(axis, figures, spacing=46):
    """The figures measured, as many as can be read; the last one always."""
    chosen = []
    for figure in sorted(figures, reverse=True):
        if not chosen or axis.at(chosen[-1]) - axis.at(figure) >= spacing:
            chosen.append(figure)
    return chosen


def draw_panel(panel, left, top):
    x_begin, x_end = left + LEFT, left + PANEL_WIDTH - RIGHT
    y_begin, y_end = top + PANEL_HEIGHT - BOTTOM, top + TOP
    points = [point for line in panel.lines.values() for point in line]
    xs = sorted({x for x, _ in points})
    horizontal = Axis(xs, x_begin, x_end, panel.logarithmic).widen()
    vertical = Axis([y for _, y in points], y_begin, y_end, panel.logarithmic).widen()
    out = [text_at((x_begin + x_end) / 2, top + 24, panel.title, 14, more=' font-weight="bold"')]
    for figure in vertical.ticks():
        y = vertical.at(figure)
        out.append(f'<path d="M{x_begin} {y:.1f}H{x_end}" stroke="#d8d8d8"/>')
        out.append(text_at(x_begin - 6, y + 4, plain_number(figure), 12, 'end'))
    for figure in x_ticks(horizontal, xs) if panel.logarithmic else horizontal.ticks():
        x = horizontal.at(figure)
        out.append(f'<path d="M{x:.1f} {y_begin}V{y_end}" stroke="#e8e8e8"/>')
        out.append(text_at(x, y_begin + 18, panel.x_name(figure), 12))
    out.append(f'<path d="M{x_begin} {y_end}V{y_begin}H{x_end}" stroke="#606060" fill="none"/>')
    out.append(text_at((x_begin + x_end) / 2, y_begin + 38, panel.x_text))
    middle = (y_begin + y_end) / 2
    out.append(text_at(left + 14, middle, panel.y_text, more=f' transform="rotate(-90 {left + 14:.1f} {middle:.1f})"'))
    # Last the ones that count most, so that nothing covers them.
    for program in sorted(panel.lines, key=lambda name: name.startswith('bufenlarge')):
        out += curve(program, [(horizontal.at(x), vertical.at(y)) for x, y in panel.lines[program]])
    return out


def draw_legend(entries, left, top, columns, column_width):
    out = []
    for i, (program, name) in enumerate(entries):
        x, y = left + column_width * (i % columns), top + LEGEND_ROW * (i // columns)
        out += curve(program, [(x, y), (x + 22, y), (x + 44, y)])
        out.append(text_at(x + 54, y + 4, name, 13, 'start'))
    return out


def picture(panels, entries, title):
    """`entries`: programs and their names, in the legend's order."""
    empty_cell = len(panels) % COLUMNS != 0
    width = PANEL_WIDTH * COLUMNS
    height = PANEL_HEIGHT * math.ceil(len(panels) / COLUMNS)
    body = []
    for i, panel in enumerate(panels):
        body += draw_panel(panel, PANEL_WIDTH * (i % COLUMNS), PANEL_HEIGHT * (i // COLUMNS))
    if empty_cell:
        left, top = PANEL_WIDTH * (len(panels) % COLUMNS) + LEFT, height - PANEL_HEIGHT + TOP + 24
        body += draw_legend(entries, left, top, 1, PANEL_WIDTH)
    else:
        body += draw_legend(entries, LEFT, height + 16, 3, 295)
        height += LEGEND_ROW * math.ceil(len(entries) / 3) + 12
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" {FONT}>')
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    made = '<!-- SPDX-License-Identifier: MIT; made by bench/report -->'
    return '\n'.join([head, made, f'<title>{escape(title)}</title>', ground] + body + ['</svg>', ''])

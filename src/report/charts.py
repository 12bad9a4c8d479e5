# SPDX-License-Identifier: MIT
"""Bars as inline SVG, each with its figures as a title that a pointer shows and a screen reader reads."""
from html import escape

WIDTH, HEIGHT = 1024, 150
TOP, BELOW = 18, 22  # room for the figure of the highest bar, and for labels


def size(count):
    """1234567 -> "1.2 MiB"; small numbers exactly."""
    if count < 10_000:
        return f"{count:,} bytes"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1000 or unit == "TiB":
            break
    return f"{count:.1f} {unit}"


def shortened(count):
    """A number for a label: 65535 -> "64 Ki" where it ends a range of powers, else with separators."""
    for shift, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if count >= 10 << shift or (count + 1) % (1 << shift) == 0 and count + 1 >= 1 << shift:
            return f"{(count + 1) / (1 << shift):.4g} {unit}"
    return f"{count:,}"


def label_places(count, most):
    """Which of `count` bars get a label, at most so many of them, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def anchor(place, count):
    if count > 4 and place in (0, count - 1):
        return "start" if place == 0 else "end"
    return "middle"


def bars(title, values, titles, labels, highest, css=""):
    """One bar for each value. `title` says what the chart is, `highest` what the highest bar means."""
    count, most = len(values), max(values, default=0) or 1
    step = min(WIDTH / max(count, 1), 96)
    gap = 2 if step >= 6 else 0
    parts = [f'<svg class="bars {css}" viewBox="0 0 {WIDTH} {TOP + HEIGHT + BELOW}" role="img"'
             f' aria-label="{escape(title, quote=True)}"><title>{escape(title)}</title>',
             f'<text class="top" x="0" y="12">{escape(highest)}</text>',
             f'<line class="grid" x1="0" y1="{TOP}" x2="{WIDTH}" y2="{TOP}"/>']
    for place, value in enumerate(values):
        high = max(value / most * HEIGHT, 1) if value else 0
        parts.append(f'<rect x="{place * step:.2f}" y="{TOP + HEIGHT - high:.2f}" width="{step - gap:.2f}"'
                     f' height="{high:.2f}"><title>{escape(titles[place])}</title></rect>')
    parts.append(f'<line class="base" x1="0" y1="{TOP + HEIGHT}" x2="{WIDTH}" y2="{TOP + HEIGHT}"/>')
    for place in label_places(count, 9 if count > 12 else 12):
        edge = anchor(place, count)
        x = {"start": 0, "end": count * step, "middle": (place + 0.5) * step - gap / 2}[edge]
        parts.append(f'<text x="{x:.2f}" y="{TOP + HEIGHT + 16}" text-anchor="{edge}">{escape(labels[place])}</text>')
    return "".join(parts) + "</svg>"


def histogram(title, distribution, unit, things):
    """The histogram of a distribution: [largest value, count] for each bucket that is not empty."""
    rows = sorted(distribution["histogram"])
    values = [count for _, count in rows]
    titles = [f"up to {end:,} {unit}: {count:,} {things}" for end, count in rows]
    return bars(title, values, titles, [shortened(end) for end, _ in rows],
                f"highest bar: {max(values, default=0):,} {things}")

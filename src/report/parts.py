# SPDX-License-Identifier: MIT
"""Pieces of HTML that the sections are made of. All take plain text."""
from html import escape


def section(name, title, *parts):
    return (f'<section aria-labelledby="{name}-title" id="{name}">\n<h2 id="{name}-title">{escape(title)}</h2>\n'
            + "\n".join(part for part in parts if part) + "\n</section>")


def paragraph(text, css=""):
    return f'<p class="{css}">{escape(text)}</p>' if css else f"<p>{escape(text)}</p>"


def table(caption, heads, rows):
    """Cells that are numbers stand right; the first cell of a row is its head."""
    numeric = [isinstance(cell, int) for cell in rows[0][1:]] if rows else []
    head = "".join(f'<th scope="col"{css}>{escape(text)}</th>' for text, css in zip(
        heads, ["", *(' class="number"' if one else "" for one in numeric)]))
    lines = []
    for first, *others in rows:
        cells = "".join(f'<td class="number">{cell:,}</td>' if isinstance(cell, int) else f"<td>{escape(cell)}</td>"
                        for cell in others)
        lines.append(f'<tr><th scope="row">{escape(str(first))}</th>{cells}</tr>')
    return (f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>'
            + "\n".join(lines) + "</tbody></table></div>")


def facts(rows):
    return "<dl>" + "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                            for name, value in rows) + "</dl>"


def several(count, one, many=None):
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def named(ranks):
    """Some ranks by number, and how many others there are."""
    shown = ", ".join(str(rank) for rank in ranks[:20])
    return shown + (f" and {len(ranks) - 20:,} others" if len(ranks) > 20 else "")

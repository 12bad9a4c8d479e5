# SPDX-License-Identifier: MIT
"""Puts the page together: its head, the matrix with its data, and the sections of sections.py."""
import json
import os
from html import escape

import figures
import growth
import sections
from summary import PHASES_MAX

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<fieldset class="background"><legend>background</legend>
<label><input type="radio" name="background" value="" checked> of the system</label>
<label><input type="radio" name="background" value="light"> light</label>
<label><input type="radio" name="background" value="dark"> dark</label>
</fieldset>
</header>
<main>
{body}
</main>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""

MATRIX = """<section aria-labelledby="matrix-title">
<h2 id="matrix-title">Who sent whom how much, in which phase</h2>
<p>A row is a sender, a column a receiver. Point at a pair, or click to keep it; the arrow keys move from there.
{note}</p>
<div class="matrix">
<canvas id="matrix" tabindex="0" role="img" aria-label="Matrix of {ranks} senders by {ranks} receivers; the figures of a
pair are beside it"></canvas>
<div class="side">
<fieldset><legend>colour</legend>
<label><input type="radio" name="colour" value="phase" checked> phase of the ring</label>
<label><input type="radio" name="colour" value="bytes"> bytes sent</label>
</fieldset>
<ul id="legend"></ul>
<form id="choice"><label>sender <input id="sender" type="number" min="0" max="{last}"></label>
<label>receiver <input id="receiver" type="number" min="0" max="{last}"></label></form>
<div id="pair" aria-live="polite"></div>
<canvas id="lens" aria-hidden="true"></canvas>
</div>
</div>
<noscript><p>The matrix needs a browser that runs scripts; the tables below do not.</p></noscript>
</section>"""

NO_MATRIX = """<section aria-labelledby="matrix-title">
<h2 id="matrix-title">Who sent whom how much, in which phase</h2>
<p class="absent">This summary has no channels, so there is no matrix: {reason}. What follows are sums and distributions
over all processes.</p>
</section>"""


def no_matrix_reason(summary):
    if summary["totals"]["reports"] == 0:
        return "no report arrived at rank 0"
    bound = summary["knobs"].get("SUMMARY_PROCESSES") or "64"
    return (f"the job had {summary['processes']:,} processes, and processes of a job of more than SUMMARY_PROCESSES "
            f"({bound}) send sums only")


def text_of(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()


def matrix_data(summary, pairs, phases):
    """What matrix.js draws: a list for each figure, with an entry for each pair."""
    names = figures.node_names(summary)
    nodes = sorted(set(names.values()))
    place = {name: number for number, name in enumerate(nodes)}
    # Of each pair the bytes of the phases that the job knew.
    by_phase = [list(pair.bytes_in_phase[:phases]) for pair in pairs]
    columns = {name: [getattr(pair, name) for pair in pairs] for name in figures.Pair._fields
               if name not in ("told", "bytes_in_phase")}
    return {"ranks": summary["processes"], "phases": phases, "nodes": nodes,
            "node": [place[names[rank]] if rank in names else -1 for rank in range(summary["processes"])],
            "silent": figures.silent_ranks(summary), "pairs": {**columns, "by_phase": by_phase}}


def matrix(summary, pairs):
    if not figures.has_channels(summary):
        return NO_MATRIX.format(reason=escape(no_matrix_reason(summary)))
    vcis = {channel.vci for report in summary["reports"] for channel in report["channels"]}
    note = f"Figures are sums over {len(vcis)} VCIs." if len(vcis) > 1 else ""
    if len({one.sender for one in pairs}) == 0:
        note = "No process had a channel."
    return MATRIX.format(note=note, ranks=summary["processes"], last=summary["processes"] - 1)


def make(summary):
    """Returns the page of a summary, as text."""
    pairs = figures.pairs_of(summary)
    phases = figures.phases_used(summary, pairs)
    assert phases <= PHASES_MAX
    data = matrix_data(summary, pairs, phases) if figures.has_channels(summary) else {}
    # "<" could end the script element.
    encoded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    count = summary["processes"]
    return PAGE.format(
        title=f"bufenlarge: a job of {count:,} process" + ("" if count == 1 else "es"),
        style=text_of("page.css"), script=text_of("matrix.js"), data=encoded,
        body="\n".join([sections.job(summary), matrix(summary, pairs), sections.memory(summary),
                        growth.growth(summary, pairs, phases), growth.connections(summary),
                        growth.knobs(summary), sections.distributions(summary)]))

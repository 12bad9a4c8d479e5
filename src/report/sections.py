# SPDX-License-Identifier: MIT
"""The sections of the page below and above the matrix: tables, sentences and charts, as HTML."""
import charts
import figures
from charts import size
from figures import LARGEST
from parts import facts, named, paragraph, section, several, table

# The words of the page for each distribution: title, unit and what is counted.
DISTRIBUTION_WORDS = {
    "process_channels": ("Channels connected, of a process", "channels", "processes"),
    "process_messages": ("Messages sent, by a process", "messages", "processes"),
    "process_ring_bytes": ("Ring memory at most, of a process", "bytes", "processes"),
    "direction_messages": ("Messages sent, by a channel", "messages", "channels"),
    "direction_bytes": ("Bytes sent, by a channel", "bytes", "channels"),
}


# ---- the job

def missing(summary):
    """Who reported nothing; by rank only where the others reported their channels."""
    count = summary["processes"] - summary["totals"]["reports"]
    if count <= 0:
        return ""
    ranks = f": rank {named(figures.silent_ranks(summary))}" if figures.has_channels(summary) else ""
    return paragraph(f"No report arrived from {several(count, 'process', 'processes')}{ranks}. What they did is only "
                     "in the figures of their peers.", "absent")


def job(summary):
    totals, one = summary["totals"], figures.speaker(summary)
    rows = [("version", summary["version"]), ("processes", f"{summary['processes']:,}")]
    if figures.has_channels(summary):
        rows.append(("nodes", f"{len(set(figures.node_names(summary).values())):,}"))
    if one:
        rows += [("provider", f"{one['provider']} ({one['protocol']}) on {one['interface']}"),
                 ("arrival", f"{one['arrival']}: {one['arrival_reason']}")]
    rows += [("messages sent", f"{totals['messages']:,}"), ("bytes sent", size(totals["bytes"])),
             ("messages read without a copy", f"{totals['rendezvous']['reads']:,}, "
              + size(totals["rendezvous"]["read_bytes"]))]
    return section("job", "The job", facts(rows), missing(summary))


# ---- memory

def saved(totals):
    large, now = totals["ring_bytes_all_large"], totals["ring_bytes"]
    if large == 0:
        return ""
    percent = 100 * (large - now) / large
    return (f" The same channels with large rings only would take {size(large)}; "
            f"saved: {percent:.1f} %.")


def memory_of_processes(summary):
    processes = figures.processes_of(summary)
    largest = sorted(processes, key=lambda one: (-one.ring_bytes_max, one.rank))
    title = "Rings and control blocks of each process, at most"
    chart = charts.bars(title, [one.ring_bytes_max for one in processes],
                        [f"rank {one.rank} on {one.node}: {size(one.ring_bytes_max)} at most, {size(one.ring_bytes)} at"
                         " the end" for one in processes], [f"rank {one.rank}" for one in processes],
                        f"highest bar: rank {largest[0].rank} on {largest[0].node}, "
                        f"{size(largest[0].ring_bytes_max)}")
    rows = [(one.rank, one.node, size(one.ring_bytes_max), size(one.ring_bytes), size(one.pinned), size(one.user),
             size(one.unexpected)) for one in largest[:LARGEST]]
    heads = ("rank", "node", "rings at most", "rings at the end", "pinned at most", "user memory at most",
             "unexpected at most")
    caption = "Processes with most ring memory" if len(processes) > LARGEST else "Memory of each process"
    return f"<h3>{title}</h3>" + chart + table(caption, heads, rows)


def memory_of_nodes(summary):
    nodes = figures.nodes_of(figures.processes_of(summary))
    largest = sorted(nodes, key=lambda one: -one.ring_bytes_max)
    title = "Rings and control blocks of each node: the sum over its processes, at most"
    chart = charts.bars(title, [one.ring_bytes_max for one in nodes],
                        [f"{one.name}: {size(one.ring_bytes_max)} at most, "
                         f"{several(one.processes, 'process', 'processes')}" for one in nodes],
                        [one.name for one in nodes],
                        f"highest bar: {largest[0].name}, {size(largest[0].ring_bytes_max)}")
    rows = [(one.name, one.processes, size(one.ring_bytes_max), size(one.ring_bytes), size(one.pinned))
            for one in largest[:LARGEST]]
    heads = ("node", "processes", "rings at most", "rings at the end", "pinned at most")
    caption = "Nodes with most ring memory" if len(nodes) > LARGEST else "Memory of each node"
    return f"<h3>{title}</h3>" + chart + table(caption, heads, rows)


def memory(summary):
    totals, one = summary["totals"], figures.speaker(summary)
    limit = ""
    if one:
        bound = size(one["pinned_bytes_max"]) if one["pinned_bytes_max"] else "none"
        limit = paragraph(f"Limit on pinned memory of a process: {bound} ({one['pinned_reason']}); the most that one "
                          f"had is {size(totals['pinned_bytes_most'])}.")
    sums = paragraph(f"Registered ring memory of all processes: {size(totals['ring_bytes'])} at the end, "
                     f"{size(totals['ring_bytes_max'])} at most.{saved(totals)}")
    if not figures.has_channels(summary):
        return section("memory", "Memory", sums, limit, distribution(summary, "process_ring_bytes"), paragraph(
            "Which process and which node had most is not in this summary: its processes sent sums only.", "absent"))
    return section("memory", "Memory", sums, limit, memory_of_processes(summary), memory_of_nodes(summary))


# ---- distributions

def distribution(summary, name):
    title, unit, things = DISTRIBUTION_WORDS[name]
    values = summary["distributions"][name]
    if values["count"] == 0:
        return f"<h3>{title}</h3>" + paragraph("There were none.", "absent")
    return f"<h3>{title}</h3>" + charts.histogram(title, values, unit, things)


def distributions(summary):
    rows = []
    for name, (title, _, _) in DISTRIBUTION_WORDS.items():
        one = summary["distributions"][name]
        rows.append((title, one["count"], one["least"], one["percent_10"], one["percent_50"], one["percent_90"],
                     one["percent_99"], one["most"]))
    heads = ("", "of", "least", "10 %", "50 %", "90 %", "99 %", "most")
    note = paragraph("A percentile is known to a quarter of its value. Channels that sent nothing are not among those "
                     "that sent. A bar counts values up to the figure below it; bars without values are left out.")
    charted = [name for name in DISTRIBUTION_WORDS if figures.has_channels(summary) or name != "process_ring_bytes"]
    return section("distributions", "How it is distributed", table("Percentiles", heads, rows), note,
                   *(distribution(summary, name) for name in charted))

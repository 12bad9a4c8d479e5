# SPDX-License-Identifier: MIT
"""The figures of a summary that a page shows: pairs of ranks, memory of processes and nodes, what grew, knobs."""
import collections
import operator

from summary import PHASES_MAX

LARGEST = 10
# What one rank sent another, over all VCIs. `told` is "sender", or "receiver" where the sender reported nothing.
Pair = collections.namedtuple("Pair", "sender receiver told phase slot_bytes slots enlargements shrinks refused"
                                      " messages fragmented bytes bytes_in_phase ring_bytes ring_bytes_max")
Process = collections.namedtuple("Process", "rank node ring_bytes ring_bytes_max pinned user unexpected")
Node = collections.namedtuple("Node", "name processes ring_bytes ring_bytes_max pinned")
Knob = collections.namedtuple("Knob", "name value default")


def has_channels(summary):
    """Whether the processes reported their channels: those of a large job do not."""
    return bool(summary["reports"])


def add_pair(pairs, key, told, direction, channel):
    before = pairs.get(key)
    if before is None:
        pairs[key] = Pair(*key, told, direction.phase, direction.slot_bytes, direction.slots, direction.enlargements,
                          direction.shrinks, direction.refused, direction.messages, direction.messages_fragmented,
                          direction.bytes, direction.bytes_in_phase, channel.registered_bytes,
                          channel.registered_bytes_max)
        return
    # Another VCI: what it counted is added; the ring is that of the larger phase.
    ring = max(before, direction, key=operator.attrgetter("phase"))
    pairs[key] = before._replace(
        phase=ring.phase, slot_bytes=ring.slot_bytes, slots=ring.slots,
        enlargements=before.enlargements + direction.enlargements, shrinks=before.shrinks + direction.shrinks,
        refused=before.refused + direction.refused, messages=before.messages + direction.messages,
        fragmented=before.fragmented + direction.messages_fragmented, bytes=before.bytes + direction.bytes,
        bytes_in_phase=tuple(map(operator.add, before.bytes_in_phase, direction.bytes_in_phase)),
        ring_bytes=before.ring_bytes + channel.registered_bytes,
        ring_bytes_max=before.ring_bytes_max + channel.registered_bytes_max)


def reporting_ranks(summary):
    return {report["rank"] for report in summary["reports"]}


def directions(summary):
    """(sender, receiver, told, direction, channel) of all channels. A channel counts what it sent; what one received
    counts only where its sender reported nothing."""
    reporting = reporting_ranks(summary)
    for report in summary["reports"]:
        rank = report["rank"]
        for channel in report["channels"]:
            yield rank, channel.peer, "sender", channel.send, channel
            if channel.peer not in reporting:
                yield channel.peer, rank, "receiver", channel.receive, channel


def pairs_of(summary):
    """What the ranks sent each other, in the order of sender and receiver."""
    pairs = {}
    for sender, receiver, told, direction, channel in directions(summary):
        add_pair(pairs, (sender, receiver), told, direction, channel)
    return [pairs[key] for key in sorted(pairs)]


# ---- nodes and memory

def node_names(summary):
    """The name of the host of each rank that reported. Summaries of early builds have none."""
    return {report["rank"]: report.get("host") or "a host that is not named" for report in summary["reports"]}


def processes_of(summary):
    nodes = node_names(summary)
    rows = [Process(report["rank"], nodes[report["rank"]], report["registered_bytes"], report["registered_bytes_max"],
                    report["pinned_bytes_most"], report["rendezvous"]["registered_bytes_max"],
                    report["unexpected_bytes_max"]) for report in summary["reports"]]
    return sorted(rows)


def nodes_of(processes):
    """One row for each node, in the order of its first rank. Its processes had their most at different times, so that
    a sum of these is no less than what the node had at one time."""
    rows = {}
    for process in processes:
        before = rows.get(process.node, Node(process.node, 0, 0, 0, 0))
        rows[process.node] = Node(process.node, before.processes + 1, before.ring_bytes + process.ring_bytes,
                                  before.ring_bytes_max + process.ring_bytes_max, before.pinned + process.pinned)
    return list(rows.values())


# ---- what grew, and what did not

def grown(pairs):
    """The directions that grew, those that carried most first."""
    rows = [pair for pair in pairs if pair.enlargements or pair.phase]
    return sorted(rows, key=lambda pair: (-pair.bytes, pair.sender, pair.receiver))


def of_channels(summary, name):
    """The sum of a figure over all directions."""
    return sum(getattr(direction, name) for _, _, _, direction, _ in directions(summary))


def phases_used(summary, pairs):
    """How many phases the job knew, as far as the summary tells."""
    highest = max((pair.phase for pair in pairs), default=0)
    in_use = [phase for phase in range(PHASES_MAX) if summary["totals"]["directions_in_phase"][phase]]
    configured = (summary["knobs"].get("PHASES") or "").count(",")
    return min(PHASES_MAX, max([highest, configured, *in_use]) + 1)


# ---- job

def speaker(summary):
    """What one process tells that is the same in all: rank 0, or the first that reported. {} where none did."""
    if "rank_0" in summary:
        return summary["rank_0"]
    return min(summary["reports"], key=operator.itemgetter("rank"), default={})


def silent_ranks(summary):
    reporting = reporting_ranks(summary)
    return [rank for rank in range(summary["processes"]) if rank not in reporting]


def most_of(summary, name):
    """(rank, value) of the process that had most, or None without reports."""
    best = max(summary["reports"], key=lambda report: (report[name], -report["rank"]), default=None)
    return best and (best["rank"], best[name])


def knobs_changed(summary):
    """The knobs that rank 0 had at another value than their default; an empty text is the default, too. None where the
    summary does not tell the defaults."""
    defaults = summary.get("knob_defaults")
    if defaults is None:
        return None
    return [Knob(name, value, defaults.get(name, "")) for name, value in summary["knobs"].items()
            if value not in ("", defaults.get(name, ""))]

# SPDX-License-Identifier: MIT
"""Makes summaries of jobs that never ran, with the layout of bufenlarge_summary_json.c, from a seed.

    make_summary.py RANKS PER_NODE SEED >FILE    each rank talks to its neighbours in a cube, and to a few others
"""
import json
import random
import sys

PHASES = ((256, 4), (512, 16), (8256, 16))
DISTRIBUTIONS = ("process_channels", "process_messages", "process_ring_bytes", "direction_messages", "direction_bytes")
KNOBS = {"PHASES": "256,512,8256", "SLOTS": "auto", "GROWTH": "earned", "ENLARGEMENT": "on", "SUMMARY": "off",
         "SUMMARY_FILE": "", "SUMMARY_PROCESSES": "64", "INTERFACE": "", "MEMORY_MAX": "auto"}


def direction(phase=0, messages=0, fragmented=0, in_phase=(0, 0, 0), refused=0):
    slot_bytes, slots = PHASES[phase]
    return {"phase": phase, "slot_bytes": slot_bytes, "slots": slots, "enlargements": int(phase > 0), "shrinks": 0,
            "requests_repeated": 0, "acks_rejected": 0, "refused": refused, "messages": messages,
            "messages_fragmented": fragmented, "bytes": sum(in_phase),
            "bytes_in_phase": [*in_phase, 0, 0, 0, 0, 0]}


def ring_bytes(*directions):
    return sum(2 * one["slot_bytes"] * one["slots"] for one in directions)


def channel(peer, send, receive):
    return {"peer": peer, "vci": 0, "connected": True, "registered_bytes": ring_bytes(send, receive),
            "registered_bytes_max": ring_bytes(send, receive), "send": send, "receive": receive}


def rendezvous(**changes):
    return {"reads": 0, "read_bytes": 0, "response_bytes": 0, "fragment_bytes": 0, "ends_by_immediate": 0,
            "ends_by_message": 0, "registrations": 0, "registered_bytes_max": 0, "refused": 0, "hits": 0, **changes}


def counts(**changes):
    return {"registrations": 0, "deregistrations": 0, "channels_failed": 0, "connects_refused": 0,
            "connects_crossed": 0, "connections_most": 0, "connections_closed": 0, "connections_reopened": 0,
            "pinned_bytes_most": 0, "pinned_refused": 0, "eager_limits": 0, "unexpected_bytes_max": 0,
            "rendezvous": rendezvous(), **changes}


def process(rank, host, channels=None, **changes):
    """What a process reports; the figures follow from its channels."""
    rings = sum(one["registered_bytes"] for one in channels or [])
    report = {"rank": rank, "host": host, "provider": "verbs", "protocol": "FI_PROTO_RDMA_CM_IB_RC",
              "interface": "mlx5_0", "address": f"192.0.2.{rank % 250}:4000", "arrival": "mixed",
              "arrival_reason": "small slots by check, others by immediate data", "registered_bytes": rings,
              "registered_bytes_max": rings, "pinned_bytes_max": 1 << 30,
              "pinned_reason": "64 processes share 68719476736 bytes", "connections_max": 0,
              "connections_reason": "1048560 queue pairs for 64 processes allow 14335",
              **counts(pinned_bytes_most=rings + 65536, connections_most=len(channels or [])), **changes}
    return report if channels is None else {**report, "channels": channels}


def distribution(values):
    """Exact percentiles, and one bucket for each power of two: enough for who only reads them."""
    values = sorted(values)
    buckets = {}
    for value in values:
        end = (1 << value.bit_length()) - 1
        buckets[end] = buckets.get(end, 0) + 1
    at = [values[min(len(values) - 1, len(values) * percent // 100)] if values else 0 for percent in (10, 50, 90, 99)]
    return {"count": len(values), "sum": sum(values), "least": values[0] if values else 0,
            **dict(zip(("percent_10", "percent_50", "percent_90", "percent_99"), at)),
            "most": values[-1] if values else 0, "histogram": sorted(map(list, buckets.items()))}


def summary(reports, processes=None, keep_reports=True, **changes):
    """The summary of these reports. Without keep_reports it is that of a large job: sums only."""
    channels = [one for report in reports for one in report["channels"]]
    sends = [one["send"] for one in channels if one["send"]["messages"]]
    directions = [one[way] for one in channels for way in ("send", "receive")]
    sums = counts(**{name: sum(report[name] for report in reports) for name in counts() if name != "rendezvous"})
    sums.update({name: max((report[name] for report in reports), default=0)
                 for name in ("connections_most", "pinned_bytes_most", "unexpected_bytes_max")})
    rings = sum(report["registered_bytes"] for report in reports)
    totals = {"reports": len(reports), "channels": len(channels),
              "directions_enlarged": sum(one["phase"] > 0 for one in directions),
              "directions_in_phase": [sum(one["phase"] == phase for one in directions) for phase in range(8)],
              "messages": sum(one["messages"] for one in sends), "bytes": sum(one["bytes"] for one in sends),
              "ring_bytes": rings, "ring_bytes_max": rings, "ring_bytes_all_large": 528384 * len(channels), **sums}
    values = ([len(report["channels"]) for report in reports],
              [sum(one["send"]["messages"] for one in report["channels"]) for report in reports],
              [report["registered_bytes_max"] for report in reports],
              [one["messages"] for one in sends], [one["bytes"] for one in sends])
    own = {name: value for name, value in reports[0].items() if name != "channels"} if reports else process(0, "node0")
    return {"format": 1, "version": "0.1.0 (wire 13)", "processes": processes or len(reports), "knobs": KNOBS,
            "knob_defaults": KNOBS, "rank_0": own, "reports": reports if keep_reports else [],
            "distributions": dict(zip(DISTRIBUTIONS, map(distribution, values))), "totals": totals, **changes}


def neighbours(rank, side, ranks):
    """Those beside a rank in a cube of `side`, periodic."""
    place = (rank % side, rank // side % side, rank // side ** 2)
    for axis in range(3):
        for step in (-1, 1):
            other = list(place)
            other[axis] = (other[axis] + step) % (side if axis < 2 else max(1, ranks // side ** 2))
            yield other[0] + side * other[1] + side ** 2 * other[2]


def job(ranks, per_node, seed):
    """Neighbours send much, in a direction that is drawn; a few other pairs exchange small messages."""
    draw, side = random.Random(seed), max(2, round(ranks ** (1 / 3)))
    sent = {}
    for rank in range(ranks):
        for other in {*neighbours(rank, side, ranks), rank ^ 1, *draw.sample(range(ranks), min(ranks, 3))}:
            if other == rank or other >= ranks:
                continue
            phase = draw.choices((0, 1, 2), (5, 2, 4))[0]
            messages = draw.randrange(1, 5000)
            size = draw.randrange(8, (200, 480, 8000)[phase])
            in_phase = [0, 0, 0]
            in_phase[0], in_phase[phase] = 16 * 200, messages * size
            sent[rank, other] = direction(phase, messages, messages // 3 if phase else 0, in_phase)
    peers = [set() for _ in range(ranks)]
    for one, other in sent:
        peers[one].add(other)
        peers[other].add(one)
    return [process(rank, f"node{rank // per_node:03}",
                    [channel(peer, sent.get((rank, peer), direction()), sent.get((peer, rank), direction()))
                     for peer in sorted(peers[rank])]) for rank in range(ranks)]


if __name__ == "__main__":
    json.dump(summary(job(*map(int, sys.argv[1:4]))), sys.stdout)

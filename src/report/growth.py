# SPDX-License-Identifier: MIT
"""The sections of the page about what grew, what was refused, connections, and knobs, as HTML."""
import figures
from charts import size
from figures import LARGEST
from parts import facts, paragraph, section, several, table


def why_it_grows(knobs):
    if knobs.get("ENLARGEMENT") in ("off", "0", "no", "false"):
        return "ENLARGEMENT is off: no ring may grow."
    if knobs.get("GROWTH") == "first":
        return "GROWTH is first: a direction grows with the first element that does not fit a slot of its ring."
    return ("GROWTH is earned: a direction grows when the fragments of what does not fit a slot have cost what growing "
            "costs.")


def by_phase(pair, phases):
    return " + ".join(f"{count:,}" for count in pair.bytes_in_phase[:phases])


def grown_directions(pairs, phases):
    grown = figures.grown(pairs)
    if not grown:
        return paragraph("No direction grew.")
    rows = [(f"{one.sender} to {one.receiver}", one.phase, f"{one.slots} of {one.slot_bytes:,} bytes", one.enlargements,
             one.shrinks, one.messages, one.fragmented, by_phase(one, phases)) for one in grown[:LARGEST]]
    heads = ("ranks", "phase", "slots", "enlargements", "back", "messages", "in fragments",
             "bytes in phase 0 + 1 + ...")
    rings = sorted({(one.slots * one.slot_bytes, one.slots, one.slot_bytes, one.phase) for one in grown})
    bytes_of, slots, slot_bytes, phase = rings[-1]
    largest = paragraph(f"The largest ring is of phase {phase}: {slots} slots of {slot_bytes:,} bytes, "
                        f"{size(bytes_of)}.")
    caption = "Directions that grew" + (f": those that carried most, of {len(grown):,}" if len(grown) > LARGEST else "")
    return largest + table(caption, heads, rows)


def refusals(summary):
    totals, one = summary["totals"], figures.speaker(summary)
    limit = f"; {one['pinned_reason']}" if one else ""
    rows = [("limit on pinned memory (MEMORY_MAX)", totals["pinned_refused"], "a ring, a connection or user memory "
             "would have pinned more than the limit" + limit)]
    if figures.has_channels(summary):
        rows += [
            ("a ring of another phase", figures.of_channels(summary, "refused"),
             "one of both sides had no memory for it; the ring stayed as it was"),
            ("acknowledgement of an enlargement", figures.of_channels(summary, "acks_rejected"),
             "it came torn or corrupt, and was asked for again"),
            ("enlargement asked for again", figures.of_channels(summary, "requests_repeated"),
             "the acknowledgement was late, torn or corrupt"),
        ]
    rows += [("user memory", totals["rendezvous"]["refused"],
              "its registration was refused or would not pay; the data went through the ring"),
             ("eager data", totals["eager_limits"],
              "messages that no receive waited for took the room of UNEXPECTED; the sender was told to ask first"),
             ("connection request", totals["connects_refused"], "without the key of the job, or malformed")]
    return table("Refused, by reason", ("what", "times", "reason"), rows)


def growth(summary, pairs, phases):
    totals = summary["totals"]
    in_phase = ", ".join(f"{count:,} in phase {phase}" for phase, count in enumerate(totals["directions_in_phase"])
                         if count) or "none"
    sentences = [f"Directions enlarged, counted at both ends: {totals['directions_enlarged']:,}. Connected directions "
                 f"by phase: {in_phase}."]
    shown = ""
    if figures.has_channels(summary):
        steps = sum(one.enlargements for one in pairs)
        back, fragmented = sum(one.shrinks for one in pairs), sum(one.fragmented for one in pairs)
        sentences.append(f"{several(steps, 'enlargement')}, {several(back, 'way')} back to a smaller ring; "
                         f"{several(fragmented, 'message')} went in fragments.")
        shown = grown_directions(pairs, phases)
    else:
        shown = paragraph("Which directions grew is not in this summary: its processes sent sums only.", "absent")
    return section("growth", "What grew, and why", paragraph(" ".join(sentences)),
                   paragraph(why_it_grows(summary["knobs"])), shown, refusals(summary))


def connections(summary):
    totals, one = summary["totals"], figures.speaker(summary)
    rows = []
    if one:
        bound = f"{one['connections_max']:,}" if one["connections_max"] else "none"
        rows.append(("the most that a process may have", f"{bound} ({one['connections_reason']})"))
    most = figures.most_of(summary, "connections_most")
    where = f" (rank {most[0]} on {figures.node_names(summary)[most[0]]})" if most else ""
    rows += [("the most that a process had", f"{totals['connections_most']:,}{where}"),
             ("closed by agreement", f"{totals['connections_closed']:,}"),
             ("reopened", f"{totals['connections_reopened']:,}"),
             ("refused", f"{totals['connects_refused']:,}"),
             ("crossed", f"{totals['connects_crossed']:,}"),
             ("channels that failed", f"{totals['channels_failed']:,}"),
             ("channels connected, counted at both ends", f"{totals['channels']:,}")]
    return section("connections", "Connections", facts(rows))


def knobs(summary):
    changed = figures.knobs_changed(summary)
    if changed is None:
        return section("knobs", "Knobs", paragraph("This summary is of an early build, which does not tell the "
                                                   "defaults; these are all knobs.", "absent"),
                       table("Knobs of rank 0", ("knob", "value"),
                             [(f"MPIR_CVAR_BUFENLARGE_{name}", value) for name, value in summary["knobs"].items()]))
    if not changed:
        return section("knobs", "Knobs that differ from their default", paragraph("None, in rank 0."))
    rows = [(f"MPIR_CVAR_BUFENLARGE_{one.name}", one.value, one.default or "(empty)") for one in changed]
    return section("knobs", "Knobs that differ from their default", paragraph("As rank 0 had them."),
                   table("Knobs", ("knob", "value", "default"), rows))

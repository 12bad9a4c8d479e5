# SPDX-License-Identifier: MIT
"""Reads the summary of a job, which the netmod's rank 0 writes as JSON (MPIR_CVAR_BUFENLARGE_SUMMARY_FILE).

A summary of many processes is large, so that a channel is made a tuple as soon as the parser has it. What a page needs
is checked here; whoever uses the answer need not.
"""
import collections
import json
import sys

VERSION = "0.1.0"
LAYOUT = 1  # JSON_FORMAT of bufenlarge_summary_json.c
PHASES_MAX = 8
# So many processes at most report their channels: the largest value of SUMMARY_PROCESSES.
RANKS_MAX = 1024
NUMBER_MAX = 2**64 - 1

DIRECTION_NUMBERS = ("phase", "slot_bytes", "slots", "enlargements", "shrinks", "requests_repeated", "acks_rejected",
                     "refused", "messages", "messages_fragmented", "bytes")
Direction = collections.namedtuple("Direction", (*DIRECTION_NUMBERS, "bytes_in_phase"))
Channel = collections.namedtuple("Channel", "peer vci connected registered_bytes registered_bytes_max send receive")

COUNTS = ("registrations", "deregistrations", "channels_failed", "connects_refused", "connects_crossed",
          "connections_most", "connections_closed", "connections_reopened", "pinned_bytes_most", "pinned_refused",
          "eager_limits", "unexpected_bytes_max")
RENDEZVOUS = ("reads", "read_bytes", "response_bytes", "fragment_bytes", "registrations", "registered_bytes_max",
              "refused", "hits")
PROCESS_TEXTS = ("provider", "protocol", "interface", "address", "arrival", "arrival_reason", "pinned_reason",
                 "connections_reason")
PROCESS_NUMBERS = ("rank", "registered_bytes", "registered_bytes_max", "pinned_bytes_max", "connections_max", *COUNTS)
TOTALS = ("reports", "channels", "directions_enlarged", "messages", "bytes", "ring_bytes", "ring_bytes_max",
          "ring_bytes_all_large", *COUNTS)
DISTRIBUTIONS = ("process_channels", "process_messages", "process_ring_bytes", "direction_messages", "direction_bytes")
DISTRIBUTION_NUMBERS = ("count", "sum", "least", "percent_10", "percent_50", "percent_90", "percent_99", "most")


class ReportError(Exception):
    """What was given cannot be used; its text says why, and what is allowed."""


class Contradiction(Exception):
    """Something in the summary is not as it should be."""


# ---- parts, each checked as it is met

def number(value, name, most=NUMBER_MAX):
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Contradiction(f"'{name}' is {brief(value)}; allowed is a whole number from 0 to {most}")
    return value


def brief(value):
    text = json.dumps(value, default=lambda part: "...")
    return text if len(text) <= 40 else text[:37] + "..."


def of(part, name, where):
    if not isinstance(part, dict):
        raise Contradiction(f"{where} is no object")
    if name not in part:
        raise Contradiction(f"{where} has no '{name}'")
    return part[name]


def numbers(part, names, where):
    for name in names:
        number(of(part, name, where), f"{name}' of '{where}")


def numbers_by_phase(values, name):
    if not isinstance(values, list) or len(values) != PHASES_MAX:
        raise Contradiction(f"'{name}' is {brief(values)}; allowed are {PHASES_MAX} numbers")
    return tuple(number(value, name) for value in values)


def texts(part, names, where):
    for name in names:
        if not isinstance(of(part, name, where), str):
            raise Contradiction(f"'{name}' of '{where}' is {brief(part[name])}; allowed is a text")


def listed(value, where):
    if not isinstance(value, list):
        raise Contradiction(f"'{where}' is {brief(value)}; allowed is a list")
    return value


def direction(part):
    values = [number(of(part, name, "a direction"), name) for name in DIRECTION_NUMBERS]
    number(part["phase"], "phase", PHASES_MAX - 1)
    return Direction(*values, numbers_by_phase(part["bytes_in_phase"], "bytes_in_phase"))


def channel(part):
    for name in ("send", "receive"):
        if not isinstance(of(part, name, "a channel"), Direction):
            raise Contradiction(f"'{name}' of a channel is no direction")
    if not isinstance(of(part, "connected", "a channel"), bool):
        raise Contradiction(f"'connected' of a channel is {brief(part['connected'])}; allowed is true or false")
    plain = ("peer", "vci", "registered_bytes", "registered_bytes_max")
    peer, vci, now, most = (number(of(part, name, "a channel"), name) for name in plain)
    return Channel(peer, vci, part["connected"], now, most, part["send"], part["receive"])


def compact(part):
    """What the parser keeps of an object."""
    if "bytes_in_phase" in part:
        return direction(part)
    if "peer" in part:
        return channel(part)
    return part


def check_process(part, where):
    numbers(part, PROCESS_NUMBERS, where)
    texts(part, PROCESS_TEXTS, where)
    numbers(of(part, "rendezvous", where), RENDEZVOUS, f"rendezvous of {where}")
    if "host" in part:  # not in the summaries of early builds
        texts(part, ("host",), where)


def check_reports(summary):
    processes, seen = summary["processes"], set()
    for report in listed(summary["reports"], "reports"):
        check_process(report, "a report")
        rank = number(report["rank"], "rank", processes - 1)
        if rank in seen:
            raise Contradiction(f"there are two reports of rank {rank}")
        seen.add(rank)
        for one in listed(of(report, "channels", "a report"), "channels"):
            if not isinstance(one, Channel):
                raise Contradiction(f"a channel of rank {rank} has no 'peer'")
            number(one.peer, f"peer' of a channel of 'rank {rank}", processes - 1)
    if seen and processes > RANKS_MAX:
        raise Contradiction(f"it has reports of a job of {processes} processes; allowed are {RANKS_MAX}")


def check_distributions(part):
    for name in DISTRIBUTIONS:
        values = of(part, name, "distributions")
        numbers(values, DISTRIBUTION_NUMBERS, name)
        for row in listed(of(values, "histogram", name), f"histogram of {name}"):
            if not isinstance(row, list) or len(row) != 2:
                raise Contradiction(f"the histogram of '{name}' has {brief(row)}; allowed are pairs of numbers")
            for value in row:
                number(value, f"histogram of {name}")


def check(summary):
    for name in ("version", "processes", "knobs", "reports", "distributions", "totals"):
        of(summary, name, "it")
    texts(summary, ("version",), "it")
    if number(summary["processes"], "processes", 2**31 - 1) == 0:
        raise Contradiction("'processes' is 0; allowed is 1 and more")
    for name in ("knobs", "knob_defaults"):
        if name in summary:
            texts(summary[name], of(summary, name, "it"), name)
    if "rank_0" in summary:
        check_process(summary["rank_0"], "rank_0")
    check_reports(summary)
    check_distributions(summary["distributions"])
    numbers(summary["totals"], TOTALS, "totals")
    numbers(of(summary["totals"], "rendezvous", "totals"), RENDEZVOUS, "rendezvous of totals")
    numbers_by_phase(of(summary["totals"], "directions_in_phase", "totals"), "directions_in_phase")


# ---- the file

def read_text(name):
    try:
        if name == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        with open(name, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise ReportError(f"cannot read '{name}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"'{name}' is no JSON: it is no text") from error


def no_constant(text):
    raise Contradiction(f"it has the number {text}")


def parse(name, text):
    if not text.strip():
        raise ReportError(f"'{name}' is empty; the job writes it at the end of MPI_Finalize")
    try:
        return json.loads(text, object_hook=compact, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        end = len(text.rstrip())
        # A text that was cut is wrong at its end, or in a string that does not end.
        if error.pos >= end - 1 or error.msg.startswith("Unterminated string"):
            raise ReportError(f"'{name}' is cut off in line {text.count(chr(10), 0, end) + 1}: the job did not end"
                              " MPI_Finalize, or its disk was full") from error
        raise ReportError(f"'{name}' is no JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"'{name}' is no JSON that a job writes: {error}") from error


def read(name):
    """Returns the summary in a file, or raises a ReportError."""
    try:
        summary = parse(name, read_text(name))
        if not isinstance(summary, dict) or "format" not in summary or "totals" not in summary:
            raise ReportError(f"'{name}' is JSON, but no summary of bufenlarge; allowed is what a job wrote with"
                              " MPIR_CVAR_BUFENLARGE_SUMMARY_FILE")
        if summary["format"] != LAYOUT or isinstance(summary["format"], bool):
            raise ReportError(f"'{name}' has layout {brief(summary['format'])} of the summary; allowed is {LAYOUT}: use"
                              " the bufenlarge_report of the version that wrote it")
        check(summary)
    except Contradiction as error:
        raise ReportError(f"'{name}' is no whole summary of bufenlarge: {error}") from error
    return summary

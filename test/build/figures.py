#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares figures in pages with what the code prints; prints what is stale. Run from the tree's top.

    figures.py INFO WIRE_FIGURES TABLE     INFO is bufenlarge_info, WIRE_FIGURES the program of wire_figures.cc
    figures.py INFO WIRE_FIGURES --print   prints the figures

TABLE has lines "key  page  regular expression": the page has at least one line that matches, and each that does says
the figure. Rows of tables that begin with a knob and a default say the default it has.
"""
import os
import re
import subprocess
import sys

import tree

PAGE_BYTES = 4096
RANKS = 16  # of the job of E14, in which one direction grows
# The defaults are asked for, whatever the environment sets.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MPIR_CVAR_")}


def output(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True, env=ENVIRONMENT).stdout


def whole_pages(size):
    return -(-size // PAGE_BYTES) * PAGE_BYTES


def figures(info, wire):
    answer = {key: int(value) for key, value in (line.split() for line in output(wire).splitlines())}
    phases = re.findall(r"^phase \d+: (\d+) slots of (\d+) bytes, (\d+) bytes per peer, (\d+) bytes for",
                        output(info, "--memory", str(RANKS)), re.M)
    for phase, (slots, slot_bytes, both, _) in enumerate(phases):
        answer |= {f"slots-{phase}": int(slots), f"slot-{phase}": int(slot_bytes), f"ring-{phase}": int(both) // 2,
                   f"ring-{phase}-registered": whole_pages(int(both) // 2)}
    answer["rings-small"] = int(phases[0][2])
    answer["rings-large"] = int(phases[-1][2])
    small, large = answer["ring-0"], answer[f"ring-{len(phases) - 1}-registered"]
    answer["growth-registered"] = RANKS * (RANKS - 1) * 2 * small + 2 * (large - small)
    answer["growth-all-large-registered"] = RANKS * (RANKS - 1) * 2 * large
    answer["growth-all-large"] = RANKS * int(phases[-1][3])
    return answer


def ways_to_say(value):
    ways = [f"{value:,}", str(value)]
    return ways + [f"{value // 1024:,} KiB"] if value % 1024 == 0 and value else ways


def says(line, value):
    return any(re.search(rf"(?<![\d,.]){re.escape(way)}(?![\d,]*\d|\.\d)", line) for way in ways_to_say(value))


def check_table(table, known):
    count = 0
    for number, line in enumerate(tree.text(table).split("\n"), 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        count += 1
        key, page, expression = words
        if key not in known:
            print(f"{table}:{number}: the code prints no figure {key}")
            continue
        wanted = ways_to_say(known[key])[0]
        lines = [(place, text) for place, text in enumerate(tree.text(page).split("\n"), 1)
                 if re.search(expression, text)] if os.path.isfile(page) else []
        if not lines:
            print(f"{page}: no line matches '{expression}'; it is to say {wanted} ({key})")
        for place, text in lines:
            if not says(text, known[key]):
                print(f"{page}:{place}: is to say {wanted} ({key}): {text.strip()[:90]}")
    if count < 10:
        print(f"{table} has only {count} figures")


def check_knobs(info):
    defaults = dict(re.findall(r"^(MPIR_CVAR_BUFENLARGE_\w+)\n  default: (.*)$", output(info, "--knobs"), re.M))
    compared = 0
    for page in (name for name in tree.files() if name.endswith(".md")):
        for number, line in enumerate(tree.text(page).split("\n"), 1):
            for knob in re.findall(r"MPIR_CVAR_BUFENLARGE_[A-Z0-9_]*[A-Z0-9]\b(?!\*)", line):
                if knob not in defaults:
                    print(f"{page}:{number}: there is no knob {knob}")
            row = re.match(r"\| `(MPIR_CVAR_BUFENLARGE_\w+)` \| `([^`]*)` \|", line)
            if row and row[1] in defaults:
                compared += 1
                if row[2] != defaults[row[1]]:
                    print(f"{page}:{number}: the default of {row[1]} is {defaults[row[1]]}, not {row[2]}")
    if len(defaults) < 10 or compared < len(defaults) // 2:
        print(f"only {compared} defaults of {len(defaults)} knobs were found in pages")


def main():
    info, wire, table = sys.argv[1:]
    known = figures(info, wire)
    if table == "--print":
        for key, value in known.items():
            print(f"{key:28} {' = '.join(ways_to_say(value))}")
        return
    check_table(table, known)
    check_knobs(info)


main()

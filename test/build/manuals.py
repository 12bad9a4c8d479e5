#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the man pages with what they describe; prints what is missing or too much. Run from the tree's top.

    manuals.py knobs PAGE            PAGE, the source of bufenlarge(7), has every row of the tables of knobs
    manuals.py options PAGE COMMAND  PAGE has every option that COMMAND --help prints, and no other
    manuals.py programs MAKEFILE     every program that MAKEFILE installs has a page that it installs

An option is a word that begins with two hyphens. What --help does not print is not seen: "figure" and "refusals" run
the commands.
"""
import os
import re
import subprocess
import sys

import tree

TABLES = ("src/bufenlarge/knob_table.h", "src/netmod/bufenlarge/bufenlarge_knob_table.h")
# The defaults of knobs may come from the environment, and so may what a command says of them.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MPIR_CVAR_")}


def check_knobs(page):
    described = re.findall(r"^\.It Ev MPIR_CVAR_BUFENLARGE_(\w+)$", tree.text(page), re.M)
    known = [name for table in TABLES for name in re.findall(r"^ *X\((\w+), ", tree.text(table), re.M)]
    if len(known) < 10:
        print(f"only {len(known)} knobs were found in {' and '.join(TABLES)}")
    for name in known:
        if described.count(name) != 1:
            print(f"bufenlarge(7) describes the knob {name} {described.count(name)} times")
    for name in set(described) - set(known):
        print(f"bufenlarge(7) describes the knob {name}, which no table has")


def check_options(page, command):
    said = subprocess.run([*command, "--help"], check=True, text=True, capture_output=True, env=ENVIRONMENT).stdout
    known = {"help"} | set(re.findall(r"(?<![-\w])--([a-z][a-z-]*)", said))
    described = set(re.findall(r"^\.It Fl -([a-z][a-z-]*)", tree.text(page), re.M))
    if len(known) < 3:
        print(f"{' '.join(command)} --help names {len(known)} options")
    for name in sorted(known - described):
        print(f"{page} has no option --{name}")
    for name in sorted(described - known):
        print(f"{page} has the option --{name}, which --help does not print")


def check_programs(makefile):
    source = tree.text(makefile).replace("\\\n", " ")
    installed = re.search(r"^man_MANS =(.*)$", source, re.M)
    pages = installed[1].split() if installed else []
    programs = [name for line in re.findall(r"^(?:dist_)?bin_(?:PROGRAMS|SCRIPTS) =(.*)$", source, re.M)
                for name in line.split()]
    if not programs:
        print(f"{makefile} installs no program")
    for name in programs:
        page = f"docs/man/{os.path.basename(name)}.1"
        if page not in pages or not os.path.isfile(page):
            print(f"{name} has no man page {page} that {makefile} installs")


def main():
    what, page, *command = sys.argv[1:]
    if what == "options":
        check_options(page, command)
    else:
        {"knobs": check_knobs, "programs": check_programs}[what](page)


main()

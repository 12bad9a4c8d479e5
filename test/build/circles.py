#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Circles among C files, seen from the symbols of their objects. Prints each circle: its files, and few references
without which there would be none.

    circles.py OBJECTS SOURCES...    OBJECTS is the folder of the objects as libtool names them (PREFIX-NAME.o)
    circles.py --undeclared ...      prints each function that a file uses of another and that no header beside the
                                     sources names: MPICH's flags leave calls without a declaration to be a warning

File A uses file B where the object of A refers to a function, or to data with initial values such as a table of
functions, that the object of B defines. Data without initial values are state that refers to nothing, and do not
count. Inline functions of headers count for the file that includes and uses them.
"""
import glob
import os
import re
import subprocess
import sys

DEFINES = set("TWDRV")


def symbols(path):
    """(defined, referred to) of one object."""
    listed = subprocess.run(["nm", "--portability", "--extern-only", path], check=True, text=True, capture_output=True)
    defined, wanted = set(), set()
    for line in listed.stdout.splitlines():
        name, kind = line.split()[:2]
        if kind == "U":
            wanted.add(name)
        elif kind in DEFINES:
            defined.add(name)
    return defined, wanted


def find_objects(folder, sources):
    """{source: object}; ends the program where a source has none or one that is older."""
    answer = {}
    for source in sources:
        stem = os.path.splitext(os.path.basename(source))[0]
        found = [path for path in glob.glob(os.path.join(folder, "*.o"))
                 if os.path.basename(path) == stem + ".o" or path.endswith("-" + stem + ".o")]
        if len(found) != 1:
            sys.exit(f"{source} has {len(found)} objects in {folder}")
        answer[os.path.basename(source)] = found[0]
    return answer


def make_graph(objects):
    """{file: {file that it uses: symbols}}"""
    seen = {name: symbols(path) for name, path in objects.items()}
    owner = {symbol: name for name, (defined, _) in seen.items() for symbol in defined}
    graph = {name: {} for name in seen}
    for name, (_, wanted) in seen.items():
        for symbol in wanted:
            if owner.get(symbol, name) != name:
                graph[name].setdefault(owner[symbol], set()).add(symbol)
    return graph


def reached(graph, start):
    seen, left = set(), [start]
    while left:
        for name in graph[left.pop()]:
            if name not in seen:
                seen.add(name)
                left.append(name)
    return seen


def find_circles(graph):
    """Sets of files that reach each other."""
    reach = {name: reached(graph, name) for name in graph}
    circles = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return sorted((circle for circle in circles if circle), key=len, reverse=True)


def upward(graph, circle):
    """(file, used file, symbols) against an order of the circle's files that needs few such references."""
    def surplus(name, left):
        out = sum(len(graph[name][other]) for other in graph[name] if other in left)
        return out - sum(len(graph[other].get(name, ())) for other in left)

    order, left = [], set(circle)
    while left:  # first what uses most and is used least
        name = max(sorted(left), key=lambda one: surplus(one, left))
        order.append(name)
        left.remove(name)
    place = {name: number for number, name in enumerate(order)}
    return [(name, other, sorted(graph[name][other])) for name in order for other in sorted(graph[name])
            if other in place and place[other] < place[name]]


def print_undeclared(graph, headers):
    declared = set()
    for header in headers:
        with open(header) as file:
            declared.update(re.findall(r"\w+", file.read()))
    for name, uses in sorted(graph.items()):
        for other, used in sorted(uses.items()):
            for symbol in sorted(used - declared):
                if symbol.startswith("MPID_"):  # what a device has to have: MPICH's headers declare it
                    continue
                print(f"{name} uses {symbol} of {other}, which no header declares")


def main():
    undeclared = sys.argv[1:2] == ["--undeclared"]
    folder, *sources = sys.argv[1 + undeclared:] or [""]
    if len(sources) < 2:
        sys.exit("usage: circles.py OBJECTS SOURCES...")
    graph = make_graph(find_objects(folder, sources))
    if not any(graph.values()):
        sys.exit(f"the objects in {folder} do not use each other at all")
    if undeclared:
        print_undeclared(graph, glob.glob(os.path.join(os.path.dirname(sources[0]), "*.h")))
        return
    for circle in find_circles(graph):
        print(f"a circle of {len(circle)} files: {' '.join(sorted(circle))}")
        for name, other, names in upward(graph, circle):
            print(f"  {name} uses {other}: {' '.join(names)}")


main()

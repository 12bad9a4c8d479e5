# SPDX-License-Identifier: MIT
"""in_turn.py collectives|idle FILE, or settings FILE BASE: the tables of the benches that measure several programs in
turn.

A ratio is taken inside each run; a table shows the median over the runs, and in brackets the smallest and largest.
"""
import statistics
import sys


def read(path):
    """(question, program, size) -> {run: value}"""
    figures = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            part = line.rstrip("\n").split("\t")
            if not line.startswith("#") and len(part) == 7:
                figures.setdefault((part[0], part[2], int(part[3])), {})[int(part[4])] = float(part[5])
    return figures


def median(figures, key, digits=1):
    return f"{statistics.median(figures[key].values()):.{digits}f}" if key in figures else "-"


def ratio(figures, of, to):
    runs = set(figures.get(of, {})) & set(figures.get(to, {}))
    if not runs:
        return "-"
    ratios = [figures[of][run] / figures[to][run] for run in runs]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def collectives(figures):
    operations = ("allreduce", "alltoall", "bcast")
    sizes = sorted({size for question, _, size in figures if question in operations})
    for program in sorted({program for _, program, _ in figures} - {"openmpi"}, reverse=True):
        print(f"{program} beside Open MPI, us\n")
        print("| operation | bytes | quiet | Open MPI | ratio | busy | Open MPI | ratio | busy to quiet | Open MPI's |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for quiet in operations:
            for size in sizes:
                cells = []
                for question in (quiet, quiet + "_busy"):
                    own, other = (question, program, size), (question, "openmpi", size)
                    cells += [median(figures, own), median(figures, other), ratio(figures, own, other)]
                for name in (program, "openmpi"):
                    cells.append(ratio(figures, (quiet + "_busy", name, size), (quiet, name, size)))
                print(f"| {quiet} | {size} | " + " | ".join(cells) + " |")
        print()


def idle(figures):
    keys = [key for key in figures if key[0] == "idle_latency"]
    sizes = sorted({size for _, _, size in keys})
    print(f"| program | ranks | half round trip, us | lowest batch | to its own with {sizes[0]} | lowest to lowest |")
    print("|---|---:|---:|---:|---:|---:|")
    for program in dict.fromkeys(program for _, program, _ in keys):
        for size in sizes:
            cells = []
            for question in ("idle_latency", "idle_latency_lowest"):
                cells.append(median(figures, (question, program, size), 2))
            for question in ("idle_latency", "idle_latency_lowest"):
                cells.append(ratio(figures, (question, program, size), (question, program, sizes[0])))
            print(f"| {program} | {size} | " + " | ".join(cells) + " |")


def settings(figures, base):
    names = list(dict.fromkeys(program for _, program, _ in figures))
    # The first run begins with the second of the settings that were named.
    first = base if base in names else names[0]
    print("| question | size | " + " | ".join(f"{name} | to {first}" for name in names) + " |")
    print("|---|---:|" + "---:|" * (2 * len(names)))
    for question, size in dict.fromkeys((question, size) for question, _, size in figures):
        cells = []
        for name in names:
            key = (question, name, size)
            digits = 4 if question.startswith("registrations") else 1
            cells += [median(figures, key, digits), ratio(figures, key, (question, first, size))]
        print(f"| {question} | {size} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    {"collectives": collectives, "idle": idle, "settings": settings}[sys.argv[1]](read(sys.argv[2]), *sys.argv[3:])

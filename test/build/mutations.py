#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutations.py SOURCE WORK: builds all changes of a program in, as tools/mutate does, and prints each that does not do
what the same change does in the source, and that with none on something is not as it was."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the checkout stays as it is
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools/mutate.d"))
from changes import File  # noqa: E402
from program import LAYERS, Program, SWITCH, SWITCH_SOURCE  # noqa: E402

LEAST = 60  # changes in the program


def build(work, name, text, *more):
    (work / f"{name}.cc").write_text(text, encoding="utf-8")
    return subprocess.run(["g++", "-std=c++20", "-O0", "-w", *more, "-o", name, f"{name}.cc"], cwd=work,
                          stderr=subprocess.PIPE, text=True, check=False)


def told(work, name, number=0):
    """What the program prints, and how it ends; a change may make a loop endless."""
    try:
        ended = subprocess.run([f"./{name}"], cwd=work, env={"MUTANTS_ACTIVE": str(number)}, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return "endless"
    return ended.returncode, ended.stdout


def missing_objects(layer):
    """The sources of the library that a new folder, in which those of this layer are to be written, does not build."""
    sources = {other: [path.relative_to(TOP) for path in TOP.glob(f"src/bufenlarge/{other}/*.cc")] for other in LAYERS}
    with tempfile.TemporaryDirectory() as folder:
        rules = Program(pathlib.Path(folder), {str(name) for name in sources[layer]}).makefile().split()
    return [name for names in sources.values() for name in names if str(name.with_suffix(".o")) not in rules]


def main(source, work):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    (work / "mutants.h").write_text(SWITCH, encoding="utf-8")
    (work / "switch.cc").write_text(SWITCH_SOURCE, encoding="utf-8")
    file = File(source, pathlib.Path(source).read_text(encoding="utf-8"))
    for number, change in enumerate(file.changes, 1):
        change.number = number
    built = build(work, "all", file.with_all(), "-include", "mutants.h", "switch.cc")
    if built.returncode != 0:
        sys.exit(f"with all changes it does not compile: {built.stderr}")
    build(work, "one", file.text)
    if told(work, "all") != told(work, "one"):
        print("with no change on, the program is not what it was")
    if file.with_all().count("\n") != file.text.count("\n"):
        print("the lines are not where they were")
    if len(file.changes) < LEAST:
        print(f"there are {len(file.changes)} changes, not {LEAST} or more")
    for layer in LAYERS:
        for name in missing_objects(layer):
            print(f"a new folder for the changes of {layer} does not build {name}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault in filter(None, pool.map(lambda change: fault_of(work, file, change), file.changes)):
            print(fault)


def fault_of(work, file, change):
    text = f"{change.line + 1}: {file.changed_line(change)}"
    name = f"change-{change.number}"
    if build(work, name, file.with_change(change)).returncode != 0:
        return f"does not compile: {text}"
    if not change.built_in:
        return f"is not built in: {text}"
    if told(work, "all", change.number) != told(work, name):
        return f"does something else: {text}"
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])

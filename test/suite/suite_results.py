# SPDX-License-Identifier: MIT
"""Results of MPICH's test suite: of one run, of the one that is kept of another device, and what is known to fail."""
import collections
import hashlib
import os

Result = collections.namedtuple("Result", "verdict seconds reason")


def read_results(path):
    """name -> Result of one run; the last line of a name counts."""
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#") and line.count("\t") >= 3:
                    verdict, seconds, name, reason = line.rstrip("\n").split("\t", 3)
                    results[name] = Result(verdict, float(seconds), reason)
    return results


def read_baseline(path):
    """(header lines, {shm: {name: Result}}) of a kept result: shm, verdict, seconds, name."""
    header, kept = [], {"off": {}, "on": {}}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                header.append(line[1:].strip())
            else:
                shm, verdict, seconds, name = line.rstrip("\n").split("\t")
                kept[shm][name] = Result(verdict, float(seconds), "")
    return header, kept


def write_baseline(path, header, results):
    with open(path, "w", encoding="utf-8") as file:
        for line in header:
            file.write(f"# {line}\n")
        for shm, of_shm in results.items():
            for name, result in of_shm.items():
                file.write(f"{shm}\t{result.verdict}\t{result.seconds:.1f}\t{name}\n")


def read_known(path):
    """{shm: {name: reason}} of tests that are known to fail; "both" stands for off and on."""
    known = {"off": {}, "on": {}}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            words = line.rstrip("\n").split("\t")
            if len(words) != 3 or words[0] not in ("off", "on", "both") or not words[2].strip():
                raise SystemExit(f"{path}:{number}: expected 'off|on|both', a test and a reason, with tabs between")
            for shm in ("off", "on") if words[0] == "both" else (words[0],):
                known[shm][words[1]] = words[2]
    return known


def choose(tests, durations, seconds, longest):
    """A part of the tests that takes about so many seconds one after the other and has some of every folder: the
    folders take turns, each with its next test by a digest of the name. Tests that are not in `durations` or that
    take longer than `longest` are left out."""
    queues = collections.defaultdict(list)
    for test in tests:
        if test.name in durations and durations[test.name] <= longest:
            queues[test.directory].append(test)
    for queue in queues.values():
        queue.sort(key=lambda test: hashlib.sha256(test.name.encode()).digest())
    chosen, total = set(), 0.0
    while any(queues.values()):
        for directory in sorted(queues):
            if queues[directory]:
                test = queues[directory].pop(0)
                if total + durations[test.name] <= seconds or not any(t.startswith(directory + "/") for t in chosen):
                    chosen.add(test.name)
                    total += durations[test.name]
        if total >= seconds:
            break
    return [test for test in tests if test.name in chosen]

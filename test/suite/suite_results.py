# SPDX-License-Identifier: MIT
"""Reads and writes results of MPICH's test suite: those of a run, the kept ones of another device, and the list of
tests that are known to fail. Chooses a part of the tests."""
import collections
import hashlib
import itertools
import os

Result = collections.namedtuple("Result", "verdict seconds reason")

# MPICH's runner leaves out the tests that need more, unless it is told what the machine has. GB.
MEMORY = 4


def read_results(path):
    """Returns {name: Result} of one run; of several lines with one name the last one counts."""
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#") and line.count("\t") >= 3:
                    verdict, seconds, name, reason = line.rstrip("\n").split("\t", 3)
                    results[name] = Result(verdict, float(seconds), reason)
    return results


def read_baseline(path):
    """Returns (header lines, {shm: {name: Result}}) of a kept result, whose lines are: shm, verdict, seconds, name."""
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
    """Returns {shm: {name: reason}} of the tests that are known to fail; "both" stands for off and on."""
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


def wrong(name, result, known):
    """Returns why a result counts as failed, or "" if it does not. `known` has the tests that are known to fail."""
    if result.verdict == "pass":
        return "passes, but is in the list of known failures: take it off" if name in known else ""
    return "" if name in known else f"{result.verdict}: {result.reason}"


def rounds(tests):
    """Yields lists of tests: the next of each folder, in the order of a digest of their names."""
    queues = collections.defaultdict(list)
    for test in tests:
        queues[test.directory].append(test)
    for queue in queues.values():
        queue.sort(key=lambda test: hashlib.sha256(test.name.encode()).digest(), reverse=True)
    while any(queues.values()):
        yield [queues[directory].pop() for directory in sorted(queues) if queues[directory]]


def choose(tests, durations, seconds, longest):
    """Returns a part of the tests that takes about so many seconds one after the other and has some of every folder.
    The part has no test that is not in `durations` or takes longer than `longest`."""
    chosen, total = set(), 0.0
    for one in rounds(test for test in tests if durations.get(test.name, longest + 1) <= longest):
        for test in one:
            first = not any(name.startswith(test.directory + "/") for name in chosen)
            if first or total + durations[test.name] <= seconds:
                chosen.add(test.name)
                total += durations[test.name]
        if total >= seconds:
            break
    return [test for test in tests if test.name in chosen]


def choose_new(tests, kept, count):
    """Returns so many of the tests that are not in `kept`, with some of every folder. None needs much memory, and none
    judges by time, as those of perf do."""
    new = (t for t in tests if t.name not in kept and t.memory <= MEMORY and not t.name.startswith("perf/"))
    turns = itertools.chain.from_iterable(rounds(new))
    chosen = {test.name for test in itertools.islice(turns, count)}
    return [test for test in tests if test.name in chosen]

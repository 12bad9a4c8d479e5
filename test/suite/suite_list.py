# SPDX-License-Identifier: MIT
"""Reads the lists of tests of MPICH's test suite."""
import collections
import dataclasses
import os

# The lists of a folder: the plain one, the one with datatypes, the one with algorithms of collectives. The build folder
# has those that configure makes, the source folder the others.
LISTS = ("testlist", "testlist.dtp", "testlist.cvar")

# In it processes die. MPICH's configure leaves it out of the list of folders unless MPICH is built together with Hydra.
DEATHS = "ft"


@dataclasses.dataclass
class Test:
    directory: str
    program: str
    np: int
    name: str = ""
    args: list = dataclasses.field(default_factory=list)
    env: list = dataclasses.field(default_factory=list)
    mpiexec_args: list = dataclasses.field(default_factory=list)
    time_limit: int = 0
    result_test: str = ""
    xfail: str = ""
    memory: float = 0.0
    list_name: str = "testlist"


def find_list(build, source, directory, name):
    for top in (build, source):
        path = os.path.join(top, directory, name)
        if os.path.exists(path):
            return path
    return None


def parse_line(build, directory, words):
    program, np = words[0], int(words[1]) if len(words) > 1 else 2
    test = Test(directory, os.path.join(build, directory, program), np)
    shown = [f"{directory}/{program}", str(np)]
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key == "arg":
            test.args.append(value)
        elif key == "env":
            test.env.append(tuple(value.split("=", 1)))
        elif key == "mpiexecarg":
            test.mpiexec_args.append(value)
        elif key == "timeLimit":
            test.time_limit = int(value)
        elif key == "resultTest":
            test.result_test = value
        elif key == "xfail":
            test.xfail = value
        elif key == "mem":
            test.memory = float(value)
        if key in ("arg", "env"):
            shown.append(value)
    test.name = " ".join(shown)
    return test


def read_directory(build, source, directory):
    for list_name in LISTS:
        path = find_list(build, source, directory, list_name)
        if path is None:
            continue
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split("#", 1)[0].split()
                if not words or words[0].startswith("!"):
                    continue
                below = os.path.normpath(os.path.join(directory, words[0]))
                if len(words) == 1 and os.path.isdir(os.path.join(source, below)):
                    if list_name == "testlist":
                        yield from read_directory(build, source, below)
                else:
                    test = parse_line(build, directory, words)
                    test.list_name = list_name
                    yield test


def read_tests(build, source):
    """Returns all tests, in MPICH's order. A number distinguishes tests that are listed several times."""
    seen = collections.Counter()
    tests = []
    listed = list(read_directory(build, source, "."))
    if not any(test.program.startswith(os.path.join(build, DEATHS, "")) for test in listed):
        listed += read_directory(build, source, DEATHS)
    for test in listed:
        test.directory = os.path.normpath(os.path.dirname(os.path.relpath(test.program, build)))
        test.name = test.name.removeprefix("./")
        seen[test.name] += 1
        if seen[test.name] > 1:
            test.name += f" #{seen[test.name]}"
        tests.append(test)
    return tests

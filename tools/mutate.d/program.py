# SPDX-License-Identifier: MIT
"""The tests of the protocol and channel layers, built in a folder of their own from sources with changes built in."""
import os
import pathlib
import re
import shlex
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAYERS = ("protocol", "channel")
LIBRARY = [f"src/bufenlarge/{layer}/*.cc" for layer in LAYERS]
SOURCES = {"unit": ["test/unit/protocol/*.cc", "test/unit/channel/*.cc", "test/support/*.cc"],
           "sim": ["test/sim/*.cc", "test/support/catch_main.cc"]}
# What the unit tests of one file of a layer are linked with.
NEEDS = {"protocol": ["src/bufenlarge/protocol/*.cc", "test/support/catch_main.cc"],
         "channel": [*LIBRARY, "test/support/*.cc"]}
PLACES = ["src/bufenlarge/**/*", "test/unit/**/*", "test/sim/**/*", "test/support/*"]
# Which change is on, and which have been asked for: MUTANTS_SEEN names a file with a byte for each.
SWITCH = """\
#pragma once
#include <type_traits>
namespace mutants {
unsigned active();
unsigned char* seen();
inline const unsigned kActive = active();
inline unsigned char* const kSeen = seen();
constexpr bool on(unsigned number) {
  if (std::is_constant_evaluated()) return false;
  if (kSeen != nullptr) kSeen[number] = 1;
  return number == kActive;
}
}
"""
SWITCH_SOURCE = """\
#include "mutants.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <cstdlib>
namespace mutants {
unsigned active() {
  const char* number = std::getenv("MUTANTS_ACTIVE");
  return number == nullptr ? 0 : static_cast<unsigned>(std::atoi(number));
}
unsigned char* seen() {
  const char* name = std::getenv("MUTANTS_SEEN");
  if (name == nullptr) return nullptr;
  void* place = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, open(name, O_RDWR), 0);
  return place == MAP_FAILED ? nullptr : static_cast<unsigned char*>(place);
}
}
"""
MAKEFILE = """\
all: unit sim
FLAGS = -std=c++20 -O1 -w -MMD -include mutants.h -I. -Isrc/bufenlarge -Itest {sodium}
{rules}
%.o: %.cc
\tg++ $(FLAGS) -c -o $@ $<
-include $(shell find . -name '*.d')
"""
FAULT = re.compile(r"^(\S+?):(\d+):(?:\d+:)? ", re.M)


def named_tests(layer):
    """The programs with the tests of one file only, where it has tests: their names and where the tests are."""
    stems = sorted({path.stem for path in TOP.glob(f"src/bufenlarge/{layer}/*")})
    return [(f"{stem}_tests", f"test/unit/{layer}/{stem}_*test.cc") for stem in stems
            if list(TOP.glob(f"test/unit/{layer}/{stem}_*test.cc"))]


class Program:
    """Builds and runs the programs `unit` and `sim`. No two builds at once; any number of runs."""

    def __init__(self, folder, rewritten):
        """Copies the sources to this folder, but not those that are going to be rewritten."""
        self.folder = folder
        for name in (name for place in PLACES for name in TOP.glob(place) if name.is_file()):
            if str(name.relative_to(TOP)) not in rewritten:
                self.write(name.relative_to(TOP), name.read_text(encoding="utf-8"))
        self.write("mutants.h", SWITCH)
        self.write("mutants.cc", SWITCH_SOURCE)
        self.write("Makefile", self.makefile())

    def makefile(self):
        self.programs = {name: [*LIBRARY, *places] for name, places in SOURCES.items()}
        self.programs |= {name: [*NEEDS[layer], test] for layer in LAYERS for name, test in named_tests(layer)}
        rules = [f"library: {' '.join(self.objects(LIBRARY))}"]
        rules += [f"{name}: mutants.o {' '.join(self.objects(places))}\n\tg++ -o $@ $^ {self.sodium('--libs')}"
                  for name, places in self.programs.items()]
        return MAKEFILE.format(rules="\n".join(rules), sodium=self.sodium("--cflags"))

    @staticmethod
    def objects(places):
        """Of all sources of these places: the folder may not have those yet that are going to be rewritten."""
        return sorted(str(path.relative_to(TOP).with_suffix(".o")) for place in places for path in TOP.glob(place))

    @staticmethod
    def sodium(what):
        return subprocess.run(["pkg-config", what, "libsodium"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def write(self, name, text):
        """Writes what has changed only, so that make compiles no more."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def build(self, *goals, options=()):
        """Returns the places that the compiler complains of, as (file, line from 0); None if all is built."""
        made = subprocess.run(["make", f"-j{os.cpu_count()}", *options, *goals], cwd=self.folder, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if made.returncode == 0:
            return None
        return {(name, int(line) - 1) for name, line in FAULT.findall(made.stderr)}

    def passes(self, program, seconds, number=0, seen=None, arguments=""):
        """Whether all tests of the program pass within this time with this change on."""
        environment = dict(os.environ, MUTANTS_ACTIVE=str(number))
        if seen is not None:
            seen.write_bytes(bytes(1 << 16))
            environment["MUTANTS_SEEN"] = str(seen)
        try:
            return subprocess.run([self.folder / program, *shlex.split(arguments)], cwd=self.folder, env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds,
                                  check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

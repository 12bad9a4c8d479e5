#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names in pages and comments that lead nowhere. Prints each with its place; run from the tree's top.

    references.py files EXCEPTIONS   paths and files, links and headings, decisions by their number
    references.py names EXCEPTIONS   `function()` and `Type::function()` in pages
    references.py tour PAGE          all names in backquotes of the page; its length
    references.py tests PAGE         the test cases that the page names
    references.py patents            patents by number and figure, which only docs/traceability.md names

EXCEPTIONS has lines "regular expression  reason" for what belongs to others. One that matches nothing is reported.
"""
import glob
import os
import re
import sys

import tree

ENDINGS = r"(?:h|cc|c|md|sh|py|am|ac|m4|awk|txt|csv|svg|patch|mk|in)"
# Where pages and comments count from when they name a file.
ROOTS = ("", "src/", "src/bufenlarge/", "src/netmod/", "src/netmod/bufenlarge/", "test/", "bench/", "bench/results/",
         "docs/")
TOP_PATH = re.compile(r"(?<![\w/$}~.*-])(?:\./)?((?:docs|src|test|tools|bench|m4|mpich-patches)/[\w./*-]*\w)")
FILE_NAME = re.compile(r"(?<![\w/$}~.*<-])((?:[\w-]+/)*[\w-]+\." + ENDINGS + r")\b(?!\.?[\w>(*])")
DECISION = re.compile(r"(?:decisions/|(?<=\()|decision )(00\d\d)\b(?!/)")
PATENT = re.compile(r"\bseeds? 0\d\d\b|\b0\d\d,? (?:c|fig\.? ?|blocks? )\d|\bblocks? \d{3}\b|\bfig(?:ure|\.)? ?\d+\b"
                    r"|\bclaims? \d+\b", re.I)


class Exceptions:
    def __init__(self, path):
        self.path, self.unused = path, {}
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            words = line.split(None, 1)
            if words and not words[0].startswith("#"):
                if len(words) < 2:
                    print(f"{path}:{number}: an exception without a reason")
                self.unused[re.compile(words[0])] = True

    def match(self, name):
        found = [expression for expression in self.unused if expression.fullmatch(name)]
        for expression in found:
            self.unused[expression] = False
        return bool(found)

    def report(self):
        for expression, unused in self.unused.items():
            if unused:
                print(f"{self.path}: nothing matches the exception {expression.pattern}")


class Tree:
    def __init__(self):
        self.names = set(tree.files())
        self.base_names = {os.path.basename(name) for name in self.names}
        self.stems = {os.path.splitext(name)[0] for name in self.names}
        self.folders = {"."}
        for name in self.names:
            parts = name.split("/")[:-1]
            self.folders.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))

    def has(self, name, page):
        name = name.rstrip("/")
        if "*" in name:
            return bool(glob.glob(name))
        for root in ROOTS + (os.path.dirname(page) + "/",):
            path = os.path.normpath(root + name)
            if path in self.names or path in self.folders or path in self.stems:
                return True
        return "/" not in name and name in self.base_names


def pages(names):
    return sorted(name for name in names if name.endswith(".md"))


def comments(source):
    """Comments of C; other text keeps its place but is blank."""
    code = re.sub(r'"(?:\\.|[^"\\\n])*"', tree.blank, source)
    answer, last = [], 0
    for found in re.finditer(r"//[^\n]*|/\*.*?\*/", code, re.S):
        answer += [re.sub(r"[^\n]", " ", code[last:found.start()]), source[found.start():found.end()]]
        last = found.end()
    return "".join(answer)


def named_files(name, source):
    """(offset, file or path) that a page or source names."""
    language = tree.language(name)
    if name.endswith(".md"):
        for found in re.finditer(r"`([^`\s]+)[^`]*`", source):
            word = found[1]
            if re.fullmatch(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*/?", word) and (
                    "/" in word or re.search(r"\." + ENDINGS + "$", word)):
                yield found.start(), word
        for found in re.finditer(r"\]\(([^)#\s]+)", source):
            if "://" not in found[1]:
                yield found.start(), found[1]
        source = re.sub(r"`[^`\n]*`", tree.blank, source)
    looked_at = comments(source) if language == "c" else source
    for found in TOP_PATH.finditer(looked_at):
        yield found.start(), found[1]
    if language == "c" or name.endswith(".md"):
        for found in FILE_NAME.finditer(looked_at):
            yield found.start(), found[1]


def line_of(source, offset):
    return source.count("\n", 0, offset) + 1


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def wrong_anchors(page, source):
    for found in re.finditer(r"\]\(([^)#\s]*)#([^)\s]+)\)", source):
        target = os.path.normpath(os.path.join(os.path.dirname(page), found[1])) if found[1] else page
        if "://" in found[1] or not os.path.isfile(target):
            continue
        if found[2] not in {slug(heading) for heading in re.findall(r"^#+ (.*)$", tree.text(target), re.M)}:
            yield found.start(), f"{found[1]}#{found[2]}"


def check_files(exceptions):
    there = Tree()
    decisions = {os.path.basename(name)[:4] for name in there.names if name.startswith("docs/decisions/")}
    count = 0
    for name in sorted(there.names):
        if not (name.endswith(".md") or tree.language(name)) or name.startswith(("mpich-patches/4", "test/build/")):
            continue
        source, told = tree.text(name), set()
        wrong = []
        for offset, what in named_files(name, source):
            count += 1
            if not there.has(what, name) and not exceptions.match(what):
                wrong.append((offset, f"there is no {what}"))
        if name.startswith("docs/") or tree.language(name) == "c":
            wrong += [(found.start(), f"there is no decision {found[1]}") for found in DECISION.finditer(source)
                      if found[1] not in decisions]
        if name.endswith(".md"):
            wrong += [(offset, f"there is no heading {what}") for offset, what in wrong_anchors(name, source)]
        for offset, message in sorted(wrong):
            line = f"{name}:{line_of(source, offset)}: {message}"
            if line not in told:
                print(line)
            told.add(line)
    if count < 100:
        print(f"only {count} names of files were found")


def code_words(folders):
    words = set()
    for name in tree.files():
        # The cases of test/build name what is not there.
        if name.startswith(folders) and not name.startswith("test/build/") and tree.language(name):
            source = tree.text(name)
            words.update(re.findall(r"[A-Za-z_]\w*", tree.c_code(source) if tree.language(name) == "c" else source))
    return words


def check_names(exceptions):
    words, count = code_words(("src/", "test/", "bench/", "tools/", "check", "quickstart")), 0
    for page in pages(tree.files()):
        source = tree.text(page)
        for found in re.finditer(r"`([A-Za-z_][\w:]*)\(\)`|`(\w+(?:::~?\w+)+)(?:\(\))?`|`(k[A-Z]\w+)`", source):
            name = found[1] or found[2] or found[3]
            count += 1
            missing = [part for part in name.split("::") if part not in words and part != "std"]
            if missing and not exceptions.match(name):
                print(f"{page}:{line_of(source, found.start())}: the code has no {missing[0]} ({name})")
    if count < 5:
        print(f"only {count} names of functions were found")


def check_tour(page):
    if not os.path.isfile(page):
        print(f"there is no {page}")
        return
    source, there, words, count = tree.text(page), Tree(), code_words(("src/",)), 0
    if len(source.splitlines()) > 120:
        print(f"{page} has {len(source.splitlines())} lines, allowed are 120")
    for found in re.finditer(r"`([^`\n]+)`", source):
        name = found[1]
        count += 1
        if there.has(name.split()[0], page):
            continue
        for part in re.findall(r"[A-Za-z_]\w*", name):
            if part not in words:
                print(f"{page}:{line_of(source, found.start())}: src has no {part} (`{name}`)")
    if count < 20:
        print(f"{page} names only {count} things of the source")


def check_tests(page):
    """Names of test cases, in asterisks behind the program's name; "..." at the end stands for the rest."""
    text = "\n".join(tree.text(name) for name in tree.files() if re.match(r"test/(unit|sim|fabric)/.*\.cc$", name))
    names = set(re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"', text))
    count = 0
    for number, line in enumerate(tree.text(page).split("\n"), 1):
        row = re.match(r"\* (?:unit|sim|fabric): (.*)$", line)
        for name in re.findall(r"\*([^*]+)\*", row[1]) if row else []:
            count += 1
            if name.endswith("..."):
                there = any(one.startswith(name[:-3]) for one in names)
            else:
                there = name in names
            if not there:
                print(f"{page}:{number}: there is no test case '{name}'")
    if count < 50:
        print(f"{page} names only {count} test cases")


def check_patents():
    for name in tree.files():
        if name == "docs/traceability.md" or name.startswith("bench/results/"):
            continue
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            found = PATENT.search(line)
            if found:
                print(f"{name}:{number}: '{found[0]}': only docs/traceability.md names patents")


def main():
    what, *rest = sys.argv[1:]
    if what in ("files", "names"):
        exceptions = Exceptions(rest[0])
        {"files": check_files, "names": check_names}[what](exceptions)
        exceptions.report()
    else:
        {"tour": check_tour, "tests": check_tests, "patents": check_patents}[what](*rest)


main()

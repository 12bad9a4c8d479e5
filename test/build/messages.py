#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the texts of errors and warnings in the source with docs/errors.md. Run from the tree's top.

    messages.py PAGE EXCEPTIONS    prints each text that the source has and PAGE has not, or the other way round

A text of the C and C++ sources is a string literal of two words and more that stands in none of the calls of SILENT
and that no line of EXCEPTIONS ("regular expression for FILE: LITERAL", two blanks, reason) names: so a new way to
report an error is seen without being listed here. Texts of the scripts are what die gets, and echo with the word
"error: "; those of the Python programs in src what ReportError, Contradiction, and print() with a keyword get; those of
configure what AC_MSG_ERROR gets; those of MPICH's error stack the lines of errnames.txt. A literal is cut at its
conversions; its parts have to stand in one code span of a table's first column of PAGE, in their order. In the other
direction a span is cut at words in capitals, and each part of two words and more has to be in a literal.

Not seen: texts of one word, such as "fi_fabric: WHY"; what printf() puts into the summary; in which order a text is put
together from several literals; the texts of libfabric and of MPICH, and those of tools/rdma-vm and ./check.
"""
import ast
import re
import sys

import tree

SILENT = {
    "trace", "state_changed", "set_state", "back_off", "pass_over", "need", "ask",  # lines of LOG=trace and LOG=state
    "printf", "fprintf:file", "strftime", "sscanf", "static_assert", "MPL_static_assert",
}
LEFT_OUT = ("src/bufenlarge/knob_table.h", "src/netmod/bufenlarge/bufenlarge_knob_table.h")  # docs/knobs.md
SCRIPTS = ("Makefile.am", "autogen.sh", "quickstart", "tools/common.sh", "tools/cache.sh", "tools/debian-packages",
           "tools/demonstrate", "tools/mpich-fetch", "tools/mpich-tree", "tools/mpich-build", "tools/mpich-version")
TOKEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|^[ \t]*\#[ \t]*include[^\n]*'      # nothing
                   r'|(?P<string>"(?:\\.|[^"\\\n])*")'
                   r"|'(?:\\.[^'\n]*|[^'\\\n])'"
                   r'|(?P<word>[A-Za-z_]\w*)|(?P<sign>[()])|(?P<other>\S)', re.S | re.M)
CONVERSION = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|j|z|t)?[a-zA-Z]|\x00")
EDGE = " \t\n.,;:()'\"=/"


def unescaped(literal):
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), literal)


def c_texts(source):
    """(offset, text, whether it is none of an error) of each literal; literals next to each other are one."""
    calls, word, last = [], "", None
    for found in TOKEN.finditer(source):
        kind = found.lastgroup
        if kind is None:
            continue
        if last and not (kind == "string" or found[0] == "+" or found[0].startswith("PRI")):
            yield last
            last = None
        if kind == "string":
            before = last or (found.start(), "", any(name in SILENT for name in calls))
            last = (before[0], before[1] + unescaped(found[0][1:-1]), before[2])
        elif last and kind == "word":
            last = (last[0], last[1] + "u", last[2])
        elif found[0] == "(":
            calls.append(word)
        elif found[0] == ")" and calls:
            calls.pop()
        if kind == "word" and calls and calls[-1] == "fprintf":  # what it prints to
            calls[-1] = "fprintf:stderr" if found[0] == "stderr" else "fprintf:file"
        word = found[0] if kind == "word" else ""


def script_texts(source):
    for found in re.finditer(r'\b(die|echo) ((?:"(?:\\.|[^"\\])*"[ \t]*(?:\\\n\s*)?)+)', source):
        text = " ".join(re.findall(r'"((?:\\.|[^"\\])*)"', found[2]))
        if not text.startswith("usage:") and (found[1] == "die" or "error: " in text):
            yield found.start(), re.sub(r"\$(?:\{[^}]*\}|\w+|[*@#])", "\0", text), False


def python_texts(source):
    for call in ast.walk(ast.parse(source)):
        name = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
        if name not in ("ReportError", "Contradiction") and not (name == "print" and call.keywords):
            continue
        for argument in call.args:
            pieces = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
            text = "".join(piece.value if isinstance(piece, ast.Constant) else "\0" for piece in pieces)
            yield sum(map(len, source.splitlines(True)[:call.lineno - 1])), text, False


def configure_texts(source):
    for found in re.finditer(r"AC_MSG_ERROR\(((?:\[[^\]]*\](?:dnl\n)?\s*)+)\)", source):
        text = "".join(re.findall(r"\[([^\]]*)\]", found[1]))
        yield found.start(), re.sub(r"\$(?:\{[^}]*\}|\w+)", "\0", text), False


def stack_texts(source):
    for found in re.finditer(r"^\*\*[^:]*:(.*)$", source, re.M):
        yield found.start(1), found[1], False


def readers(names):
    for name in names:
        if name.startswith("src/") and tree.language(name) == "c" and name not in LEFT_OUT:
            yield name, c_texts
        elif name.startswith("src/") and tree.language(name) == "python":
            yield name, python_texts
        elif name in SCRIPTS:
            yield name, script_texts
        elif name.startswith("m4/") or name.endswith("subconfigure.m4"):
            yield name, configure_texts
        elif name.endswith("/errnames.txt"):
            yield name, stack_texts


def normal(text):
    return re.sub(r"\s+", " ", text).strip(EDGE)


def parts(pieces):
    """Those of two words and more."""
    answer = [normal(piece) for piece in pieces]
    return [piece for piece in answer if " " in piece and len(re.findall(r"[A-Za-z]{2,}", piece)) > 1]


def exceptions(path):
    answer = {}
    for number, line in enumerate(tree.text(path).split("\n"), 1):
        fields = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        if not fields[0] or fields[0].startswith("#"):
            continue
        if len(fields) < 2:
            print(f"{path}:{number}: an exception without a reason")
        answer[re.compile(fields[0], re.S)] = False
    return answer


def main():
    page, allowed_path = sys.argv[1:]
    spans = [(number, span) for number, line in enumerate(tree.text(page).split("\n"), 1) if line.startswith("| `")
             for span in re.findall(r"`([^`]+)`", line.split(" | ")[0])]
    allowed, literals, count = exceptions(allowed_path), [], 0
    for name, texts in readers(tree.files()):
        source = tree.text(name)
        for offset, text, silent in texts(source):
            literals.append(normal(text))
            wanted = [] if silent else parts(CONVERSION.split(text))
            matching = [one for one in allowed if wanted and one.fullmatch(f"{name}: {normal(text)}")]
            allowed.update(dict.fromkeys(matching, True))
            if not wanted or matching:
                continue
            count += 1
            expression = re.compile(".*".join(map(re.escape, wanted)))
            if not any(expression.search(span) for _, span in spans):
                print(f"{name}:{source.count(chr(10), 0, offset) + 1}: {page} lacks '{normal(text)}'")
    for number, span in spans:
        for part in parts(re.split(r"\b[A-Z][A-Z0-9_]*\b", span)):
            if not any(part in literal for literal in literals):
                print(f"{page}:{number}: the source has no text '{part}'")
    for one, used in allowed.items():
        if not used:
            print(f"{allowed_path}: nothing matches the exception {one.pattern}")
    if count < 50:
        print(f"only {count} texts were found in the source")


main()

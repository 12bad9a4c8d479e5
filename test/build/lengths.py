#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lengths of files, functions and lines, as CONTRIBUTING.md limits them. Prints what is too long; run from the
tree's top.

    lengths.py EXCEPTIONS    each line of the file EXCEPTIONS is "what  name  limit  reason"; what is file, function
                             or line, the name of a function is FILE:FUNCTION. One that is not needed is reported.

Functions of C, C++ and shell scripts are counted from the line their head begins in to their closing brace,
functions of Python as its own parser sees them. A file whose braces do not add up is reported, not skipped.
"""
import ast
import re
import sys

import tree

LIMITS = {"file": 320, "function": 40, "line": 120}
# Heads of blocks that have functions in them and are none.
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|concept|requires)\b|^extern\s*$")
# A function that returns a struct: "struct name *function".
RETURNS_STRUCT = re.compile(r"(static\s+|inline\s+|const\s+)*(struct|enum|union)\s+\w+[\s*]+\w+\s*$")
# Before the brace of a member's initial value in a constructor: "Name(...) : first_(1), second_".
MEMBER = re.compile(r"\)\s*(noexcept\s*)?:\s.*[\w>]\s*$", re.S)


def is_function(head):
    if "(" not in head or not re.match(r"\s*[A-Za-z_~\[]", head) or re.search(r"=\s*$", head):
        return False
    outside = head
    for _ in range(4):  # what is in brackets says nothing, to a depth of four
        outside = re.sub(r"\([^()]*\)", " ", re.sub(r"<[^<>]*>", " ", outside))
    outside = outside.strip()
    return not SCOPE.search(outside) or RETURNS_STRUCT.match(outside) is not None


def kind_of_block(head, stack, depth):
    if depth > 0 or stack and stack[-1][0] == "value":
        return "value"  # an argument's or a member's initial value, a lambda: the head goes on behind it
    if any(kind == "function" for kind, _, _, _ in stack) or not is_function(head):
        return "scope"
    return "value" if MEMBER.search(head) else "function"


def c_functions(source):
    """(name, lines) of each function; raises ValueError where the braces do not add up."""
    code = tree.c_code(source)
    stack, begin, depth = [], 0, 0  # depth: of parentheses, within the present block
    for found in re.finditer(r"[{}();]|\b(?:public|private|protected):", code):
        sign, place = found[0], found.start()
        if sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "{":
            head = code[begin:place]
            first = begin + len(head) - len(head.lstrip())
            stack.append((kind_of_block(head, stack, depth), head.strip(), first, depth))
            begin, depth = found.end(), 0
        elif sign == "}":
            if not stack:
                raise ValueError(f"line {code.count(chr(10), 0, place) + 1}: a closing brace too many")
            kind, head, first, depth = stack.pop()
            if kind == "function":
                yield c_name(source, head, first), code.count("\n", first, place) + 1
            begin = first if kind == "value" else found.end()
        elif depth == 0:
            begin = found.end()
    if stack or depth:
        raise ValueError("a brace or parenthesis is not closed")


def c_name(source, head, first):
    """NAME( of a head; of a test case its title, which is a string."""
    title = re.match(r'(?:TEST_CASE|SECTION|SCENARIO)\s*\(\s*"([^"]*)"', source[first:])
    if title:
        return title[1]
    found = re.search(r"(operator\s*\S+?|~?[A-Za-z_][\w:~]*)\s*\(", head)
    return found[1] if found else head.split()[0]


def shell_functions(source):
    lines = source.split("\n")
    for number, line in enumerate(lines):
        found = re.match(r"(\s*)([A-Za-z_]\w*)\s*\(\)\s*([{(])", line)
        if not found or re.search(r"[})]\s*(#.*)?$", line[found.end():]):
            continue
        closing = found[1] + {"{": "}", "(": ")"}[found[3]]
        for last in range(number + 1, len(lines)):
            if re.match(re.escape(closing) + r"(?!\S*[\w'\"(])", lines[last]):
                yield found[2], last - number + 1
                break
        else:
            raise ValueError(f"line {number + 1}: the function {found[2]} is not closed")


def python_functions(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


FUNCTIONS = {"c": c_functions, "sh": shell_functions, "python": python_functions, "awk": lambda source: ()}


def measure():
    """(what, name, length, place) of everything there is, and the number of files."""
    for name in tree.files():
        language = tree.language(name)
        if not language:
            continue
        source = tree.text(name)
        lines = source.rstrip("\n").split("\n")
        yield "file", name, len(lines), name
        widest = max(range(len(lines)), key=lambda number: len(lines[number].rstrip("\r")))
        yield "line", name, len(lines[widest]), f"{name}:{widest + 1}"
        try:
            for function, length in FUNCTIONS[language](source):
                yield "function", f"{name}:{function.replace(' ', '_')}", length, f"{name}: {function}"
        except (ValueError, SyntaxError) as error:
            print(f"{name} cannot be measured: {error}")


def read_exceptions(path):
    answer = {}
    for number, line in enumerate(tree.text(path).split("\n"), 1):
        words = line.split(None, 3)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 4 or words[0] not in LIMITS or not words[2].isdigit() or len(words[3]) < 10:
            print(f"{path}:{number}: not 'file|function|line  name  limit  reason'")
        else:
            answer[words[0], words[1]] = int(words[2])
    return answer


def main():
    exceptions = read_exceptions(sys.argv[1])
    unneeded = set(exceptions)
    counts = dict.fromkeys(LIMITS, 0)
    for what, name, length, place in measure():
        counts[what] += 1
        if length <= LIMITS[what]:
            continue
        unneeded.discard((what, name))
        limit = exceptions.get((what, name), LIMITS[what])
        if length > limit:
            print(f"{place}: a {what} of {length} {'columns' if what == 'line' else 'lines'}, allowed are {limit}")
    for what, name in sorted(unneeded):
        print(f"{sys.argv[1]}: no exception is needed for the {what} {name}")
    if counts["file"] < 100 or counts["function"] < 500:
        print(f"only {counts['file']} files and {counts['function']} functions were found")
    print(f"{counts['file']} files, {counts['function']} functions", file=sys.stderr)


main()

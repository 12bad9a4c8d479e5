# SPDX-License-Identifier: MIT
"""What the rules of this folder share: the files of the source tree, and their text. Run from the tree's top."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is

CODE = (".c", ".h", ".cc")


def files():
    """Names of all files of the tree, new ones too. An empty answer ends the program."""
    listed = subprocess.run(["tools/source-files", ".", "--with-new"], check=True, text=True, capture_output=True)
    names = listed.stdout.splitlines()
    if not names:
        sys.exit("tools/source-files names no file")
    return names


def text(name):
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


def interpreter(name):
    """"sh", "python", "awk" for a script with a first line #!, or ""."""
    with open(name, "rb") as file:
        first = file.readline(200).decode(errors="replace")
    found = re.match(r"#!.*\b(sh|bash|python3?|awk)\b", first)
    return {"bash": "sh", "python3": "python"}.get(found[1], found[1]) if found else ""


def language(name):
    """"c", "sh", "python", "awk", or "" for what is none of these."""
    for endings, answer in ((CODE, "c"), ((".sh",), "sh"), ((".py",), "python"), ((".awk",), "awk")):
        if name.endswith(endings):
            return answer
    return interpreter(name)


def blank(found):
    """The text of a match with everything but its line ends made blank."""
    return re.sub(r"[^\n]", " ", found[0])


C_NOT_CODE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/'                       # comments
    r'|R"([^(\s]*)\(.*?\)\1"'                            # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                              # strings
    r"|(?<![0-9a-fA-F])'(?:\\.[^'\n]*|[^'\\\n])'"        # characters, not the separators of 1'000
    r"|^[ \t]*\#(?:\\\n|[^\n])*",                        # lines of the preprocessor
    re.S | re.M)


def c_code(source):
    """C or C++ without comments, literals and preprocessor lines; places of what remains do not change."""
    return C_NOT_CODE.sub(blank, source)

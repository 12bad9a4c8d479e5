# SPDX-License-Identifier: MIT
"""Finds what can be changed in a C++ file, and writes the file with all changes built in.

A change that is built in is made at run time: `a == b` becomes `(mutants::on(7) != (a == b))`, a statement gets
`if (mutants::on(7)) ; else` in front. So one compilation serves all changes. The operands of an operator are found by
precedence and brackets in text that clang-format has laid out: binary operators have spaces around them, brackets of
templates have none.
"""
import dataclasses
import re

# What is sought in code, and what stands there instead.
OTHER = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "+=": "-=", "-=": "+=", "++": "--", "--": "++", "true": "false", "false": "true", "!": ""}
BINARY = re.compile(r"(?<=\s)(==|!=|<=|>=|<|>|&&|\|\||\+=|-=|\+|-)(?=\s)")
STEP = re.compile(r"\+\+|--")
WORD = re.compile(r"\b(?:true|false)\b")
NOT = re.compile(r"(?<=[(\s])!(?=[\w(])")
NUMBER = re.compile(r"(?<![\w.'\"])\d+(?=[^\w.'\"x])")
STATEMENT = re.compile(r"^[ \t]+(?!(?:return|break|continue|case|using|friend|static|const|auto|struct)\b)"
                       r"((?:if \(.*\) )?[\w:.\->\[\]*()]+(?: [-+|&]?= |\(|\+\+|--).*;)[ \t]*$", re.M)
NOT_CODE = re.compile(r"^\s*(#|static_assert|namespace|using|template|BUFENLARGE_CHECK|friend)"
                      r"|operator|constexpr std::array", re.M)

HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])'|^#[^\n]*(?:\\\n[^\n]*)*",
                    re.S | re.M)
LEVELS = [("=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "<<=", ">>=", "?", ":"), ("||",), ("&&",), ("|",), ("^",),
          ("&",), ("==", "!="), ("<=>",), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%")]
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
SPACED = re.compile(r"(?<=\s)(" + "|".join(re.escape(one) for one in sorted(LEVEL, key=len, reverse=True)) + r")(?=\s)")
KEYWORD_BEFORE = re.compile(r"\b(?:return|else|case|throw|co_return)$")
CONDITION_BEFORE = re.compile(r"\b(?:if|for|while|switch|if constexpr)\s*$")
PAIRS = {")": "(", "]": "[", "}": "{"}


def hide(text):
    """The text, as long as it was, with blanks in place of comments and preprocessor lines, and `~` in strings."""
    def blank(found):
        filler = "~" if found[0][0] in "\"'" else " "
        return re.sub(r"[^\n]", filler, found[0])
    return HIDDEN.sub(blank, text)


@dataclasses.dataclass
class Change:
    """One change: `text[at:end]` becomes `other`. Built in, it takes the place of `text[first:last]`."""
    name: str
    line: int
    at: int
    end: int
    other: str
    kind: str
    first: int = -1
    last: int = -1
    number: int = 0
    built_in: bool = True

    def contains(self, inner):
        return self.first <= inner.first and inner.last <= self.last

    def crosses(self, other):
        return self.first < other.first < self.last < other.last


class File:
    """A source file and its changes."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.code = hide(text)
        self.changes = []
        self.find()

    def find(self):
        refused = [self.lines_of(found) for found in NOT_CODE.finditer(self.code)]
        for kind, pattern in (("binary", BINARY), ("step", STEP), ("word", WORD), ("not", NOT), ("number", NUMBER),
                              ("statement", STATEMENT)):
            for found in pattern.finditer(self.code):
                at, end = found.span(1) if kind == "statement" else found.span()
                if any(first <= at < last for first, last in refused):
                    continue
                self.add(kind, at, end)
        self.changes.sort(key=lambda change: (change.first, -change.last, change.at))
        self.leave_out_crossing()

    def lines_of(self, found):
        return self.code.rfind("\n", 0, found.start(0)) + 1, self.code.find("\n", found.end(0))

    def add(self, kind, at, end):
        there = self.code[at:end]
        other = {"number": lambda: str(int(there) + 1), "statement": lambda: ";"}.get(kind, lambda: OTHER[there])()
        change = Change(self.name, self.code.count("\n", 0, at), at, end, other, kind)
        change.first, change.last = self.extent(kind, at, end)
        if kind == "statement" and not re.search(r"(?:^|[;{}:)]|\belse)$", self.code[:at].rstrip()):
            change.built_in = False
        self.changes.append(change)

    def extent(self, kind, at, end):
        """Where the expression begins and ends that the operator at this place makes."""
        if kind == "binary":
            level = LEVEL[self.code[at:end]]
            return self.operand_before(at, level), self.operand_after(end, level)
        if kind == "step":
            if re.match(r"[\w:(*]", self.code[end:end + 1]):
                return at, self.postfix_after(end)
            return self.postfix_before(at), end
        if kind == "not":
            return at, self.postfix_after(end)
        return at, end

    def operand_before(self, at, level):
        """Where the left operand of an operator of this level begins."""
        begin = place = at
        while place > 0:
            letter = self.code[place - 1]
            if letter == "}" and re.match(r"\s*\n", self.code[place:]):
                break
            if letter in PAIRS:
                opens = self.partner_of(place - 1)
                if letter == ")" and CONDITION_BEFORE.search(self.code[:opens]):
                    break
                begin = place = opens
                continue
            if letter in "([{;,":
                break
            spaced = re.search(r"\s([-+*/%=<>!&|^?:]+)\s$", self.code[max(0, place - 6):place])
            if spaced and LEVEL.get(spaced[1], 99) < level:
                break
            if letter == ":" and self.code[place - 2:place] != "::" and self.code[place:place + 1].isspace():
                break
            if KEYWORD_BEFORE.search(self.code[:place]) and self.code[place:place + 1].isspace():
                break
            place -= 1
            if not letter.isspace():
                begin = place
        return begin

    def operand_after(self, end, level):
        """Where the right operand of an operator of this level ends."""
        last = place = end
        while place < len(self.code):
            letter = self.code[place]
            if letter in "([{":
                last = place = self.partner_of(place) + 1
                continue
            if letter in ")]};,":
                break
            spaced = SPACED.match(self.code, place)
            if spaced and LEVEL[spaced[1]] <= level and level != 0:
                break
            place += 1
            if not letter.isspace():
                last = place
        return last

    def postfix_after(self, place):
        """Where the operand ends that a prefix operator stands in front of."""
        while place < len(self.code):
            if self.code[place] in "([":
                place = self.partner_of(place) + 1
                continue
            found = re.compile(r"[\w*]+|::|\.|->").match(self.code, place)
            if not found:
                break
            place = found.end()
        return place

    def postfix_before(self, place):
        while place > 0:
            if self.code[place - 1] in ")]":
                place = self.partner_of(place - 1)
                continue
            found = re.search(r"(?:\w+|::|\.|->)$", self.code[:place])
            if not found:
                break
            place = found.start()
        return place

    def partner_of(self, place):
        """Where the bracket is that belongs to the one at this place."""
        depth, at = 0, place
        before = self.code[place] in ")]}"
        for at in range(place, -1, -1) if before else range(place, len(self.code)):
            depth += (self.code[at] in "([{") - (self.code[at] in ")]}")
            if depth == 0:
                break
        return at

    def leave_out_crossing(self):
        open_changes = []
        for change in self.changes:
            if not change.built_in:
                continue
            while open_changes and open_changes[-1].last <= change.first:
                open_changes.pop()
            if any(outer.crosses(change) for outer in open_changes):
                change.built_in = False
            else:
                open_changes.append(change)

    def with_change(self, change):
        """The file with nothing but this change."""
        if change.other in ("&&", "||"):
            before, after = (self.plain(*place, True) for place in
                             ((change.first, change.at), (change.end, change.last)))
            return self.text[:change.first] + operation(before, change.other, after) + self.text[change.last:]
        return self.text[:change.at] + change.other + self.text[change.end:]

    def lines_of_change(self, change):
        """Where the compiler may complain of a change that is built in, from 0."""
        return {change.line, self.code.count("\n", 0, change.first)}

    def changed_line(self, change):
        changed = self.text[:change.at] + change.other + self.text[change.end:]
        return changed.split("\n")[change.line].strip()

    def with_all(self):
        """The file with all its changes built in, line by line where it was."""
        return self.written(0, len(self.text), [change for change in self.changes if change.built_in], False)

    def written(self, first, last, changes, flat):
        """This part with these changes, which lie in it. `flat`: on one line, without comments."""
        out, place = [], first
        while changes:
            outer, *others = changes
            inner = [change for change in others if outer.contains(change)]
            changes = [change for change in others if not outer.contains(change)]
            out.append(self.plain(place, outer.first, flat))
            out.append(self.one(outer, inner, flat))
            place = outer.last
        out.append(self.plain(place, last, flat))
        return "".join(out)

    def plain(self, first, last, flat):
        if not flat:
            return self.text[first:last]
        kept = [there if hidden == "~" else hidden
                for there, hidden in zip(self.text[first:last], self.code[first:last])]
        return "".join(kept).replace("\n", " ")

    def one(self, change, inner, flat):
        on = f"mutants::on({change.number})"
        whole = self.written(change.first, change.last, inner, flat)
        if change.kind == "number":
            return f"({on} ? {change.other} : {whole})"
        if change.kind == "statement":
            return f"if ({on}) ; else {whole}"
        if change.kind in ("word", "not") or self.code[change.at:change.end] in ("==", "!="):
            return f"({on} != ({whole}))"
        before = self.written(change.first, change.at, [one for one in inner if one.last <= change.at], True)
        after = self.written(change.end, change.last, [one for one in inner if one.first >= change.end], True)
        return f"({on} ? {operation(before, change.other, after)} : {whole})"


def operation(before, operator, after):
    """With brackets around operands of `&&` and `||`, which bind differently: the change is of one operator only."""
    return f"(({before}) {operator} ({after}))" if operator in ("&&", "||") else f"{before}{operator}{after}"

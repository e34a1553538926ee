"""Prototxts read without a schema: a message is a dict of lists, an enum or a number its word.

Enough for drawing nets. What is nested deeper than 100 messages, or does not parse, raises ValueError with the line.
"""

import re

TOKEN = re.compile(r"""\s*(?:\#[^\n]*\s*)*(?:
    (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*') |
    (?P<sign>[{}<>:;,\[\]]) |
    (?P<word>[^\s{}<>:;,\[\]"'\#]+) |
    (?P<end>\Z))""", re.VERBOSE)
DEEPEST = 100


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0
        self.kind = self.token = None
        self.next()

    def next(self):
        found = TOKEN.match(self.text, self.at)
        if not found:
            self.fail("a character that has no place here")
        self.kind, self.token, self.at = found.lastgroup, found.group(found.lastgroup), found.end()

    def fail(self, cause):
        raise ValueError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {cause}")

    def message(self, end, depth):
        if depth > DEEPEST:
            self.fail("messages are nested too deeply")
        fields = {}
        while not (self.token == end if end else self.kind == "end"):
            if self.kind != "word":
                self.fail(f"{self.token or 'the end'!r} where the name of a field was expected")
            name = self.token
            self.next()
            fields.setdefault(name, []).extend(self.values(depth))
            while self.token in (",", ";") and self.kind == "sign":
                self.next()
        if end:
            self.next()
        return fields

    def values(self, depth):
        if self.token == ":" and self.kind == "sign":
            self.next()
        if self.token == "[" and self.kind == "sign":
            self.next()
            values = []
            while not (self.token == "]" and self.kind == "sign"):
                values += self.values(depth + 1)
                if self.token == ",":
                    self.next()
            self.next()
            return values
        return [self.value(depth)]

    def value(self, depth):
        if self.kind == "sign" and self.token in "{<":
            end = "}" if self.token == "{" else ">"
            self.next()
            return self.message(end, depth + 1)
        if self.kind == "word":
            value = self.token
            self.next()
            return value
        if self.kind != "text":
            self.fail(f"{self.token or 'the end'!r} where a value was expected")
        value = ""
        while self.kind == "text":  # neighbours are one
            value += re.sub(r"\\(.)", r"\1", self.token[1:-1])
            self.next()
        return value


def parse(text):
    """The fields of a message: name -> list of values."""
    try:
        return _Reader(text).message(None, 0)
    except RecursionError:
        raise ValueError("messages are nested too deeply") from None


def first(message, name, default=None):
    """The last value of a single field."""
    return message[name][-1] if message.get(name) else default

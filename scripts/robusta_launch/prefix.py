"""Puts `[r] ` before every line of rank r, in what Open MPI's mpirun --tag-output prints.

Open MPI tags pieces, not lines (`[1,r]<stdout>:`), mixes pieces of several ranks within a line, and drops part of a
piece whose many short lines need more tags than fit its buffer. So ranks are started by rank_start.py --frame, whose
pieces have no newline (NEWLINE stands for it) and stand between BEGIN and END; here the lines of each rank are put
together again.
"""

import re

from .rank_start import BEGIN, END, NEWLINE

MARK = re.compile(rb"\[[0-9]+,([0-9]+)\]<(?:stdout|stderr|stddiag)>:|([" + BEGIN + END + NEWLINE + rb"\n])")
# The beginning of a tag at the end of what has been read.
UNFINISHED = re.compile(rb"\[(?:[0-9]+(?:,(?:[0-9]+(?:\](?:<[a-z]*>?)?)?)?)?)?\Z")


class Prefixer:
    """One stream: feed() and flush() return what to print. flush() lets out lines that are not yet complete."""

    def __init__(self):
        self.rest = b""  # of a tag, perhaps
        self.rank = None  # whose piece is being read; None: mpirun's own words
        self.tagged = None  # rank of the latest tag: one may hold for several pieces
        self.lines = {}  # unprinted beginning of a line, by rank
        self.open = ()  # (rank,) whose unfinished line stands at the end of the output

    def feed(self, data):
        data = self.rest + data
        held = UNFINISHED.search(data)
        cut = held.start() if held else len(data)
        self.rest = data[cut:]
        return self.take(data[:cut])

    def take(self, data):
        out, at = [], 0
        for mark in MARK.finditer(data):
            self.append(data[at:mark.start()])
            at = mark.end()
            if mark[1] is not None:
                self.rank = self.tagged = int(mark[1])
            elif mark[2] == BEGIN:
                self.rank = self.tagged
            elif mark[2] != END:
                out.append(self.show(self.rank, b"\n"))
            if mark[2] in (END, b"\n"):
                self.rank = None
        self.append(data[at:])
        return b"".join(out)

    def append(self, text):
        if text:
            self.lines[self.rank] = self.lines.get(self.rank, b"") + text

    def show(self, rank, end):
        """The line of `rank` so far, continuing what stands at the end of the output where that is the same line."""
        text = self.lines.pop(rank, b"") + end
        if self.open == (rank,):
            head = b""
        else:
            head = (b"\n" if self.open else b"") + (b"" if rank is None else b"[%d] " % rank)
        self.open = () if end else (rank,)
        return head + text

    def flush(self):
        out = [self.take(self.rest)]
        self.rest = b""
        # The line that stands open goes on first.
        for rank in sorted(self.lines, key=lambda r: (self.open != (r,), -1 if r is None else r)):
            out.append(self.show(rank, b""))
        return b"".join(out)

"""The slot= text of a rank file, and the cores it stands for.

`slot=S:A-B` are the cores A to B of socket S, `slot=A-B` cores counted over all sockets, `*` all cores of the socket;
commas separate cores, semicolons sockets: `0:0-3,5;1:*`. A leading p means the system's numbers instead of hwloc's.
"""

import dataclasses
import os
import re
import socket
import subprocess

from .words import counted

SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?|\*", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Span:
    """Cores first..last of a socket; of the whole host when `socket` is None; `last` is None for all."""

    socket: int | None
    first: int
    last: int | None


def parse_slot(text):
    """The spans of a slot text; ValueError says what is wrong with it."""
    spans = []
    for part in text.removeprefix("p").split(";"):
        where, colon, cores = part.rpartition(":")
        if colon and not re.fullmatch("[0-9]{1,9}", where):
            raise ValueError(f'"{where}" is no number of a socket')
        if cores == "*" and not colon:
            raise ValueError('"*" without a socket binds to core 0 alone')
        for item in cores.split(","):
            found = SPAN.fullmatch(item)
            if not found:
                raise ValueError(f'"{item}" is neither a core, nor first-last, nor *')
            first, last = int(found[1] or 0), found[2] or found[1]
            if last is not None and int(last) < first:
                raise ValueError(f'"{item}" counts down')
            spans.append(Span(int(where) if colon else None, first, None if last is None else int(last)))
    return spans


@dataclasses.dataclass(frozen=True)
class Shape:
    """How many cores each socket of a host has."""

    cores: tuple[int, ...]

    def __str__(self):
        if len(set(self.cores)) == 1:
            return f"{counted(len(self.cores), 'socket')} of {counted(self.cores[0], 'core')}"
        return f"sockets of {', '.join(map(str, self.cores))} cores"

    def missing(self, span):
        """What `span` asks for that a host of this shape lacks, in words; None when all is there."""
        if span.socket is None:
            return f"core {span.last}" if span.last >= sum(self.cores) else None
        if span.socket >= len(self.cores):
            return f"socket {span.socket}"
        if (span.last or 0) >= self.cores[span.socket]:
            return f"core {span.last} of socket {span.socket}"
        return None

    def on_host(self, span):
        """The same cores, counted over the host. Only for a span that is there."""
        if span.socket is None:
            return span
        start = sum(self.cores[:span.socket])
        last = self.cores[span.socket] - 1 if span.last is None else span.last
        return Span(None, start + span.first, start + last)


def share(a, b):
    """True when two spans have a core in common. Spans with and without a socket cannot be compared: false."""
    if a.socket != b.socket:
        return False
    return (a.last is None or b.first <= a.last) and (b.last is None or a.first <= b.last)


def shape_here():
    """The Shape of this machine by lscpu; None where lscpu cannot tell."""
    environment = dict(os.environ, LC_ALL="C")
    try:
        table = subprocess.run(["lscpu", "-p=SOCKET,CORE"], capture_output=True, text=True, check=True, env=environment)
    except (OSError, subprocess.CalledProcessError):
        return None
    pairs = {tuple(line.split(",")) for line in table.stdout.splitlines() if re.fullmatch(r"\d+,\d+", line)}
    sockets = sorted({int(s) for s, _ in pairs})
    return Shape(tuple(sum(int(s) == at for s, _ in pairs) for at in sockets)) if pairs else None


def is_here(host):
    """True when `host` is the name of this machine, with or without its domain."""
    return host == "localhost" or host.split(".")[0] == socket.gethostname().split(".")[0]

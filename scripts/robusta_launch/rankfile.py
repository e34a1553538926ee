"""Open MPI rank files in the form of IBM's rank_gen: writing, and reading with line numbers.

`slot=S:A-B` binds a rank to the physical cores A to B of socket S. Cores are numbered within their socket.
"""

import collections
import dataclasses
import datetime
import re

from robusta_files.inputs import open_input

from .errors import Code, LaunchError
from .topology import AXES, host_coords, host_count, rank_of, show
from .words import is_number

# What IBM's generator assumed: a Minsky, S822LC, of 2 sockets with 10 cores each.
DEFAULT_SOCKETS, DEFAULT_CORES = 2, 10
# Width of "rank N=host" before "slot=".
HEAD_WIDTH = 26
# Open MPI refuses an underscore. "+n3" is the fourth host of a scheduler's job.
HOST_NAME = re.compile(r"(\+n[0-9]+|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)")
# What looks like a blank and is none, bytes of other encodings among them (as Python's surrogateescape shows them).
ODD_BLANK = re.compile(r"[^\S \t\n\r]|[\u200b\u2060\ufeff\udca0]")


def check_hosts(hosts):
    """Throws when a name cannot stand in a rank file, or stands twice."""
    for number, host in enumerate(hosts, 1):
        odd = next((c for c in host if not c.isascii()), None)
        if odd:
            raise LaunchError(f'host {number}, "{host}", has the character U+{ord(odd):04X}, which is not ASCII',
                              "type the name anew: text copied from a web page often carries such characters")
        if not HOST_NAME.fullmatch(host):
            raise LaunchError(f'host {number}, "{host}", is no host name',
                              "separate host names by single commas, without spaces")
    for host, times in collections.Counter(hosts).items():
        if times > 1:
            raise LaunchError(f"host {host} is named {times} times",
                              "name each host once: the first dimension says how many ranks it gets")


def check_entries(parsed):
    """Throws when a host that mpirun would call by ssh has no host's name; all other faults are lint.py's."""
    for entry in parsed.entries:
        if not HOST_NAME.fullmatch(entry.host):
            raise LaunchError(f'{parsed.path}:{entry.line}: "{entry.host}" is no host name',
                              "write names as `hostname` prints them", Code.CONFIG)


def slots(ranks, sockets, cores):
    """The slot= text of each of a host's `ranks` ranks, for a host of `sockets` x `cores` cores.

    Every rank gets the same number of cores, since all wait for the slowest. Ranks do not share a core, and cross a
    socket only where there are fewer ranks than sockets.
    """
    if sockets < 1 or cores < 1:
        raise LaunchError(f"{sockets} sockets of {cores} cores are no host", "give both as 1 or more")
    if ranks > sockets * cores:
        raise LaunchError(f"{ranks} ranks on a host do not fit its {sockets * cores} cores ({sockets} x {cores})",
                          f"start at most {sockets * cores} ranks on a host, or correct --sockets and --cores")
    if ranks < sockets:
        each = sockets // ranks
        return [";".join(f"{s}:0-{cores - 1}" for s in range(r * each, (r + 1) * each)) for r in range(ranks)]
    per_socket = -(-ranks // sockets)
    each = cores // per_socket
    return [f"{r // per_socket}:{r % per_socket * each}-{r % per_socket * each + each - 1}" for r in range(ranks)]


def write_rankfile(dims, hosts, sockets=DEFAULT_SOCKETS, cores=DEFAULT_CORES, date=None):
    """The text of the rank file for `dims` (see topology.py) over `hosts`; `date` is a datetime, now by default."""
    hosts = list(hosts)
    check_hosts(hosts)
    if len(hosts) != host_count(dims):
        product = "*".join(AXES[1:len(dims)]) or "1"
        raise LaunchError(f"{show(dims)} needs {host_count(dims)} hosts ({product}), {len(hosts)} are given",
                          f"name {host_count(dims)} hosts, or change the dimensions after the first")
    slot = slots(dims[0], sockets, cores)
    date = date or datetime.datetime.now()
    lines = [f"#{date:%Y-%m-%d %H:%M:%S} by rank_gen", f"#dims = {show(dims)}", f"#host = {','.join(hosts)}"]
    lines += [f"#dim{axis} = {size}" for axis, size in zip(AXES, dims)]
    lines += [f"#sockets = {sockets}", f"#cores = {cores}", ""]
    for number, (host, where) in enumerate(zip(hosts, host_coords(dims)), 1):
        for x in range(dims[0]):
            lines.append(f"{f'rank {rank_of(dims, (x, *where))}={host}':<{HEAD_WIDTH}} slot={slot[x]}")
        lines.append("")
        # One more blank line closes each group of near hosts.
        if len(dims) > 1 and number % dims[1] == 0:
            lines.append("")
    return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line `rank N=host slot=...`; `slot` is None where it is missing."""

    line: int
    rank: int
    host: str
    slot: str | None


@dataclasses.dataclass
class RankFile:
    """A rank file as read.

    `header` maps "dims", "host", "dimX", ... to (line, text); `bad` holds (line, column, text) of what is neither an
    entry, a comment nor blank, `huge` (line, text) of numbers of ranks that no job has.
    """

    path: str
    lines: list[str]
    header: dict[str, tuple[int, str]] = dataclasses.field(default_factory=dict)
    entries: list[Entry] = dataclasses.field(default_factory=list)
    bad: list[tuple[int, int, str]] = dataclasses.field(default_factory=list)
    huge: list[tuple[int, str]] = dataclasses.field(default_factory=list)

    @property
    def world(self):
        """How many ranks there have to be: the highest one and those below it."""
        return max((e.rank for e in self.entries), default=-1) + 1


HEADER = re.compile(r"#\s*(dims|host|dim[XYZW]|sockets|cores)\s*=\s*(.*?)\s*")
ENTRY = re.compile(r"\s*rank\s+([0-9]+)\s*=\s*(\S+)(?:\s+slots?\s*=\s*(\S+))?\s*", re.ASCII)


def parse_lines(path, lines):
    """RankFile of these lines. Odd blanks count as blanks, so that everything else can still be looked at."""
    result = RankFile(str(path), lines)
    for number, line in enumerate(lines, 1):
        header = HEADER.fullmatch(line)
        if header:
            result.header.setdefault(header[1], (number, header[2]))
            continue
        body = ODD_BLANK.sub(" ", line.split("#", 1)[0])
        entry = ENTRY.fullmatch(body)
        if entry and is_number(entry[1]):
            result.entries.append(Entry(number, int(entry[1]), entry[2], entry[3]))
        elif entry:
            result.huge.append((number, entry[1]))
        elif body.strip():
            result.bad.append((number, len(body) - len(body.lstrip()) + 1, body.strip()))
    return result


def parse_rankfile(path):
    """Reads a rank file. Throws only when it cannot be read; its faults are left to lint.py."""
    try:
        with open_input(path) as file:
            data = file.read()
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}", "scripts/rank_gen.py writes a rank file", Code.CONFIG) from None
    return parse_lines(path, data.decode("utf-8", "surrogateescape").split("\n"))

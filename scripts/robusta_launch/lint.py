"""Faults of a rank file, with the obscure message of Open MPI that each would end in.

check() gives Findings in the order of the file. Nothing is changed and no host is reached; fixed() repairs what needs no
judgement. The messages are those of Open MPI 4.1.
"""

import collections
import concurrent.futures
import dataclasses
import math
import re
import unicodedata

from .errors import LaunchError
from .rankfile import HOST_NAME, ODD_BLANK, parse_lines
from .slots import parse_slot, share
from .topology import AXES, coords_of, host_coords, host_count, parse_dims, show
from .words import MOST, counted, number

SYNTAX = "Error, invalid syntax in the rankfile ({file})"
NO_CORE = "ORTE_ERROR_LOG: Not found in file rmaps_rank_file.c at line 333 (320 in older versions)"
NO_RANK = "A rank is missing its location specification:  Rank: {rank}  Rank file: {file}"
NOTHING = "nothing; "
LOOKUPS_AT_ONCE = 64


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault. `dark` is what mpirun says about it, `{file}` standing for the file; `kind` groups equal faults."""

    kind: str
    line: int
    cause: str
    fix: str
    dark: str
    column: int | None = None

    def text(self, path):
        """file:line[:column]: cause; fix, and mpirun's words below."""
        where = f"{path}:{self.line}" + (f":{self.column}" if self.column else "")
        return f"{where}: {self.cause}; {self.fix}\n    mpirun says: {self.dark.replace('{file}', str(path))}"


def check(file, n=None, hosts=None, shapes=None, names=None):
    """All findings about a RankFile.

    `n` is mpirun's -n, `hosts` the hosts that may be used, `shapes` maps a host to its Shape where that is known (key
    None: every host), `names` a names.Names to look the hosts up. What is None is not checked.
    """
    findings = [*characters(file), *syntax(file), *numbering(file, n), *host_names(file, hosts, names)]
    findings += [*cores(file, shapes or {}), *header(file), *order(file)]
    return sorted(findings, key=lambda f: f.line)


def describe(character):
    """U+00A0 NO-BREAK SPACE, or the byte when it belongs to another encoding than UTF-8."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"the byte 0x{code - 0xDC00:02X} of another encoding than UTF-8"
    return f"U+{code:04X} {unicodedata.name(character, 'without a name')}"


def characters(file):
    """Characters outside of ASCII and carriage returns; comments may hold any but a byte order mark."""
    returns = [number for number, line in enumerate(file.lines, 1) if line.endswith("\r")]
    if returns:
        yield Finding("return", returns[0], f"{counted(len(returns), 'line')} with a carriage return at the end, as "
                      "Windows writes them", "remove them (--fix does)", SYNTAX)
    for number, line in enumerate(file.lines, 1):
        body = line if line.startswith("\ufeff") else line.split("#", 1)[0]
        odd = [(column, c) for column, c in enumerate(body, 1) if not c.isascii()]
        if not odd:
            continue
        column, first = odd[0]
        many = f" (and {len(odd) - 1} more in this line)" if len(odd) > 1 else ""
        fix = "type it anew in ASCII"
        if ODD_BLANK.match(first) or replacement(first) is not None:
            fix = "put a plain character there (--fix does)"
        yield Finding("character", number, f"{describe(first)}{many} is not ASCII", fix, SYNTAX, column)


def syntax(file):
    """Lines that are no entries, entries without or with a strange slot=."""
    for line, column, text in file.bad:
        yield Finding("syntax", line, f'"{text}" is not of the form rank N=host slot=cores', "correct or remove it",
                      f"{SYNTAX}, or it takes the words for names of hosts", column)
    for entry in file.entries:
        if entry.slot is None:
            yield Finding("slot", entry.line, f"rank {entry.rank} has no slot=", "add the cores, as in slot=0:0-4",
                          "Sorry!  You were supposed to get help about: no-slot-list")
            continue
        try:
            parse_slot(entry.slot)
        except ValueError as error:
            yield Finding("slot", entry.line, f"slot={entry.slot}: {error}", "write socket:first-last, as in slot=0:0-4",
                          NOTHING + "the rank runs on other cores, or unbound")


def numbering(file, n):
    """Ranks twice, ranks left out, numbers of ranks beyond all jobs, and another number of ranks than -n."""
    for line, text in file.huge:
        yield Finding("huge", line, f"rank {text[:20]} is beyond rank {MOST}", "number the ranks from 0 "
                      "without gaps", NO_RANK.replace("{rank}", "0"))
    first = {}
    for entry in file.entries:
        if entry.rank in first:
            yield Finding("double", entry.line, f"rank {entry.rank} stands already in line {first[entry.rank].line}",
                          "give each rank one line", f"Error, rank {entry.rank} is already assigned to "
                          f"{first[entry.rank].host} slot={first[entry.rank].slot}, check {{file}}")
        first.setdefault(entry.rank, entry)
    last = max((e.line for e in file.entries), default=1)
    absent = [rank for rank in range(file.world) if rank not in first]
    if absent:
        yield Finding("absent", last, f"{ranks(absent)} {'is' if len(absent) == 1 else 'are'} missing below rank "
                      f"{file.world - 1}", "number the ranks from 0 without gaps", NO_RANK.replace("{rank}", str(absent[0])))
    if not file.entries:
        yield Finding("absent", 1, "no line places a rank", "write one with scripts/rank_gen.py",
                      NO_RANK.replace("{rank}", "0"))
    elif n is not None and n > file.world:
        yield Finding("count", last, f"the file places {counted(file.world, 'rank')}, -n {n} starts more",
                      f"give -n {file.world}, or write a file for {counted(n, 'rank')}",
                      NO_RANK.replace("{rank}", str(file.world)))
    elif n is not None and n < file.world:
        yield Finding("count", last, f"the file places {counted(file.world, 'rank')}, -n {n} starts fewer",
                      f"give -n {file.world}, or write a file for {counted(n, 'rank')}",
                      NOTHING + f"ranks {n} to {file.world - 1} are left out")


def look_up(names, hosts):
    """Host -> complaint or None. Many at once: a name server that does not answer takes seconds for each."""
    with concurrent.futures.ThreadPoolExecutor(max(1, min(LOOKUPS_AT_ONCE, len(hosts)))) as pool:
        return dict(zip(hosts, pool.map(names.complaint, hosts)))


def host_names(file, hosts, names):
    """Names that Open MPI refuses, that are not in `hosts`, or that the system does not know as a host's own name."""
    seen = {}
    for entry in file.entries:
        seen.setdefault(entry.host.rpartition("@")[2], entry)
    complaints = look_up(names, [host for host in seen if HOST_NAME.fullmatch(host)]) if names else {}
    for host, entry in seen.items():
        if not host.isascii():
            continue  # told by characters()
        if not HOST_NAME.fullmatch(host):
            yield Finding("host", entry.line, f'"{host}" is no host name', "use letters, digits, dots and hyphens",
                          "the regex parser has detected the presence of an illegal character in the following node name")
        elif hosts is not None and host not in hosts:
            yield Finding("host", entry.line, f'host "{host}" is not among the hosts of the job ({listed(hosts)})',
                          "use the names as the scheduler or the host file has them",
                          "All nodes which are allocated for this job are already filled.")
        elif complaints.get(host):
            yield Finding("host", entry.line, *complaints[host])


def spans_of(entry):
    """The spans of an entry; none when its slot is missing or strange, which syntax() tells."""
    try:
        return parse_slot(entry.slot or "")
    except ValueError:
        return []


def cores(file, shapes):
    """Cores that the host does not have, and cores given to two ranks."""
    taken = collections.defaultdict(list)
    for entry in file.entries:
        shape = shapes.get(entry.host, shapes.get(None))
        for span in spans_of(entry):
            missing = shape and shape.missing(span)
            if missing:
                yield Finding("core", entry.line, f"slot={entry.slot}: there is no {missing}, {entry.host} has {shape}",
                              "write the file for the cores there are (scripts/rank_gen.py --sockets S --cores C)",
                              NOTHING + "it only ends with exit code 1" if span.socket is None else NO_CORE)
                continue
            mine = shape.on_host(span) if shape else span
            other = next((e for e, s in taken[entry.host] if share(mine, s) and e.rank != entry.rank), None)
            if other:
                yield Finding("overlap", entry.line, f"rank {entry.rank} is given cores of rank {other.rank} (slot="
                              f"{entry.slot} here, slot={other.slot} in line {other.line})",
                              "give each rank cores of its own", NOTHING + "both ranks run, at half the speed")
            taken[entry.host].append((entry, mine))


def listed(items, limit=8):
    items = list(items)
    return ", ".join(map(str, items[:limit])) + (", ..." if len(items) > limit else "")


def ranks(numbers):
    return f"rank{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def grid_of(file):
    """The grid that the header states; None without, or with a malformed one."""
    try:
        return parse_dims(file.header["dims"][1]) if "dims" in file.header else None
    except LaunchError:
        return None


def header(file):
    """The comments of rank_gen against the lines below them."""
    ignored = NOTHING + "it does not read the comments"
    used = list(dict.fromkeys(e.host for e in file.entries))

    def wrong(key, cause, fix="write header and lines anew with scripts/rank_gen.py"):
        return Finding("header", file.header[key][0], cause, fix, ignored)

    dims = grid_of(file)
    if "dims" in file.header and not dims:
        yield wrong("dims", f'"{file.header["dims"][1]}" are no dimensions')
    if dims:
        if math.prod(dims) != len(file.entries):
            yield wrong("dims", f"#dims = {show(dims)} make {counted(math.prod(dims), 'rank')}, the lines place "
                        f"{len(file.entries)}")
        if host_count(dims) != len(used):
            yield wrong("dims", f"#dims = {show(dims)} take {counted(host_count(dims), 'host')}, the lines name "
                        f"{len(used)}")
        for axis, size in zip(AXES, dims):
            line, text = file.header.get(f"dim{axis}", (0, str(size)))
            if text != str(size):
                yield wrong(f"dim{axis}", f"#dim{axis} = {text} is not the {size} of #dims = {show(dims)} (line "
                            f"{file.header['dims'][0]})", "correct it")
    if "host" in file.header:
        told = [h.strip() for h in file.header["host"][1].split(",")]
        extra, lacking = [h for h in used if h not in told], [h for h in told if h not in used]
        if extra:
            yield wrong("host", f"#host does not name {listed(extra)}, where the lines place ranks")
        if lacking:
            yield wrong("host", f"#host names {listed(lacking)}, where no line places a rank")
    for key, part in (("sockets", "socket"), ("cores", "core")):
        if key in file.header:
            yield from _beyond(file, key, part, wrong)


def _beyond(file, key, part, wrong):
    """The first entry that uses more sockets or cores than the header states."""
    text = file.header[key][1]
    try:
        limit = number(text)
    except ValueError as error:
        yield wrong(key, f"#{key} = {text[:60]}: {error}", "correct it")
        return
    for entry in file.entries:
        used = [s.socket if part == "socket" else s.last for s in spans_of(entry) if s.socket is not None]
        if max((u for u in used if u is not None), default=0) >= limit:
            yield wrong(key, f"#{key} = {text}, but slot={entry.slot} in line {entry.line} uses {part} "
                        f"{max(u for u in used if u is not None)}", "correct the one that is wrong for the hosts")
            return


def order(file):
    """Ranks against rank = x*Y*Z + y*Z + z. Without a header only what holds for every Y and Z is looked at."""
    by_host = collections.defaultdict(list)
    for entry in file.entries:
        by_host[entry.host].append(entry)
    per_host = {len(entries) for entries in by_host.values()}
    if len(per_host) != 1 or sorted(e.rank for e in file.entries) != list(range(len(file.entries))):
        return  # told above, or not a grid
    used, dims = list(by_host), grid_of(file)
    told = [h.strip() for h in file.header["host"][1].split(",")] if "host" in file.header else used
    expected = None
    if dims and math.prod(dims) == len(file.entries) and sorted(told) == sorted(used):
        place = {where: host for host, where in zip(told, host_coords(dims))}
        expected = {rank: place[coords_of(dims, rank)[1:]] for rank in range(len(file.entries))}
    for host, entries in by_host.items():
        mine = sorted(e.rank for e in entries)
        if expected:
            right = [rank for rank, at in expected.items() if at == host]
        else:
            right = list(range(mine[0] % len(used), len(file.entries), len(used)))
        if mine != right:
            grid = show(dims) if expected else f"{len(mine)}x{len(used)}"
            yield Finding("order", min(e.line for e in entries), f"{host} has {ranks(mine)}; by rank = x*Y*Z + y*Z + z "
                          f"of {grid} it has {ranks(right)}", f"scripts/rank_gen.py {grid} {','.join(told)} writes the "
                          "right file", NOTHING + "the first dimension of -ddl crosses hosts, which is slow")
            return


def replacement(character):
    """What a character that only looks like ASCII was meant to be: a blank, a hyphen, nothing; else None."""
    if character in "\u200b\u2060\ufeff\r":
        return ""
    if ODD_BLANK.match(character):
        return " "
    if unicodedata.category(character) == "Pd" or character == "\u2212":
        return "-"
    return None


def fixed(file):
    """A RankFile with odd blanks, dashes and carriage returns put right, and nothing else changed."""
    lines = ["".join(c if (r := replacement(c)) is None else r for c in line) for line in file.lines]
    return parse_lines(file.path, lines)

"""Command lines of Intel MPI: what each option means for us, and the parser that reads them.

parse() makes a Job of a command line; impi.py turns the Job into a command line of the MPI that is installed.
"""

import difflib
import os
import re
import shlex

from robusta_files.inputs import read_text

from .errors import Code, LaunchError
from .rankfile import check_entries, parse_rankfile
from .words import check_interface, check_variable
from .words import number as whole_number


class Segment:
    """One program of the job: `-n 4 -host h -env K V program args`."""

    def __init__(self):
        self.ranks, self.hosts, self.folder, self.path = None, None, None, None
        self.env, self.names, self.command = {}, [], []

    def same_program(self, other):
        return ((self.folder, self.path, self.env, self.names, self.command) ==
                (other.folder, other.path, other.env, other.names, other.command))


class Job:
    """`bind`: "share" (a rank's share of its host's cores), "none", or "own" where options for the launcher decide."""

    def __init__(self):
        self.prefixed, self.per_host, self.bind, self.all_variables = False, None, "share", False
        self.host_file, self.hosts, self.fabric = None, None, None
        self.env, self.names = {}, []  # for all programs: variables set, and names forwarded
        self.native, self.ignored = [], []  # words for Open MPI; notes on what has no meaning
        self.segments = []


def number(option, text):
    if not re.fullmatch("[1-9][0-9]*", text):
        raise LaunchError(f'{option} wants a number of ranks, not "{text}"', "write a whole number from 1 on")
    try:
        return whole_number(text)
    except ValueError as error:
        raise LaunchError(f"{option}: {error}", "start fewer ranks") from None


def split_pair(option, words):
    """(name, value) of `NAME VALUE` or `NAME=VALUE`; says how many words were used."""
    if "=" in words[0]:
        name, _, value = words[0].partition("=")
        return name, value, 1
    if len(words) < 2:
        raise LaunchError(f"{option} {words[0]} has no value", f"write {option} {words[0]} VALUE")
    return words[0], words[1], 2


FABRICS = {"psm2": "psm2", "psm": "psm", "ofi": "ofi", "tmi": "tmi", "dapl": "dapl", "ib": "ofa", "ofa": "ofa",
           "mx": "mx", "gm": "gm", "rdma": "dapl", "sock": "tcp", "tcp": "tcp"}
# Options of Intel's and MPICH's launchers that change nothing here, with the number of words that follow them.
IGNORED = {"rr": 0, "ilp64": 0, "nolocal-check": 0, "cleanup": 0, "ordered-output": 0, "rmk": 1, "branch-count": 1,
           "pmi-port": 0, "pmi-connect": 1, "pmi-aggregate": 0, "pmi-noaggregate": 0, "demux": 1, "trace": 0, "t": 0,
           "trace-imbalance": 0, "tune": 0, "check-mpi": 0, "check_mpi": 0, "binding": 1, "order-nodes": 1,
           "gtool": 1, "gtoolfile": 1, "hostos": 1, "use-app-topology": 1, "disable-x": 0, "enable-x": 0,
           "auto-cleanup": 0, "disable-auto-cleanup": 0, "localonly": 0, "ppnfile": 1, "genvnone": 0, "envnone": 0,
           "envall": 0, "verbose-hydra": 0, "disable-hostname-propagation": 0, "tmpdir": 1, "silent-abort": 0}
# Open MPI's own options, so that a command line for it passes too: words that follow, and whether they place or bind.
NATIVE = {"x": 1, "mca": 2, "gmca": 2, "rf": 1, "rankfile": 1, "map-by": 1, "bind-to": 1, "rank-by": 1,
          "report-bindings": 0, "display-map": 0, "display-allocation": 0, "display-devel-map": 0, "tag-output": 0,
          "timestamp-output": 0, "output-filename": 1, "oversubscribe": 0, "nooversubscribe": 0, "nolocal": 0,
          "allow-run-as-root": 0, "timeout": 1, "cpu-set": 1, "cpus-per-proc": 1, "npernode": 1, "npersocket": 1,
          "report-state-on-timeout": 0, "get-stack-traces": 0, "do-not-launch": 0, "quiet": 0, "q": 0, "am": 1,
          "merge-stderr-to-stdout": 0, "stdin": 1, "tune-file": 1, "pernode": 0, "bynode": 0, "byslot": 0,
          "prefix": 1, "preload-binary": 0, "enable-recovery": 0, "max-restarts": 1, "display-topo": 0,
          "bind-to-core": 0, "bind-to-none": 0, "bind-to-socket": 0, "use-hwthread-cpus": 0}
PLACING = {"rf", "rankfile", "map-by", "bind-to", "cpu-set", "cpus-per-proc", "npernode", "npersocket", "pernode",
           "bynode", "byslot", "bind-to-core", "bind-to-none", "bind-to-socket"}
OURS = {"n": 1, "np": 1, "ppn": 1, "perhost": 1, "grr": 1, "f": 1, "hostfile": 1, "machinefile": 1, "machine": 1,
        "host": 1, "hosts": 1, "H": 1, "genv": 0, "env": 0, "genvall": 0, "genvlist": 1, "envlist": 1, "genvexcl": 1,
        "prepend-rank": 0, "l": 0, "configfile": 1, "wdir": 1, "wd": 1, "path": 1, "s": 1, "v": 0, "verbose": 0,
        "iface": 1, "bootstrap": 1, "launcher": 1, "bootstrap-exec": 1, "launcher-exec": 1, "print-rank-map": 0,
        "outfile-pattern": 1, "errfile-pattern": 1}


def nearest(name):
    found = difflib.get_close_matches(name, list(OURS) + list(NATIVE) + list(IGNORED) + list(FABRICS), 1, 0.6)
    return f"did you mean -{found[0]}? " if found else ""


class Parser:
    def __init__(self, job):
        self.job, self.segment = job, Segment()

    def parse(self, words):
        """Reads one command line; segments are divided by a word ":"."""
        while words:
            if words[0].startswith("-"):
                words = self.option(words)
                continue
            end = words.index(":") if ":" in words else len(words)
            self.segment.command = words[:end]
            self.job.segments.append(self.segment)
            self.segment = Segment()
            words = words[end + 1:]
        pending = self.segment
        if pending.ranks or pending.hosts:
            raise LaunchError("no program is named behind the options", "mpirun -n 4 caffe train ...")

    def option(self, words):
        """Takes one option from the front; returns what is left."""
        name = re.sub("^--?", "", words[0])
        if "=" in name and name.partition("=")[0] in OURS:
            name, _, value = name.partition("=")
            words = [f"-{name}", value] + words[1:]
        rest = words[1:]
        lower = name.lower()
        if lower in FABRICS:
            self.job.fabric = FABRICS[lower]
            return rest
        for table, take in ((OURS, self.ours), (NATIVE, self.native), (IGNORED, self.ignored)):
            if name in table:
                arity = table[name]
                if len(rest) < arity:
                    raise LaunchError(f"{words[0]} wants {arity} word{'s' if arity > 1 else ''} behind it", "")
                return rest[take(name, words[0], rest):]
        raise LaunchError(f"option {words[0]} is not known here",
                          f"{nearest(name)}options of Intel MPI, and of Open MPI's mpirun, are understood "
                          "(docs/multinode.md)")

    def native(self, name, word, rest):
        arity = NATIVE[name]
        dashes = "-" if name == "x" else "--"
        if name == "x":
            check_variable(word, rest[0])
        if name in ("rf", "rankfile") and os.path.exists(rest[0]):
            check_entries(parse_rankfile(rest[0]))
        self.job.native += [dashes + name] + rest[:arity]
        if name in PLACING:
            self.job.bind = "own"
        return arity

    def ignored(self, name, word, rest):
        self.job.ignored.append(" ".join([word] + rest[:IGNORED[name]]))
        return IGNORED[name]

    def ours(self, name, word, rest):
        job, segment = self.job, self.segment
        if name in ("genv", "env"):
            if not rest:
                raise LaunchError(f"{word} names no variable", f"write {word} NAME VALUE")
            key, value, used = split_pair(word, rest)
            check_variable(word, key)
            (job.env if name == "genv" else segment.env)[key] = value
            return used
        if name in ("n", "np"):
            segment.ranks = number(word, rest[0])
        elif name in ("ppn", "perhost", "grr"):
            job.per_host = number(word, rest[0])
        elif name in ("f", "hostfile", "machinefile", "machine"):
            job.host_file = rest[0]
        elif name == "hosts":
            job.hosts = rest[0]
        elif name in ("host", "H"):
            segment.hosts = rest[0]
        elif name == "genvall":
            job.all_variables = True
        elif name == "genvlist":
            job.names += rest[0].split(",")
        elif name == "envlist":
            segment.names += rest[0].split(",")
        elif name in ("prepend-rank", "l"):
            job.prefixed = True
        elif name == "configfile":
            self.read_configuration(rest[0])
        elif name in ("wdir", "wd"):
            segment.folder = rest[0]
        elif name == "path":
            segment.path = rest[0]
        else:
            job.native += self.translated(name, word, rest)
            if name == "genvexcl":
                job.ignored.append(f"{word} {rest[0]}")
        return OURS[name]

    def translated(self, name, word, rest):
        """Open MPI's words for options that it has under other names."""
        if name == "s":
            return ["--stdin", rest[0]]
        if name in ("v", "verbose", "print-rank-map"):
            return ["--display-map"]
        if name == "iface":
            interface = check_interface(word, rest[0])
            return ["--mca", "btl_tcp_if_include", interface, "--mca", "oob_tcp_if_include", interface]
        if name in ("bootstrap-exec", "launcher-exec"):
            return ["--mca", "plm_rsh_agent", rest[0]]
        if name in ("bootstrap", "launcher"):
            if rest[0] in ("ssh", "rsh"):
                return ["--mca", "plm_rsh_agent", rest[0]]
            self.job.ignored.append(f"{word} {rest[0]}")
        if name in ("outfile-pattern", "errfile-pattern"):
            raise LaunchError(f"{word} has no counterpart in Open MPI",
                              "use -prepend-rank and redirect the output, or Open MPI's --output-filename FOLDER")
        return []

    def read_configuration(self, path):
        """-configfile: a line per segment, as on a command line; # begins a comment."""
        try:
            text = read_text(path)
        except OSError as error:
            raise LaunchError(f"-configfile {path}: {error.strerror}", "", Code.CONFIG) from None
        for count, line in enumerate(text.replace("\\\n", " ").split("\n"), 1):
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise LaunchError(f"{path}:{count}: {error}", "", Code.CONFIG) from None
            if words:
                self.parse(words)


def parse(words):
    job = Job()
    Parser(job).parse(list(words))
    if not job.segments:
        raise LaunchError("no program is named", "mpirun -n 4 caffe train ...")
    return job

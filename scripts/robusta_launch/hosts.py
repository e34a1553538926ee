"""Lists of hosts, in every form that launchers and batch systems write them.

A list is made of Host(name, slots) in the order of first appearance; slots is the number of ranks the host is meant
for, or None where the list does not say.
"""

import collections
import os
import re

from robusta_files.inputs import read_text

from .errors import Code, LaunchError
from .words import MOST, number

# Digits of a number in a host's name.
LONGEST_NUMBER = 18

Host = collections.namedtuple("Host", "name slots")


class HostList:
    """Hosts and where they were found: `source` is a phrase for messages, `path` the file, if it was one."""

    def __init__(self, source, hosts, path=None):
        self.source, self.hosts, self.path = source, hosts, path

    @property
    def names(self):
        return [host.name for host in self.hosts]

    def slots(self, default=1):
        return [host.slots or default for host in self.hosts]


def merge(names):
    """[Host] of a list with one entry for each rank: repeats are counted, a name that stands once says nothing."""
    counts = collections.Counter(names)
    some_repeat = any(times > 1 for times in counts.values())
    return [Host(name, times if some_repeat else None) for name, times in counts.items()]


def check_name(name, where):
    """`name`, when it can be a host's: it becomes a word of ssh and mpirun, where a dash in front makes an option."""
    odd = next((c for c in name if ord(c) > 127), None)
    if odd:
        raise LaunchError(f'{where}: "{name}" has the character U+{ord(odd):04X}, which is not ASCII',
                          "type the name anew: text copied from a web page often carries such characters", Code.CONFIG)
    if not re.fullmatch(r"([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name):
        raise LaunchError(f'{where}: "{name}" is no host name', "write names as `hostname` prints them", Code.CONFIG)
    return name


def ranks_in(text, where):
    """The number of ranks that digits stand for."""
    try:
        return number(text)
    except ValueError as error:
        raise LaunchError(f"{where}: {error}", "write host:4, say", Code.CONFIG) from None


def check_total(total, what, text):
    """Throws for more than can be meant."""
    if total > MOST:
        raise LaunchError(f'"{text[:60]}" are more than {MOST} {what}', "name the hosts with -H", Code.CONFIG)


def add_up(entries):
    """[Host] of (name, slots or None) pairs: slots of a name that stands several times add up, None counting as one."""
    if all(slots is None for _, slots in entries):
        return merge([name for name, _ in entries])
    total = collections.OrderedDict()
    for name, slots in entries:
        total[name] = total.get(name, 0) + (1 if slots is None else slots)
    return [Host(name, slots) for name, slots in total.items()]


def parse_list(text, where="host list"):
    """Hosts of "h1,h2" or "h1:2,h2:2"."""
    entries = []
    for part in text.split(","):
        name, colon, count = part.strip(" \t").partition(":")
        if colon and not re.fullmatch("[1-9][0-9]*", count):
            raise LaunchError(f'{where}: "{part}" has no number of ranks behind the colon', "write host:4, say")
        entries.append((check_name(name, where), ranks_in(count, where) if colon else None))
    return HostList(where, add_up(entries))


def parse_file(path):
    """Hosts of a file with one host per line: "h", "h:4" (MPICH, Intel) or "h slots=4" (Open MPI)."""
    try:
        lines = read_text(path).split("\n")
    except OSError as error:
        raise LaunchError(f"host file {path}: {error.strerror}", "write one host name per line", Code.CONFIG) from None
    entries = []
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        words = re.findall(r"[^ \t\r]+", line.split("#", 1)[0])
        if not words:
            continue
        name, colon, count = words[0].partition(":")
        slots = count if colon else None
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key in ("slots", "cpu", "cpus", "count"):
                slots = value
        if slots is not None and not re.fullmatch("[1-9][0-9]*", slots):
            raise LaunchError(f'{where}: "{slots}" is no number of ranks', "write host slots=4, say", Code.CONFIG)
        entries.append((check_name(name, where), None if slots is None else ranks_in(slots, where)))
    if not entries:
        raise LaunchError(f"host file {path} names no host", "write one host name per line", Code.CONFIG)
    return HostList(path, add_up(entries), path)


def expand_slurm(text):
    """["n1", "n2", "n07"] for "n[1-2,07]": Slurm's short form, with any number of brackets in a name."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text + ","):
        depth += (c == "[") - (c == "]")
        if depth not in (0, 1) or (depth == 1 and at == len(text)):
            raise LaunchError(f'the brackets of the node list "{text[:60]}" do not fit together', "", Code.CONFIG)
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    names = []
    for part in parts:
        grown = [""]
        for literal, ranges in re.findall(r"([^\[]*)(?:\[([^\]]*)\])?", part):
            grown = [head + literal for head in grown]
            if ranges:
                tails = expand_ranges(ranges, text)
                check_total(len(names) + len(grown) * len(tails), "hosts", text)
                grown = [head + tail for head in grown for tail in tails]
        names += grown
    return [check_name(name, "Slurm's node list") for name in names]


def expand_ranges(text, whole):
    """Numbers of "1-3,07", with leading zeros as wide as the lower end."""
    result = []
    for piece in text.split(","):
        found = re.fullmatch("([0-9]+)(?:-([0-9]+))?", piece)
        if not found:
            raise LaunchError(f'"{piece}" in the node list "{whole}" is no range', "", Code.CONFIG)
        low, high = found[1], found[2] or found[1]
        if max(len(low), len(high)) > LONGEST_NUMBER:
            raise LaunchError(f'"{piece[:60]}" in a node list is no range', "", Code.CONFIG)
        check_total(len(result) + int(high) - int(low) + 1, "hosts", piece)
        result += [str(at).zfill(len(low)) for at in range(int(low), int(high) + 1)]
    return result


def expand_counts(text):
    """[2, 2, 2, 1] for Slurm's "2(x3),1"."""
    result = []
    for piece in text.split(","):
        found = re.fullmatch(r"([0-9]+)(?:\(x([0-9]+)\))?", piece.strip())
        if not found:
            raise LaunchError(f'"{piece}" in "{text}" is no number of tasks', "", Code.CONFIG)
        times = ranks_in(found[2] or "1", text)
        check_total(len(result) + times, "tasks", text)
        result += [ranks_in(found[1], text)] * times
    return result


def from_slurm(env):
    names = expand_slurm(env.get("SLURM_JOB_NODELIST") or env["SLURM_NODELIST"])
    # Without --ntasks or --ntasks-per-node Slurm counts every processor as a task, which nobody asked for.
    asked = "SLURM_NTASKS" in env or "SLURM_NTASKS_PER_NODE" in env
    counts = expand_counts(env["SLURM_TASKS_PER_NODE"]) if asked and "SLURM_TASKS_PER_NODE" in env else []
    if len(counts) != len(names):
        counts = [None] * len(names)
    return HostList("Slurm job " + env.get("SLURM_JOB_ID", "?"), [Host(n, c) for n, c in zip(names, counts)])


def from_lsf(env):
    source = "LSF job " + env.get("LSB_JOBID", "?")
    if env.get("LSB_DJOB_HOSTFILE") and os.path.exists(env["LSB_DJOB_HOSTFILE"]):
        hosts = parse_file(env["LSB_DJOB_HOSTFILE"]).hosts
    else:
        words = env["LSB_MCPU_HOSTS"].split()
        if len(words) % 2 or not all(word.isdigit() for word in words[1::2]):
            raise LaunchError(f'LSB_MCPU_HOSTS is "{env["LSB_MCPU_HOSTS"]}", which is no list of hosts and numbers',
                              "name the hosts with -H", Code.CONFIG)
        hosts = [Host(check_name(n, "LSB_MCPU_HOSTS"), ranks_in(c, "LSB_MCPU_HOSTS")) for n, c in zip(words[::2], words[1::2])]
    # On systems like Summit the first entry is the node that runs the script, not one to compute on.
    counts = [host.slots or 1 for host in hosts]
    if len(hosts) > 1 and counts[0] == 1 and min(counts[1:]) > 1:
        hosts = hosts[1:]
    return HostList(source, hosts)


def from_pbs(env):
    found = parse_file(env["PBS_NODEFILE"])
    return HostList("PBS job " + env.get("PBS_JOBID", "?"), found.hosts, env["PBS_NODEFILE"])


def from_default_host_file(env):
    """Where Open MPI itself looks for hosts; Kubeflow's mpi-operator puts the workers there."""
    path = env["OMPI_MCA_orte_default_hostfile"]
    return HostList(f"the host file of Open MPI ({path})", parse_file(path).hosts, path)


def find_job(env):
    """The hosts of the batch job we run in, or None outside of one."""
    if env.get("PBS_NODEFILE") and os.path.exists(env["PBS_NODEFILE"]):
        return from_pbs(env)
    if env.get("SLURM_JOB_NODELIST") or env.get("SLURM_NODELIST"):
        return from_slurm(env)
    if env.get("LSB_DJOB_HOSTFILE") or env.get("LSB_MCPU_HOSTS"):
        return from_lsf(env)
    if env.get("OMPI_MCA_orte_default_hostfile"):
        return from_default_host_file(env)
    return None


def place(hosts, ranks=None, per_host=None):
    """The host of every rank, rank 0 first.

    Hosts are filled in order: with `per_host` ranks each, or else with their slots; then the round begins anew. Where
    nothing says how many a host takes, the ranks are spread in equal blocks. Without `ranks`: one round.
    """
    said = any(host.slots for host in hosts)
    check_total(ranks or len(hosts) * (per_host or 1), "ranks", str(ranks or per_host))
    if ranks is None:
        ranks = sum(per_host or host.slots or 1 for host in hosts)
    check_total(ranks, "ranks", str(ranks))
    even = -(-ranks // len(hosts))
    rounds = [host.name for host in hosts for _ in range(per_host or (host.slots or 1 if said else even))]
    return [rounds[rank % len(rounds)] for rank in range(ranks)]

"""What ddlrun will run: hosts, grid of ranks, rank file, and mpirun's command line."""

import math
import os
import re
import socket

from . import ddl_args, hosts
from .errors import Code, LaunchError
from .rankfile import check_entries, parse_rankfile, write_rankfile
from .topology import nearest_dims, parse_dims, ranks_of_host, show
from .true_mpirun import forwarded, safety_options
from .words import check_variable, counted, split

# Seconds that ranks have after mpirun's SIGTERM. Short, because Open MPI waits them out four times even where no rank
# is left; ddlrun has asked the ranks to stop by SIGUSR1 long before.
KILL_AFTER = 1
DEFAULT_TIMEOUT = 60
DEFAULT_PORT = "2200"


class Plan:
    """`names` are the hosts in the order of the rank file, `dims` may be None with a rank file that has no grid;
    `sockets` and `cores` are those the rank file counts on."""

    def __init__(self):
        self.source, self.names, self.dims, self.ranks = "", [], None, 0
        self.letter, self.own_ddl = "p", None
        self.sockets, self.cores = None, None
        self.rank_file, self.rank_text, self.ranks_by_host = None, None, {}


def own_ddl(program):
    """The value of the program's own -ddl flag, or None."""
    for at, word in enumerate(program):
        name, equals, value = re.sub("^--?", "", word).partition("=")
        if word.startswith("-") and name == "ddl":
            return value if equals else (program[at + 1] if at + 1 < len(program) else "")
    return None


def find_hosts(options, env):
    if options.H:
        return hosts.parse_list(options.H, "-H")
    if options.hostfile:
        return hosts.parse_file(options.hostfile)
    return hosts.find_job(env) or hosts.HostList("this host", [hosts.Host(socket.gethostname(), None)])


def per_host_of(options, listed, gpus):
    """Ranks on each host, from what says so first: options, slots of the host list, GPUs; else one."""
    if options.accelerators:
        return options.accelerators
    if options.n:
        if options.n % len(listed.hosts):
            raise LaunchError(f"-n {options.n}: the ranks do not divide by {counted(len(listed.hosts), 'host')} "
                              f"({listed.source})",
                              "the grid has as many ranks on each host: change -n, or give -H with other hosts")
        return options.n // len(listed.hosts)
    slots = {host.slots for host in listed.hosts}
    if len(slots) > 1:
        told = ", ".join(f"{host.name}:{host.slots or 1}" for host in listed.hosts)
        raise LaunchError(f"{listed.source} gives the hosts different numbers of ranks ({told})",
                          "say with -accelerators how many each host gets", Code.CONFIG)
    return slots.pop() or gpus or 1


def grid(options, listed, per_host):
    """(X, nodes of a rack, racks of an aisle, aisles)."""
    total = len(listed.hosts)
    racks, aisles = options.racks or 1, options.aisles or 1
    nodes = options.nodes or (total // (racks * aisles) if total % (racks * aisles) == 0 else 0)
    if nodes * racks * aisles != total:
        given = " x ".join(f"-{name} {value}" for name, value in
                           (("nodes", options.nodes), ("racks", options.racks), ("aisles", options.aisles)) if value)
        raise LaunchError(f"{given} does not make {counted(total, 'host')} ({listed.source})",
                          "nodes of a rack x racks of an aisle x aisles is the number of hosts")
    return per_host, nodes, racks, aisles


def check_product(dims, ranks):
    """IBM's words, because people search for them."""
    product = math.prod(dims)
    if product == ranks:
        return
    told = " ".join(f"dim[{i}]={d}" for i, d in enumerate(dims))
    fixes = " or ".join([f"-n {product}"] + [f"-mode with {show(d)}" for d in nearest_dims(dims, ranks)][:1])
    raise LaunchError(f"invalid dim size={ranks} usr_size={product} {told}: {show(dims)} makes "
                      f"{counted(product, 'rank')}, not the {ranks} to be started", f"use {fixes}")


def check_hosts_fit(dims, listed):
    count = math.prod(dims[1:])
    if count != len(listed.hosts):
        raise LaunchError(f"{show(dims)} wants {counted(count, 'host')} with {counted(dims[0], 'rank')} each, "
                          f"{listed.source} has {len(listed.hosts)}",
                          "correct the dimensions, or name other hosts with -H")


def make(options, env):
    """Plan without what has to be asked of the hosts."""
    plan = Plan()
    plan.own_ddl = own_ddl(options.program)
    plan.letter, dims = (plan.own_ddl and ddl_args.mode_in(plan.own_ddl)) or (options.letter, options.dims)
    if options.rankfile:
        read_rank_file(plan, options, dims)
        return plan, None
    listed = find_hosts(options, env)
    plan.source, plan.names = listed.source, listed.names
    plan.dims = dims
    if dims:
        check_product(dims, options.n or math.prod(dims))
        check_hosts_fit(dims, listed)
    return plan, listed


def complete(plan, options, listed, answers):
    """Adds what the hosts told: cores, and GPUs where nothing else says how many ranks a host gets."""
    if not plan.dims:
        gpus = min((a.gpus for a in answers), default=0)
        plan.dims = grid(options, listed, per_host_of(options, listed, gpus))
        check_product(plan.dims, options.n or math.prod(plan.dims))
    plan.ranks = math.prod(plan.dims)
    plan.ranks_by_host = {name: ranks_of_host(plan.dims, h) for h, name in enumerate(plan.names)}
    if options.nobind:
        return
    sockets = options.sockets or min((a.sockets for a in answers), default=0)
    cores = options.cores or min((a.cores_per_socket for a in answers), default=0)
    if not sockets or not cores:
        raise LaunchError("the cores of the hosts are not known", "give -sockets and -cores", Code.CONFIG)
    plan.sockets, plan.cores = sockets, cores
    plan.rank_text = write_rankfile(plan.dims, plan.names, sockets, cores)


def read_rank_file(plan, options, dims):
    """-rankfile: hosts and ranks are the file's; its grid is that of its header, unless -mode names one."""
    parsed = parse_rankfile(options.rankfile)
    if not parsed.entries:
        raise LaunchError(f"{options.rankfile} places no rank", "scripts/check_rankfile.py says what is wrong with it",
                          Code.CONFIG)
    check_entries(parsed)
    plan.source, plan.rank_file = options.rankfile, options.rankfile
    plan.ranks = options.n or parsed.world
    for entry in sorted(parsed.entries, key=lambda e: e.rank):
        if entry.rank < plan.ranks:
            plan.ranks_by_host.setdefault(entry.host, []).append(entry.rank)
    plan.names = list(plan.ranks_by_host)
    sizes = {len(ranks) for ranks in plan.ranks_by_host.values()}
    if dims is None and "dims" in parsed.header:
        dims = parse_dims(parsed.header["dims"][1])
    elif dims is None and len(sizes) == 1:
        dims = (sizes.pop(), len(plan.names))
    if dims:
        check_product(dims, plan.ranks)
    plan.dims = dims


def ddl_options(plan, options):
    """The text of DDL_OPTIONS, or None when it is not exported."""
    if options.no_ddloptions or plan.own_ddl is not None:
        return None
    dims = show(plan.dims) if plan.dims else str(plan.ranks)
    letter = plan.letter if plan.dims else "r"
    return f"-mode {letter}:{dims} " + " ".join(options.ddlarg)


def timeout_of(plan, options, env):
    """-timeout of the ranks, in seconds; where they have none, mpirun still notices lost hosts."""
    text = " ".join(options.ddlarg + [plan.own_ddl or ""]) + " " + env.get("DDL_OPTIONS", "")
    found = re.search(r"-timeout[\s=]+([0-9]+)", text)
    return int(found[1]) if found and int(found[1]) else DEFAULT_TIMEOUT


def placement(plan, options, launcher, rank_file):
    """What puts every rank on its host: a rank file, or without one hosts that are filled a rank each in turn, in the
    order in which a grid counts them."""
    if options.nobind:
        in_order = sorted(plan.ranks_by_host.items(), key=lambda item: item[1][0])
        listed = ",".join(f"{name}:{len(ranks)}" for name, ranks in in_order)
        return ["--host", listed, "--map-by", "node", "--bind-to", "none"]
    return ["--rankfile", rank_file] if launcher.version < (5, 0) else ["--map-by", f"rankfile:file={rank_file}"]


def command(plan, options, env, launcher, rank_file, exit_file):
    """The words of mpirun's command line."""
    placing = placement(plan, options, launcher, rank_file)
    words = [launcher.path] + safety_options(env, launcher.version, timeout_of(plan, options, env), KILL_AFTER)
    if options.t:
        words += ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"]
    words += placing + ["-n", str(plan.ranks)]
    text = ddl_options(plan, options)
    listed = ";".join(f"{name}:{','.join(map(str, ranks))}" for name, ranks in plan.ranks_by_host.items())
    exported = {"DDL_HOST_PORT": env.get("DDL_HOST_PORT", DEFAULT_PORT), "DDL_HOST_LIST": listed,
                "ROBUSTA_EXIT_FILE": exit_file}
    if text is not None:
        exported["DDL_OPTIONS"] = text
    asked = {variable.partition("=")[0] for variable in options.x}
    for name in forwarded(env):
        if name not in exported and name not in asked and not name.startswith("DDL_"):
            words += ["-x", name]
    for name, value in exported.items():
        words += ["-x", f"{name}={value}"]
    for variable in options.x:
        words += ["-x", check_variable("-x", variable)]
    for extra in options.mpiarg:
        words += split("-mpiarg", extra)
    return words + options.program

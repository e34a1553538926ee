#!/usr/bin/env python3
"""Starts one rank: binds it to its share of the host's cores, then becomes the program.

  rank_start.py [--bind] [--frame] -- PROGRAM ARG...

It runs on the rank's own host, so hosts may differ, and a host that lends the job only some of its cores is no special
case. --bind: the cores that this process may use are dealt out evenly, in the order of their sockets, to the ranks that
the launcher started here. --frame: what the rank prints is marked so that lines can be put together again behind
mpirun (see prefix.py); the process that does so is not in the rank's process group and ends when the rank has closed
its output. Nothing of the package is imported: this file is enough.
"""

import os
import selectors
import sys
import tty

# (local rank, ranks on this host): Open MPI, MPICH and Intel, MVAPICH.
LOCAL = (("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"), ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
         ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"))
BEGIN, END, NEWLINE = b"\x1c", b"\x1d", b"\x1e"
# With its mark a piece stays far below the 4096 bytes that Open MPI forwards at once.
PIECE = 2000


def local_place(env):
    """(local rank, ranks on this host), or None where no launcher says so."""
    for rank, size in LOCAL:
        if rank in env and size in env:
            return int(env[rank]), int(env[size])
    return None


def read_number(path):
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def cores_of(cpus, topology="/sys/devices/system/cpu/cpu{}/topology/"):
    """The processors grouped by physical core, in the order of sockets."""
    cores = {}
    for cpu in sorted(cpus):
        folder = topology.format(cpu)
        socket, core = read_number(folder + "physical_package_id"), read_number(folder + "core_id")
        key = (socket, core, 0) if socket is not None and core is not None else (1 << 30, 0, cpu)
        cores.setdefault(key, []).append(cpu)
    return [cores[key] for key in sorted(cores)]


def share(cores, rank, ranks):
    """The processors of local rank `rank` of `ranks`: as many cores for each; more ranks than cores share them."""
    first = rank * len(cores) // ranks
    return sorted(cpu for core in cores[first:first + max(1, len(cores) // ranks)] for cpu in core)


def bind(env):
    place = local_place(env)
    if place and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, share(cores_of(os.sched_getaffinity(0)), *place))


def write_all(out, data):
    while data:
        data = data[os.write(out, data):]


def forward(pairs):
    """Copies what comes from each first descriptor to the second, marked, until all are closed."""
    waiting = selectors.DefaultSelector()
    for source, target in pairs:
        waiting.register(source, selectors.EVENT_READ, target)
    while waiting.get_map():
        for key, _ in waiting.select():
            try:
                data = os.read(key.fd, PIECE)
            except OSError:  # so a pseudo-terminal says that its other end is closed
                data = b""
            if not data:
                waiting.unregister(key.fd)
                continue
            try:
                write_all(key.data, BEGIN + data.replace(b"\n", NEWLINE) + END)
            except OSError:  # nobody reads any more, but the rank must not feel it
                pass


def frame():
    """Puts a forwarding process between this process's output and the launcher."""
    terminal, slave = os.openpty()  # as Open MPI does, so that the C library prints line by line
    tty.setraw(slave)
    errors, error_end = os.pipe()
    child = os.fork()
    if child == 0:
        # A process of its own group, which no launcher waits for or signals; and no child of the program.
        if os.fork() == 0:
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            for descriptor in (terminal, errors):
                os.set_inheritable(descriptor, True)
            os.execve(sys.executable, [sys.executable, os.path.abspath(__file__), "--forward", str(terminal),
                                       str(errors)], {"PATH": os.environ.get("PATH", os.defpath)})
        os._exit(0)
    os.waitpid(child, 0)
    os.dup2(slave, 1)
    os.dup2(error_end, 2)


def main(arguments):
    if arguments[:1] == ["--forward"]:
        forward(((int(arguments[1]), 1), (int(arguments[2]), 2)))
        return 0
    split = arguments.index("--")
    options, command = arguments[:split], arguments[split + 1:]
    if "--bind" in options:
        bind(os.environ)
    if "--frame" in options:
        frame()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{os.uname().nodename}: cannot start {command[0]}: {error.strerror}; it has to be in PATH, or under the "
              "same path, on every host", file=sys.stderr)
        return 126 if os.path.exists(command[0]) else 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

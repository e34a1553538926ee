#!/usr/bin/env python3
"""Names the faults of an Open MPI rank file that mpirun leaves in the dark.

  scripts/check_rankfile.py 4x2x1.rf [-n 8] [--hosts h1,h2] [--sockets S --cores C] [--no-resolve]
  scripts/check_rankfile.py --fix 4x2x1.rf > new.rf

Looked at: no-break spaces and other characters, sockets and cores that do not exist, ranks missing or twice, their number,
the header against the lines, the order of the ranks, cores given twice, missing slot=, names of hosts. Without --sockets
and --cores the cores are compared with this machine where its name stands in the file. No host is reached; names are
looked up as the system does. Exit code 0: no fault; 2: faults, one per line, or a file that cannot be read; 1: wrong
command line.
"""

import argparse
import collections
import re
import sys

from robusta_launch import lint
from robusta_launch.errors import Code, LaunchError, run
from robusta_launch.names import Names
from robusta_launch.rankfile import parse_rankfile
from robusta_launch.slots import Shape, is_here, shape_here
from robusta_launch.words import counted, number

# Equal faults beyond this number are counted only.
SHOWN_PER_KIND = 12


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise LaunchError(message, "usage: check_rankfile.py FILE [-n N] [--hosts h1,h2] [--sockets S --cores C]")


def count(text):
    if not re.fullmatch("[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f'"{text}" is no number above 0')
    try:
        return number(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def arguments():
    parser = Parser(prog="check_rankfile.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("-n", type=count, help="ranks that mpirun starts")
    parser.add_argument("--hosts", help="hosts of the job, joined by commas")
    parser.add_argument("--sockets", type=count, help="sockets of every host")
    parser.add_argument("--cores", type=count, help="cores of every socket")
    parser.add_argument("--no-resolve", action="store_true", help="do not look host names up")
    parser.add_argument("--fix", action="store_true", help="print the file with characters put right")
    options = parser.parse_args()
    if (options.sockets is None) != (options.cores is None):
        parser.error("--sockets and --cores go together")
    return options


def known_shapes(options, file):
    """Host -> Shape, as far as told or found out."""
    if options.sockets:
        return {None: Shape((options.cores,) * options.sockets)}
    here = [e.host for e in file.entries if is_here(e.host)]
    shape = shape_here() if here else None
    return {host: shape for host in here} if shape else {}


def report(findings, path, out):
    """Prints the findings, of each kind only the first ones."""
    shown = collections.Counter()
    for finding in findings:
        shown[finding.kind] += 1
        if shown[finding.kind] <= SHOWN_PER_KIND:
            print(finding.text(path), file=out)
    for kind, times in shown.items():
        if times > SHOWN_PER_KIND:
            print(f"{path}: {times - SHOWN_PER_KIND} more faults of this kind: {kind}", file=out)


def main():
    options = arguments()
    file = parse_rankfile(options.file)
    if options.fix:
        file = lint.fixed(file)
        text = "\n".join(file.lines)
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    hosts = options.hosts.split(",") if options.hosts else None
    findings = lint.check(file, options.n, hosts, known_shapes(options, file), None if options.no_resolve else Names())
    out = sys.stderr if options.fix else sys.stdout
    report(findings, options.file, out)
    if not findings:
        hosts = counted(len({e.host for e in file.entries}), "host")
        print(f"{options.file}: {counted(file.world, 'rank')} on {hosts}, no fault found", file=out)
    return Code.CONFIG if findings else Code.OK


if __name__ == "__main__":
    sys.exit(run("check_rankfile.py", main))

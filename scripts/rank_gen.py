#!/usr/bin/env python3
"""Writes an Open MPI rank file for a grid of ranks, in the form of IBM's rank_gen.

  scripts/rank_gen.py 4x2x3 h1,h2,h3,h4,h5,h6 > 4x2x3.rf

XxY, XxYxZ or XxYxZxW: X ranks on each host, Y hosts near each other (one switch or rack), Z such groups, W groups of
those. Hosts in that order: all of the first group, then the second. Names must be what `hostname` prints on the hosts.
"""

import argparse
import sys

from robusta_launch.errors import Code, LaunchError, run
from robusta_launch.rankfile import DEFAULT_CORES, DEFAULT_SOCKETS, write_rankfile
from robusta_launch.topology import parse_dims
from robusta_launch.words import number


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise LaunchError(message, f"usage: {self.prog} XxYxZ host1,host2,... > FILE")


def count(text):
    try:
        return number(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main():
    parser = Parser(prog="rank_gen.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dims", metavar="XxYxZ")
    parser.add_argument("hosts", metavar="host1,host2,...")
    parser.add_argument("--sockets", type=count, default=DEFAULT_SOCKETS, help="sockets of a host (%(default)s)")
    parser.add_argument("--cores", type=count, default=DEFAULT_CORES, help="cores of a socket (%(default)s)")
    options = parser.parse_args()
    dims = parse_dims(options.dims)
    if len(dims) < 2:
        raise LaunchError(f'"{options.dims}" is one dimension', "write XxY, XxYxZ or XxYxZxW, with 1 as filler")
    sys.stdout.write(write_rankfile(dims, options.hosts.split(","), options.sockets, options.cores))
    sys.stdout.flush()
    return Code.OK


if __name__ == "__main__":
    sys.exit(run("rank_gen.py", main))

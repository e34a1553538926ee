"""Where each rank of a grid of ranks belongs.

Dimensions are named as IBM's rank_gen named them: X ranks on a host, Y hosts near each other, Z groups of such hosts,
W groups of those. The last dimension runs fastest: rank = x*Y*Z*W + y*Z*W + z*W + w. So the ranks of one host lie
Y*Z*W apart, and consecutive ranks are the most distant ones. Host lists are ordered by the slow tiers: all hosts of the
first W, in it all of the first Z, and within that by y.
"""

import itertools
import math
import re

from .errors import LaunchError
from .words import MOST, number

AXES = "XYZW"


def parse_dims(text):
    """(4, 2, 3) for "4x2x3": 1 to 4 positive numbers."""
    if not re.fullmatch(r"[0-9]+(x[0-9]+){0,3}", text):
        raise LaunchError(f'"{text}" are no dimensions', "write 1 to 4 numbers joined by x, as in 4x2x3")
    try:
        dims = tuple(number(d) for d in text.split("x"))
    except ValueError as error:
        raise LaunchError(f'"{text[:60]}": {error}', "write fewer ranks") from None
    if math.prod(dims) > MOST:
        raise LaunchError(f'"{text}" are {math.prod(dims)} ranks, more than {MOST}', "write fewer ranks")
    if 0 in dims:
        raise LaunchError(f'"{text}" has a dimension of 0', "use 1 for a dimension that is not there")
    return dims


def show(dims):
    """"4x2x3" for (4, 2, 3)."""
    return "x".join(map(str, dims))


def rank_of(dims, coords):
    """The rank at `coords`, which has as many entries as `dims`."""
    rank = 0
    for size, at in zip(dims, coords, strict=True):
        if not 0 <= at < size:
            raise ValueError(f"coordinate {at} is outside 0..{size - 1}")
        rank = rank * size + at
    return rank


def coords_of(dims, rank):
    """The coordinates of `rank`: the inverse of rank_of."""
    if not 0 <= rank < math.prod(dims):
        raise ValueError(f"rank {rank} is outside 0..{math.prod(dims) - 1}")
    coords = []
    for size in reversed(dims):
        rank, at = divmod(rank, size)
        coords.append(at)
    return tuple(reversed(coords))


def host_count(dims):
    """How many hosts the grid covers: all dimensions but the first."""
    return math.prod(dims[1:])


def host_coords(dims):
    """The coordinates (y, z, w) of every host in the order of the host list: y runs fastest."""
    slow_first = itertools.product(*(range(size) for size in reversed(dims[1:])))
    return [tuple(reversed(coords)) for coords in slow_first]


def ranks_of_host(dims, host):
    """The ranks on the host with index `host` in the host list, by x."""
    where = host_coords(dims)[host]
    return [rank_of(dims, (x, *where)) for x in range(dims[0])]


def nearest_dims(dims, world):
    """Up to two grids of `world` ranks that differ from `dims` in one dimension only, the smallest change first."""
    found = []
    for axis, size in enumerate(dims):
        rest = math.prod(dims) // size
        if world % rest == 0 and world // rest != size:
            found.append((abs(world // rest - size), dims[:axis] + (world // rest,) + dims[axis + 1:]))
    return [grid for _, grid in sorted(found)[:2]]

"""What links the ranks: presets, and clusters described in JSON or by flags.

A link is {"gbit": rate in Gbit/s and direction, "us": microseconds a message takes, "shared": true when all ranks of a
host send over it}. The first one joins the ranks of a host, the next the hosts of a group, then the groups.
"""

import dataclasses
import json
import pathlib

from robusta_launch.errors import Code, LaunchError

from .model import Tier


@dataclasses.dataclass(frozen=True)
class Link:
    gbit: float
    us: float
    shared: bool = True
    direct: bool = False


@dataclasses.dataclass(frozen=True)
class Cluster:
    """`images_per_second`: of one rank, None for the profile's own speed. `group`: most hosts of a near group."""

    title: str
    dims: tuple[int, ...]
    links: tuple[Link, ...]
    profile: str = ""
    batch: int | None = None
    images_per_second: float | None = None
    group: int | None = None

    def tiers(self, dims, shrink=1.0, shrink_back=None):
        """The links for a grid; the last one serves all further dimensions. Within a host nothing is shrunk."""
        tiers = []
        for axis, size in enumerate(dims):
            link = self.links[min(axis, len(self.links) - 1)]
            sharing = dims[0] if axis and link.shared else 1
            there, back = (shrink, shrink_back) if axis else (1, None)
            tiers.append(Tier(size, link.gbit * 1e9 / 8, link.us * 1e-6, sharing, there, link.direct, back))
        return tiers

    def link_to_servers(self, shrink=1.0):
        """The outermost one, which a group has to itself."""
        link = self.links[-1]
        return Tier(1, link.gbit * 1e9 / 8, link.us * 1e-6, shrink=shrink)


# Assumptions, not measurements: nominal rates less a tenth for what protocols cost, and the latency of a message.
PRESETS = {
    "4x64-p100": Cluster("64 hosts of 4 P100 (NVLink), EDR InfiniBand; ResNet-50, 32 images a GPU", (4, 8, 8),
                         (Link(256, 10, shared=False), Link(90, 5), Link(90, 5)), "resnet50", 32, 220.0, 8),
    "128-ethernet25": Cluster("128 hosts, one rank each, 25 Gbit/s Ethernet; ResNet-50, 128 images a host", (1, 16, 8),
                              (Link(400, 1, shared=False), Link(22.5, 30), Link(22.5, 30)), "resnet50", 128, 77.0, 16),
}


def from_json(path):
    """A Cluster from {"dims": [4, 8, 8], "links": [{...}, ...], "group": 8, "batch": 32, ...}."""
    try:
        data = json.loads(pathlib.Path(path).read_text())
        links = tuple(Link(**link) for link in data.pop("links"))
        cluster = Cluster(data.pop("title", str(path)), tuple(data.pop("dims")), links, **data)
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}", "check the path", Code.CONFIG) from None
    except (ValueError, KeyError, TypeError) as error:
        raise LaunchError(f"{path}: this is no cluster ({error})", "see scripts/scaling_model.py --help",
                          Code.CONFIG) from None
    check(cluster, path)
    return cluster


def check(cluster, where):
    """Throws for numbers that mean nothing."""
    if not cluster.dims or any(not isinstance(d, int) or d < 1 for d in cluster.dims):
        raise LaunchError(f"{where}: the dimensions {cluster.dims} are not all 1 or more", "write [4, 8, 8]")
    if not cluster.links or any(link.gbit <= 0 or link.us < 0 for link in cluster.links):
        raise LaunchError(f"{where}: a rate has to be above 0 and a latency not below", "correct the links")


def grids(ranks_per_host, hosts, group=None):
    """All XxYxZ of so many hosts with at most `group` in a near group."""
    return [(ranks_per_host, near, hosts // near) for near in range(1, hosts + 1)
            if hosts % near == 0 and (group is None or near <= group)]

#!/usr/bin/env python3
"""scripts/rank_gen.py and the topology behind it, against files that IBM's rank_gen wrote."""

import itertools
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from robusta_launch import rankfile, topology  # noqa: E402
from robusta_launch.errors import LaunchError  # noqa: E402

SIX_HOSTS = "sys-89074,sys-89075,sys-89076,sys-89077,sys-89078,sys-89079"

# As recorded, with blanks for the no-break spaces of the page it was published on, and without the line of the date.
FILE_4X2X3 = f"""#dims = 4x2x3
#host = {SIX_HOSTS}
#dimX = 4
#dimY = 2
#dimZ = 3
#sockets = 2
#cores = 10

rank 0=sys-89074           slot=0:0-4
rank 6=sys-89074           slot=0:5-9
rank 12=sys-89074          slot=1:0-4
rank 18=sys-89074          slot=1:5-9

rank 3=sys-89075           slot=0:0-4
rank 9=sys-89075           slot=0:5-9
rank 15=sys-89075          slot=1:0-4
rank 21=sys-89075          slot=1:5-9


rank 1=sys-89076           slot=0:0-4
rank 7=sys-89076           slot=0:5-9
rank 13=sys-89076          slot=1:0-4
rank 19=sys-89076          slot=1:5-9

rank 4=sys-89077           slot=0:0-4
rank 10=sys-89077          slot=0:5-9
rank 16=sys-89077          slot=1:0-4
rank 22=sys-89077          slot=1:5-9


rank 2=sys-89078           slot=0:0-4
rank 8=sys-89078           slot=0:5-9
rank 14=sys-89078          slot=1:0-4
rank 20=sys-89078          slot=1:5-9

rank 5=sys-89079           slot=0:0-4
rank 11=sys-89079          slot=0:5-9
rank 17=sys-89079          slot=1:0-4
rank 23=sys-89079          slot=1:5-9


"""

FILE_4X2X1 = """#dims = 4x2x1
#host = sys-89074,sys-89075
#dimX = 4
#dimY = 2
#dimZ = 1
#sockets = 2
#cores = 10

rank 0=sys-89074           slot=0:0-4
rank 2=sys-89074           slot=0:5-9
rank 4=sys-89074           slot=1:0-4
rank 6=sys-89074           slot=1:5-9

rank 1=sys-89075           slot=0:0-4
rank 3=sys-89075           slot=0:5-9
rank 5=sys-89075           slot=1:0-4
rank 7=sys-89075           slot=1:5-9


"""


def rank_gen(*arguments):
    return subprocess.run([sys.executable, SCRIPTS / "rank_gen.py", *arguments], capture_output=True, text=True,
                          check=False)


def entries(dims, hosts, **options):
    text = rankfile.write_rankfile(dims, hosts, **options)
    return {e.rank: (e.host, e.slot) for e in rankfile.parse_lines("x.rf", text.split("\n")).entries}


class Recorded(unittest.TestCase):
    def same_but_for_date(self, dims, hosts, want):
        done = rank_gen(dims, hosts)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, rest = done.stdout.split("\n", 1)
        self.assertRegex(first, r"^#\d{4}-\d\d-\d\d \d\d:\d\d:\d\d by rank_gen$")
        self.assertEqual(rest, want)

    def test_4x2x3(self):
        self.same_but_for_date("4x2x3", SIX_HOSTS, FILE_4X2X3)

    def test_4x2x1(self):
        self.same_but_for_date("4x2x1", "sys-89074,sys-89075", FILE_4X2X1)

    def test_cores_that_users_edited_by_hand(self):
        self.assertEqual(rankfile.slots(4, 2, 8), ["0:0-3", "0:4-7", "1:0-3", "1:4-7"])


class OpenMpi(unittest.TestCase):
    def bound(self, dims):
        """What mpirun would bind each rank to, on a host that claims 2 sockets of 10 cores."""
        mpirun = shutil.which("mpirun")
        version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False) if mpirun else None
        if not version or "Open MPI" not in version.stdout:
            self.skipTest("Open MPI is not installed")
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           HWLOC_SYNTHETIC="pack:2 core:10 pu:1", HWLOC_THISSYSTEM="0")
        with tempfile.NamedTemporaryFile("w", suffix=".rf") as file:
            file.write(rank_gen(dims, socket.gethostname()).stdout)
            file.flush()
            done = subprocess.run([mpirun, "--display-map", "-rf", file.name, "true"], capture_output=True, text=True,
                                  check=False, timeout=60, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [line.rsplit(":", 1)[1] for line in done.stdout.splitlines() if "Bound:" in line]

    def test_takes_the_file(self):
        self.assertEqual(self.bound("4x1x1"), ["[B/B/B/B/B/././././.][./././././././././.]",
                                               "[./././././B/B/B/B/B][./././././././././.]",
                                               "[./././././././././.][B/B/B/B/B/././././.]",
                                               "[./././././././././.][./././././B/B/B/B/B]"])


class Grids(unittest.TestCase):
    def test_two_dims_are_three_with_a_filler(self):
        hosts = ["a", "b", "c"]
        self.assertEqual(entries((4, 3), hosts), entries((4, 3, 1), hosts))
        self.assertNotIn("#dimZ", rankfile.write_rankfile((4, 3), hosts))

    def test_four_dims(self):
        # rank = ((x*2 + y)*3 + z)*2 + w; hosts: all of w = 0 first, in it by z, and y fastest.
        hosts = [f"w{w}z{z}y{y}" for w in range(2) for z in range(3) for y in range(2)]
        found = entries((2, 2, 3, 2), hosts)
        self.assertEqual(found[0][0], "w0z0y0")
        self.assertEqual(found[((1 * 2 + 1) * 3 + 2) * 2 + 0][0], "w0z2y1")
        self.assertEqual(found[((0 * 2 + 1) * 3 + 0) * 2 + 1][0], "w1z0y1")
        self.assertEqual(sorted(found), list(range(24)))

    def test_four_dims_of_two_hosts(self):
        # As ddlrun placed 6x2x1x1 on two hosts: even ranks on the first, odd ones on the second.
        self.assertEqual(topology.ranks_of_host((6, 2, 1, 1), 0), [0, 2, 4, 6, 8, 10])
        self.assertEqual(topology.ranks_of_host((6, 2, 1, 1), 1), [1, 3, 5, 7, 9, 11])

    def test_every_rank_once_and_the_inverse(self):
        for dims in [(1, 1), (3, 2), (4, 2, 3), (2, 3, 2, 2), (5,)]:
            ranks = [topology.rank_of(dims, c) for c in itertools.product(*map(range, dims))]
            self.assertEqual(ranks, list(range(math.prod(dims))))
            for rank in ranks:
                self.assertEqual(topology.rank_of(dims, topology.coords_of(dims, rank)), rank)

    def test_nearest_dims(self):
        self.assertEqual(topology.nearest_dims((4, 1, 1), 8), [(4, 1, 2), (4, 2, 1)])
        self.assertEqual(topology.nearest_dims((4, 2, 1), 8), [])
        self.assertEqual(topology.nearest_dims((4, 2), 7), [])


class Cores(unittest.TestCase):
    def test_fewer_ranks_than_sockets_take_whole_sockets(self):
        self.assertEqual(rankfile.slots(1, 2, 10), ["0:0-9;1:0-9"])
        self.assertEqual(rankfile.slots(2, 4, 6), ["0:0-5;1:0-5", "2:0-5;3:0-5"])

    def test_ranks_that_do_not_divide_by_sockets_stay_inside_one(self):
        self.assertEqual(rankfile.slots(3, 2, 10), ["0:0-4", "0:5-9", "1:0-4"])
        self.assertEqual(rankfile.slots(5, 2, 10), ["0:0-2", "0:3-5", "0:6-8", "1:0-2", "1:3-5"])

    def test_six_on_two_sockets(self):
        self.assertEqual(rankfile.slots(6, 2, 10), ["0:0-2", "0:3-5", "0:6-8", "1:0-2", "1:3-5", "1:6-8"])

    def test_no_core_twice_and_none_that_is_not_there(self):
        for sockets, cores in itertools.product(range(1, 5), range(1, 9)):
            for ranks in range(1, sockets * cores + 1):
                used = []
                for slot in rankfile.slots(ranks, sockets, cores):
                    for part in slot.split(";"):
                        socket, span = part.split(":")
                        first, last = map(int, span.split("-"))
                        self.assertLess(int(socket), sockets)
                        self.assertTrue(0 <= first <= last < cores)
                        used += [(socket, core) for core in range(first, last + 1)]
                self.assertEqual(len(used), len(set(used)))


class Refusals(unittest.TestCase):
    def refused(self, *arguments):
        done = rank_gen(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        return done.stderr

    def test_dims_that_are_not_numbers(self):
        for dims in ("4xtwo", "4x-2", "4x", "x4", "", "4x2x3x1x1", "4*2", "4x2.5", "\uff14x2"):
            self.assertIn("are no dimensions", self.refused("--", dims, "a,b"))

    def test_zero_and_one_dimension(self):
        self.assertIn("a dimension of 0", self.refused("4x0x1", "a"))
        self.assertIn("one dimension", self.refused("4", "a"))

    def test_number_of_hosts(self):
        self.assertIn("4x2x3 needs 6 hosts (Y*Z), 2 are given", self.refused("4x2x3", "a,b"))
        self.assertIn("4x1x1x2 needs 2 hosts (Y*Z*W), 3 are given", self.refused("4x1x1x2", "a,b,c"))

    def test_hosts(self):
        self.assertIn("host a is named 2 times", self.refused("4x2", "a,a"))
        self.assertIn("U+00A0", self.refused("4x2", "a,b\u00a0"))
        self.assertIn("U+00E9", self.refused("4x2", "a,caf\u00e9"))
        self.assertIn('host 2, "", is no host name', self.refused("4x2", "a,,b"))
        self.assertIn('host 2, " b", is no host name', self.refused("4x2", "a, b"))

    def test_more_ranks_than_cores(self):
        self.assertIn("8 ranks on a host do not fit its 4 cores", self.refused("8x1", "a", "--sockets=1", "--cores=4"))
        self.assertIn("0 sockets", self.refused("8x1", "a", "--sockets=0"))

    def test_numbers_beyond_all_jobs(self):
        for words in (("99999999999x1", "a"), ("4x" + "9" * 5000, "a"), ("2000x2000", "a"),
                      ("4x1", "a", "--sockets", "99999999999"), ("4x1", "a", "--cores", "9" * 5000)):
            self.assertIn("more than 1048576", self.refused(*words))

    def test_usage(self):
        self.assertIn("usage:", self.refused("4x2x1"))
        self.assertIn('"ten" is no number', self.refused("4x1", "a", "--cores", "ten"))

    def test_functions_refuse_coordinates_outside(self):
        with self.assertRaises(ValueError):
            topology.rank_of((4, 2), (0, 2))
        with self.assertRaises(ValueError):
            topology.coords_of((4, 2), 8)
        with self.assertRaises(LaunchError):
            rankfile.write_rankfile((4, 2), ["a"])


if __name__ == "__main__":
    unittest.main()

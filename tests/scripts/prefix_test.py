#!/usr/bin/env python3
"""scripts/robusta_launch/prefix.py and rank_start.py: lines out of mixed pieces, and the cores of each rank."""

import itertools
import unittest

from robusta_launch.prefix import Prefixer
from robusta_launch.rank_start import BEGIN, END, NEWLINE, share


def piece(rank, text):
    """As rank_start.py marks it and Open MPI tags it."""
    return b"[1,%d]<stdout>:" % rank + BEGIN + text.replace(b"\n", NEWLINE) + END


class PrefixTest(unittest.TestCase):
    def test_any_cut_gives_the_same(self):
        stream = (piece(0, b"a") + piece(11, b"x\ny") + b"mpirun speaks\n" + piece(0, b"b\n") + piece(11, b"z\n\n") +
                  b"[1,3]<stderr>:unmarked\n")
        whole = Prefixer()
        want = whole.feed(stream) + whole.flush()
        self.assertEqual(want, b"[11] x\nmpirun speaks\n[0] ab\n[11] yz\n[11] \n[3] unmarked\n")
        for cut in range(len(stream)):
            prefixer = Prefixer()
            self.assertEqual(prefixer.feed(stream[:cut]) + prefixer.feed(stream[cut:]) + prefixer.flush(), want)

    def test_one_tag_for_several_pieces(self):
        prefixer = Prefixer()
        two = BEGIN + b"a" + NEWLINE + END + BEGIN + b"b" + NEWLINE + END
        self.assertEqual(prefixer.feed(b"[1,5]<stdout>:" + two + b"mpirun\n"), b"[5] a\n[5] b\nmpirun\n")

    def test_unfinished_lines(self):
        prefixer = Prefixer()
        self.assertEqual(prefixer.feed(piece(0, b"10 %")), b"")
        self.assertEqual(prefixer.flush(), b"[0] 10 %")
        self.assertEqual(prefixer.feed(piece(0, b" 20 %")) + prefixer.flush(), b" 20 %")
        self.assertEqual(prefixer.feed(piece(1, b"other\n")), b"\n[1] other\n")
        self.assertEqual(prefixer.feed(piece(0, b" 30 %\n")), b"[0]  30 %\n")
        self.assertEqual(prefixer.flush(), b"")

    def test_text_that_looks_like_a_tag(self):
        prefixer = Prefixer()
        self.assertEqual(prefixer.feed(b"[1,") + prefixer.flush() + prefixer.feed(b"2] is a pair\n"),
                         b"[1,2] is a pair\n")


class ShareTest(unittest.TestCase):
    def test_cores_are_dealt_out_evenly(self):
        cores = [[n, n + 8] for n in range(8)]  # two threads each
        self.assertEqual(share(cores, 0, 2), [0, 1, 2, 3, 8, 9, 10, 11])
        self.assertEqual(share(cores, 1, 2), [4, 5, 6, 7, 12, 13, 14, 15])
        for ranks in range(1, 9):
            taken = [share(cores, r, ranks) for r in range(ranks)]
            self.assertEqual({len(t) for t in taken}, {8 // ranks * 2}, "all wait for the slowest")
            for a, b in itertools.combinations(taken, 2):
                self.assertFalse(set(a) & set(b))

    def test_more_ranks_than_cores(self):
        self.assertEqual([share([[0], [1]], r, 4) for r in range(4)], [[0], [0], [1], [1]])


if __name__ == "__main__":
    unittest.main()

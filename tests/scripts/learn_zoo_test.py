"""scripts/learn_zoo.py: what it makes of nets and logs, and when it is content."""

import pathlib
import tempfile
import unittest

import learn_zoo

LOG = """I1 Iteration 0 (0 iter/s, 0s/1 iters), loss = 2
I1     Train net output #0: loss = 2 (* 1 = 2 loss)
I1 Iteration 1 (9 iter/s, 0s/1 iters), loss = {}
I1     Test net output #0: accuracy = 0.25
I1     Test net output #0: accuracy = {}
"""


class LearnZooTest(unittest.TestCase):
    def caffe(self, text, status=0):
        """A program that prints this."""
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        folder = pathlib.Path(kept.name)
        (folder / "log").write_text(text)
        program = folder / "caffe"
        program.write_text(f"#!/bin/sh\ncat '{folder}/log'\nexit {status}\n")
        program.chmod(0o755)
        return program, folder

    def outcome(self, text, status=0):
        program, folder = self.caffe(text, status)
        return learn_zoo.row(program, "lenet", folder)

    def test_test_reads_what_train_reads_and_nothing_is_dropped(self):
        text = learn_zoo.prepared('source: "examples/mnist/mnist_test_lmdb" dropout_ratio: 0.5 "x/images/test_lmdb"')
        self.assertEqual(text, 'source: "examples/mnist/mnist_train_lmdb" dropout_ratio: 0 "x/images/train_lmdb"')

    def test_every_net_is_there(self):
        self.assertEqual(set(learn_zoo.RUNS) - set(learn_zoo.all_nets()), set())

    def test_has_learned_by_its_loss_or_its_accuracy(self):
        learn_zoo.LAST = 1
        self.addCleanup(setattr, learn_zoo, "LAST", 20)
        for loss, share, holds in ((0.1, 0.5, True), (0.3, 0.5, False), (0.3, 0.96, True), ("nan", 0.5, False)):
            line, learned = self.outcome(LOG.format(loss, share))
            self.assertEqual(learned, holds, line)
            self.assertIn("| learned |" if holds else "| NOT learned |", line)

    def test_tells_why_a_training_failed(self):
        line, learned = self.outcome("caffe: error: net.prototxt:3: no\n", 2)
        self.assertFalse(learned)
        self.assertIn("FAILED: net.prototxt:3: no", line)


if __name__ == "__main__":
    unittest.main()

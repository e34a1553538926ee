"""CONTRIBUTING.md shows code that is compiled: a block introduced by "`path`:" stands in that file, word for word."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"`((?:src|tests|examples|tools)/[^`\s]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)


class ContributingTest(unittest.TestCase):
    def test_blocks_stand_in_the_files_they_name(self):
        blocks = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
        self.assertGreaterEqual(len(blocks), 6)
        for path, code in blocks:
            self.assertIn(code.strip("\n"), (ROOT / path).read_text(), path)


if __name__ == "__main__":
    unittest.main()

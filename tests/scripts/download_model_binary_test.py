#!/usr/bin/env python3
"""download_model_binary.py against a server of our own: whole, cut off, wrong and hostile downloads."""

import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/download_model_binary.py"
WEIGHTS = bytes(range(256)) * 5000
SHA1 = hashlib.sha1(WEIGHTS).hexdigest()


class Server(http.server.BaseHTTPRequestHandler):
    ranges = []

    def log_message(self, *_):
        pass

    def do_GET(self):  # pylint: disable=invalid-name
        asked = self.headers.get("Range", "")
        Server.ranges.append(asked)
        if self.path == "/file":
            return self.answer(302, b"", Location="file:///etc/passwd")
        if self.path == "/away":
            return self.answer(302, b"", Location="/whole")
        begin = int(asked[6:-1]) if asked and self.path != "/no_ranges" else 0
        if begin >= len(WEIGHTS):
            return self.answer(416, b"")
        body = WEIGHTS[begin:]
        if begin:
            return self.answer(206, body, Content_Range=f"bytes {begin}-{len(WEIGHTS) - 1}/{len(WEIGHTS)}")
        return self.answer(200, body, cut=self.path == "/cut")

    def answer(self, status, body, cut=False, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body[:len(body) // 3] if cut else body)
        except OSError:
            self.close_connection = True  # who asked did not want it


class Downloads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.base = f"http://127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        Server.ranges.clear()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.weights, self.part = self.folder / "toy.caffemodel", self.folder / "toy.caffemodel.part"

    def card(self, url, sha1=SHA1, name="toy.caffemodel"):
        (self.folder / "readme.md").write_text(f"---\nname: Toy\ncaffemodel: {name}\ncaffemodel_url: {url}\n"
                                               f"license: none\nsha1: {sha1}\n---\nsha1: of no interest\n")

    def download(self, want=0):
        env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        done = subprocess.run([sys.executable, SCRIPT, self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=100, check=False, env=env)
        self.assertEqual(done.returncode, want, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def test_whole(self):
        self.card(self.base + "/away")
        self.assertIn("fetched", self.download())
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)
        self.assertFalse(self.part.exists())
        count = len(Server.ranges)
        self.assertIn("there already", self.download())
        self.assertEqual(len(Server.ranges), count, "nothing is asked for a second time")

    def test_goes_on_where_it_was_cut_off(self):
        self.card(self.base + "/cut")
        self.assertIn("cut off", self.download(want=1))
        have = self.part.stat().st_size
        self.assertTrue(0 < have < len(WEIGHTS))
        self.assertFalse(self.weights.exists())
        self.download()
        self.assertEqual(Server.ranges[-1], f"bytes={have}-")
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)

    def test_server_without_ranges(self):
        self.card(self.base + "/no_ranges")
        self.part.write_bytes(WEIGHTS[:1000])
        self.download()
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)

    def test_all_had_come_before(self):
        self.card(self.base + "/whole")
        self.part.write_bytes(WEIGHTS)
        self.download()
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)

    def test_wrong_hash(self):
        self.card(self.base + "/whole", "0" * 40)
        self.assertIn("it was removed", self.download(want=1))
        self.assertEqual([file.name for file in self.folder.iterdir()], ["readme.md"])

    def test_part_of_another_file(self):
        self.card(self.base + "/whole")
        self.part.write_bytes(b"other" * 100)
        self.assertIn("it was removed", self.download(want=1))
        self.download()
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)

    def test_other_file_in_its_place_stays(self):
        self.card(self.base + "/whole")
        self.weights.write_text("mine")
        self.assertIn("remove it", self.download(want=1))
        self.assertEqual(self.weights.read_text(), "mine")

    def test_link_in_place_of_the_part(self):
        self.card(self.base + "/whole")
        victim = self.folder / "victim"
        victim.write_text("mine")
        self.part.symlink_to(victim)
        self.download(want=1)
        self.assertEqual(victim.read_text(), "mine")

    def test_hostile_cards(self):
        for url in ("file:///etc/passwd", "ftp://host/x", "http://", "https://user:word@host/x", "/etc/passwd"):
            self.card(url)
            self.assertIn("no http or https address", self.download(want=1), url)
        for name in ("../evil", "/etc/evil", ".hidden", "a b", ""):
            self.card(self.base + "/whole", name=name)
            self.download(want=1)
        self.card(self.base + "/whole", sha1="12")
        self.assertIn("no SHA-1", self.download(want=1))
        (self.folder / "readme.md").write_text("no card")
        self.assertIn("has no block", self.download(want=1))
        self.assertEqual(Server.ranges, [])

    def test_title_before_the_block(self):
        self.card(self.base + "/whole")
        card = self.folder / "readme.md"
        card.write_text("## Information\n\n" + card.read_text())
        self.download()
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)

    def test_cards_of_our_models(self):
        """Each names a file and its hash; a file that is there, and is not that, ends it before a server is asked."""
        cards = sorted(SCRIPT.parents[1].glob("models/*/readme.md"))
        self.assertEqual([card.parent.name for card in cards], ["bvlc_alexnet", "bvlc_googlenet"])
        for card in cards:
            name = card.parent.name
            self.assertTrue((card.parent / "deploy.prototxt").exists())
            shutil.copy(card, self.folder)
            (self.folder / f"{name}.caffemodel").write_text("other weights")
            self.assertIn(f"{name}.caffemodel is there, but", self.download(want=1))

    def test_redirect_to_a_file(self):
        self.card(self.base + "/file")
        self.download(want=1)
        self.assertFalse(self.weights.exists())


if __name__ == "__main__":
    unittest.main()

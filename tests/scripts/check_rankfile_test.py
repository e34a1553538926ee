#!/usr/bin/env python3
"""scripts/check_rankfile.py: every fault is named with its line, and sound files have none."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from robusta_launch import lint, rankfile, slots  # noqa: E402
from robusta_launch.names import Names  # noqa: E402

BIG = {None: slots.Shape((10, 10))}


def sound(dims=(4, 2, 1), hosts=("a", "b"), **options):
    return rankfile.write_rankfile(dims, hosts, **options)


def check(text, **options):
    return lint.check(rankfile.parse_lines("f.rf", text.split("\n")), **options)


def brief(text, **options):
    return [(f.kind, f.line) for f in check(text, **options)]


class FixedNames(Names):
    """A /etc/hosts of its own: name -> (address, first name of the line). This machine is minsky1, 10.1.1.1 and 9.1.1.1."""

    table = {"minsky1": ("10.1.1.1", "minsky1"), "ib1": ("9.1.1.1", "ib1"), "minsky2": ("10.1.1.2", "minsky2.site"),
             "fast2": ("10.1.1.2", "minsky2.site"), "ib2": ("9.1.1.2", "ib2")}

    def hostname(self):
        return "minsky1"

    def addresses(self, host):
        return [self.table[host][0]] if host in self.table else []

    def canonical(self, host):
        return self.table[host][1]

    def is_mine(self, address):
        return address in ("10.1.1.1", "9.1.1.1")


class Beyond(unittest.TestCase):
    """Numbers that no job has are told in words, and not counted up to."""

    def test_rank(self):
        for rank in ("99999999999", "9" * 5000):
            self.assertEqual(brief(f"rank 0=a slot=0:0\nrank {rank}=a slot=0:1"), [("huge", 2)])

    def test_header(self):
        self.assertEqual(brief(f"#sockets = {'9' * 5000}\nrank 0=a slot=0:0"), [("header", 1)])
        self.assertEqual(brief(f"#dims = {'9' * 5000}x1\nrank 0=a slot=0:0"), [("header", 1)])

    def test_slot(self):
        self.assertEqual(brief(f"rank 0=a slot=0:{'9' * 5000}"), [("slot", 1)])


class Slow(Names):
    """A name server that needs half a second for each name, and knows none."""

    def complaint(self, host):
        time.sleep(0.5)
        return ("not known", "correct it", "nothing")


class Lookups(unittest.TestCase):
    def test_are_made_at_once(self):
        begin = time.monotonic()
        text = "\n".join(f"rank {i}=host{i} slot=0:0" for i in range(40))
        self.assertEqual(brief(text, names=Slow()), [("host", i + 1) for i in range(40)])
        self.assertLess(time.monotonic() - begin, 10)


class Sound(unittest.TestCase):
    def test_what_rank_gen_writes(self):
        for dims, hosts in [((4, 2, 1), "ab"), ((4, 2, 3), "abcdef"), ((1, 2), "ab"), ((3, 1), "a"), ((2, 2, 1, 2), "abcd")]:
            self.assertEqual(brief(sound(dims, list(hosts)), n=len(hosts) * dims[0], hosts=hosts, shapes=BIG), [])

    def test_by_hand_without_a_header(self):
        self.assertEqual(brief("rank 0=a slot=0:0\nrank 2=a slots=0:1,2\nrank 1=b slot=0:*\nrank 3=b\tslot=1:0-3 # last"), [])

    def test_other_characters_in_a_comment(self):
        self.assertEqual(brief("# caf\u00e9\nrank 0=a slot=0:0"), [])

    def test_names_that_are_right(self):
        text = "rank 0=minsky1 slot=0:0\nrank 1=minsky2 slot=0:0\nrank 2=ib2 slot=0:0"
        self.assertEqual(brief(text, names=FixedNames()), [])


class Characters(unittest.TestCase):
    def test_no_break_space(self):
        finding, = check("\nrank 0=a\u00a0 \u00a0slot=0:0")
        self.assertEqual((finding.line, finding.column), (2, 9))
        self.assertIn("U+00A0 NO-BREAK SPACE (and 1 more", finding.cause)
        self.assertIn("invalid syntax in the rankfile (f.rf)", finding.text("f.rf"))

    def test_no_break_space_of_latin_1(self):
        with tempfile.NamedTemporaryFile(suffix=".rf") as file:
            file.write(b"rank 0=a\xa0slot=0:0\n")
            file.flush()
            finding, = lint.check(rankfile.parse_rankfile(file.name))
        self.assertEqual(finding.cause, "the byte 0xA0 of another encoding than UTF-8 is not ASCII")

    def test_dash_and_byte_order_mark(self):
        self.assertEqual(brief("\ufeffrank 0=a slot=0:0\u20131"), [("character", 1), ("slot", 1)])
        self.assertEqual(brief("\ufeff#dims = 1x1\nrank 0=a slot=0:0"), [("character", 1)])

    def test_carriage_returns_are_told_once(self):
        self.assertEqual(brief("rank 0=a slot=0:0\r\nrank 1=a slot=0:1\r\n"), [("return", 1)])


class Ranks(unittest.TestCase):
    def test_double(self):
        finding, = check("rank 0=a slot=0:0\nrank 0=a slot=0:1")
        self.assertEqual((finding.kind, finding.line), ("double", 2))
        self.assertIn("already in line 1", finding.cause)
        self.assertIn("rank 0 is already assigned to a slot=0:0", finding.dark)

    def test_missing(self):
        finding, = check("rank 0=a slot=0:0\nrank 3=a slot=0:1")
        self.assertIn("ranks 1, 2 are missing below rank 3", finding.cause)
        self.assertIn("Rank: 1", finding.dark)

    def test_number(self):
        self.assertEqual(brief(sound(), n=8), [])
        more, = check(sound(), n=9)
        self.assertIn("places 8 ranks, -n 9 starts more", more.cause)
        self.assertIn("Rank: 8", more.dark)
        fewer, = check(sound(), n=4)
        self.assertIn("ranks 4 to 7 are left out", fewer.dark)

    def test_none(self):
        self.assertEqual(brief("# nothing\n"), [("absent", 1)])


class Lines(unittest.TestCase):
    def test_missing_slot(self):
        self.assertEqual(brief("rank 0=a slot=0:0\nrank 1=a"), [("slot", 2)])

    def test_strange_slots(self):
        for slot in ("*", "0:x", "0:3-1", "0:0-1,", "x:0", "0:1:2", "0:1;", "p", "-1"):
            self.assertEqual(brief(f"rank 0=a slot={slot}"), [("slot", 1)], slot)

    def test_strange_lines(self):
        for line in ("rank 1 a slot=0:0", "hello", "RANK 1=a slot=0:0", "rank 1=a slot=0:0 max", "rank 1=a slot="):
            self.assertEqual(brief(f"rank 0=a slot=0:1\n  {line}"), [("syntax", 2)], line)


class Cores(unittest.TestCase):
    def test_not_there(self):
        shapes = {"a": slots.Shape((8, 8))}
        text = sound()
        self.assertEqual(brief(text, shapes=shapes), [("core", 11), ("core", 13)])
        finding = check(text, shapes=shapes)[0]
        self.assertIn("slot=0:5-9: there is no core 9 of socket 0, a has 2 sockets of 8 cores", finding.cause)
        self.assertIn("rmaps_rank_file.c", finding.dark)

    def test_socket_not_there(self):
        finding, = check("rank 0=a slot=1:0", shapes={None: slots.Shape((4,))})
        self.assertIn("there is no socket 1, a has 1 socket of 4 cores", finding.cause)

    def test_without_socket_mpirun_says_nothing(self):
        self.assertEqual(brief("rank 0=a slot=0-19", shapes=BIG), [])
        finding, = check("rank 0=a slot=0-20", shapes=BIG)
        self.assertIn("there is no core 20", finding.cause)
        self.assertIn("only ends with exit code 1", finding.dark)

    def test_shared(self):
        finding, = check("rank 0=a slot=0:0-4\nrank 1=a slot=0:4-7\nrank 2=b slot=0:4")
        self.assertEqual((finding.kind, finding.line), ("overlap", 2))
        self.assertIn("slot=0:0-4 in line 1", finding.cause)

    def test_shared_at_either_end(self):
        self.assertEqual(brief("rank 0=a slot=0:4-7\nrank 1=a slot=0:0-4"), [("overlap", 2)])
        self.assertEqual(brief("rank 0=a slot=0:4-7\nrank 1=a slot=0:0-3\nrank 2=a slot=0:8"), [])

    def test_a_rank_may_name_a_core_twice(self):
        self.assertEqual(brief("rank 0=a slot=0:0-3,2"), [])

    def test_shared_across_spellings(self):
        text = "rank 0=a slot=1:0-4\nrank 1=a slot=12"
        self.assertEqual(brief(text, shapes=BIG), [("overlap", 2)])
        self.assertEqual(brief("rank 0=a slot=1:*\nrank 1=a slot=0:1;1:7"), [("overlap", 2)])
        self.assertEqual(brief("rank 0=a slot=1:*\nrank 1=a slot=9", shapes=BIG), [])

    def test_this_machine(self):
        shape = slots.shape_here()
        if shape is None:
            self.skipTest("lscpu cannot tell the cores here")
        self.assertTrue(shape.cores and all(c > 0 for c in shape.cores))
        self.assertTrue(slots.is_here("localhost"))
        self.assertFalse(slots.is_here("no-such-host-here"))


class Header(unittest.TestCase):
    def told(self, old, new):
        text = sound()
        self.assertIn(old, text)
        return [(f.line, f.cause) for f in check(text.replace(old, new)) if f.kind == "header"]

    def test_dims(self):
        (line, cause), (_, hosts) = self.told("#dims = 4x2x1", "#dims = 4x1x1")[:2]
        self.assertEqual((line, cause), (2, "#dims = 4x1x1 make 4 ranks, the lines place 8"))
        self.assertIn("take 1 host, the lines name 2", hosts)
        (line, cause), = self.told("#dimY = 2", "#dimY = 3")
        self.assertEqual(line, 5)
        self.assertIn("is not the 2 of #dims = 4x2x1 (line 2)", cause)
        self.assertIn("are no dimensions", self.told("#dims = 4x2x1", "#dims = four")[0][1])

    def test_hosts(self):
        (line, extra), (_, lacking) = self.told("#host = a,b", "#host = a,c")
        self.assertEqual((line, extra), (3, "#host does not name b, where the lines place ranks"))
        self.assertEqual(lacking, "#host names c, where no line places a rank")

    def test_cores(self):
        self.assertEqual(self.told("#cores = 10", "#cores = 8"),
                         [(8, "#cores = 8, but slot=0:5-9 in line 11 uses core 9")])
        self.assertEqual(self.told("#sockets = 2", "#sockets = 1"),
                         [(7, "#sockets = 1, but slot=1:0-4 in line 12 uses socket 1")])


class Order(unittest.TestCase):
    def test_ranks_of_a_host_in_a_row(self):
        lines = [f"rank {r}={'ab'[r // 4]} slot=0:{r % 4}" for r in range(8)]
        finding, = check("\n".join(lines))
        self.assertEqual((finding.kind, finding.line), ("order", 1))
        self.assertIn("a has ranks 0, 1, 2, 3; by rank = x*Y*Z + y*Z + z of 4x2 it has ranks 0, 2, 4, 6", finding.cause)
        self.assertIn("rank_gen.py 4x2 a,b", finding.fix)

    def test_hosts_exchanged_between_racks(self):
        text = sound((2, 2, 2), list("abcd"))
        wrong = text.replace("=b ", "=B ").replace("=c ", "=b ").replace("=B ", "=c ")
        self.assertEqual(brief(text), [])
        self.assertEqual([f.kind for f in check(wrong)], ["order"])


class Hosts(unittest.TestCase):
    def test_not_of_the_job(self):
        finding, = check(sound(), hosts=["a", "c"])
        self.assertIn('host "b" is not among the hosts of the job (a, c)', finding.cause)
        self.assertIn("already filled", finding.dark)

    def test_impossible_name(self):
        self.assertEqual(brief("rank 0=a_b slot=0:0"), [("host", 1)])

    def test_unknown(self):
        finding, = check("rank 0=elsewhere slot=0:0", names=FixedNames())
        self.assertIn("Could not resolve hostname elsewhere", finding.dark)

    def test_alias_of_this_machine(self):
        finding, = check("rank 0=ib1 slot=0:0", names=FixedNames())
        self.assertIn('"ib1" is another name of host minsky1 (9.1.1.1)', finding.cause)
        self.assertIn("btl_tcp_if_include", finding.fix)
        self.assertIn("either not allocated or oversubscribed its slots", finding.dark)

    def test_alias_in_etc_hosts(self):
        finding, = check("rank 0=fast2 slot=0:0", names=FixedNames())
        self.assertIn("another name of host minsky2.site", finding.cause)

    def test_the_system_knows_localhost(self):
        self.assertTrue(Names().is_mine("127.0.0.1"))
        self.assertFalse(Names().is_mine("192.0.2.1"))
        self.assertEqual(Names().addresses("no-such-host.invalid"), [])


class Program(unittest.TestCase):
    @contextlib.contextmanager
    def file(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.rf"
            path.write_text(text)
            yield path

    def run_on(self, text, *options):
        with self.file(text) as path:
            done = subprocess.run([sys.executable, SCRIPTS / "check_rankfile.py", path, "--no-resolve", *options],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.replace(str(path), "f.rf"), done.stderr.replace(str(path), "f.rf")

    def test_sound(self):
        self.assertEqual(self.run_on(sound(), "-n", "8", "--hosts=a,b", "--sockets=2", "--cores=10"),
                         (0, "f.rf: 8 ranks on 2 hosts, no fault found\n", ""))
        self.assertEqual(self.run_on("rank 0=a slot=0:0\n")[1], "f.rf: 1 rank on 1 host, no fault found\n")

    def test_faults(self):
        code, out, _ = self.run_on(sound(), "-n", "9")
        self.assertEqual(code, 2)
        self.assertTrue(out.startswith("f.rf:18: the file places 8 ranks, -n 9 starts more; give -n 8"), out)

    def test_fix_gives_the_file_as_it_was_written(self):
        text = sound(hosts=["sys-89074", "sys-89075"])
        spoilt = text.replace("  ", " \u00a0").replace("\n", "\r\n").replace("0:0-4", "0:0\u20134")
        code, out, err = self.run_on(spoilt, "--fix")
        self.assertEqual((code, out), (0, text), err)

    def test_fix_tells_what_is_left(self):
        code, out, err = self.run_on("rank 0=a\u00a0slot=0:0\nrank 2=a slot=0:1", "--fix")
        self.assertEqual((code, out), (2, "rank 0=a slot=0:0\nrank 2=a slot=0:1"))
        self.assertIn("rank 1 is missing", err)

    def test_equal_faults_are_counted(self):
        _, out, _ = self.run_on("\n".join(f"rank {r}=a slot=9:{r}" for r in range(40)), "--sockets=2", "--cores=4")
        self.assertEqual(out.count("there is no socket 9"), 12)
        self.assertIn("28 more faults of this kind: core", out)

    def test_usage(self):
        self.assertEqual(self.run_on(sound(), "--cores=4")[0], 1)
        self.assertEqual(self.run_on(sound(), "-n", "none")[0], 1)
        done = subprocess.run([sys.executable, SCRIPTS / "check_rankfile.py", "absent.rf"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("absent.rf: No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main()

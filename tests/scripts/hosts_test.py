#!/usr/bin/env python3
"""scripts/robusta_launch/hosts.py: the lists of hosts of launchers and batch systems."""

import os
import tempfile
import unittest

from robusta_launch import hosts
from robusta_launch.errors import LaunchError
from robusta_launch.hosts import Host


class HostsTest(unittest.TestCase):
    def file(self, text):
        handle, path = tempfile.mkstemp()
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode())
        self.addCleanup(os.unlink, path)
        return path

    def refuses(self, part, call, *arguments):
        with self.assertRaises(LaunchError) as caught:
            call(*arguments)
        self.assertIn(part, str(caught.exception))

    def test_list(self):
        self.assertEqual(hosts.parse_list("a,b").hosts, [Host("a", None), Host("b", None)])
        self.assertEqual(hosts.parse_list("a:4,b:2").hosts, [Host("a", 4), Host("b", 2)])
        self.assertEqual(hosts.parse_list("a,a,b").hosts, [Host("a", 2), Host("b", 1)])
        self.refuses('"a:x"', hosts.parse_list, "a:x")
        self.refuses("no host name", hosts.parse_list, "a,,b")
        self.refuses("U+00A0", hosts.parse_list, "a\u00a0")

    def test_names_that_would_be_options_or_commands(self):
        for name in ("-oProxyCommand=touch", "-F/tmp/config", "-v@h1", "-Fconfig@h1", "h1;touch", "$(touch)", "`touch`",
                     "a b|c", "-", "h1&touch", "../h1", "h1-", "h1\n", "@h1", ".h1"):
            self.refuses("no host name", hosts.check_name, name, "here")
        for name in ("h1", "me@h1", "h-1.example.org", "10.0.0.1", "a_b"):
            self.assertEqual(hosts.check_name(name, "here"), name)

    def test_file_dialects(self):
        path = self.file("# comment\na slots=4 max_slots=8\n\nb:3  # MPICH's\r\nc\n")
        self.assertEqual(hosts.parse_file(path).hosts, [Host("a", 4), Host("b", 3), Host("c", 1)])
        self.assertEqual(hosts.parse_file(self.file("a\nb\na\n")).hosts, [Host("a", 2), Host("b", 1)])
        self.refuses(":2: ", hosts.parse_file, self.file("a\nb slots=no\n"))
        self.refuses("U+00A0", hosts.parse_file, self.file("a\u00a0slots=2\n"))
        self.refuses("names no host", hosts.parse_file, self.file("#\n"))
        self.refuses("No such file", hosts.parse_file, "/nonexistent/hosts")

    def test_slurm_ranges(self):
        self.assertEqual(hosts.expand_slurm("n[1-3,7],login"), ["n1", "n2", "n3", "n7", "login"])
        self.assertEqual(hosts.expand_slurm("n[08-11]"), ["n08", "n09", "n10", "n11"])
        self.assertEqual(hosts.expand_slurm("r[1-2]n[1,3]-ib"), ["r1n1-ib", "r1n3-ib", "r2n1-ib", "r2n3-ib"])
        self.refuses("no range", hosts.expand_slurm, "n[1-x]")
        for text in ("n[1-2", "n1-2]", "n[[1-2]]", "]n[1", "a,n[1-2"):
            self.refuses("do not fit together", hosts.expand_slurm, text)
        self.assertEqual(hosts.expand_counts("2(x3),1"), [2, 2, 2, 1])
        self.refuses("number of tasks", hosts.expand_counts, "2(y3)")

    def test_a_file_that_claims_a_terabyte(self):
        path = self.file("")
        os.truncate(path, 1 << 40)
        self.refuses("more than 2 GiB", hosts.parse_file, path)

    def test_numbers_beyond_all_jobs(self):
        for text in ("n[1-99999999999]", "n[1-9999][1-9999][1-9999]", "n[1-1000000],m[1-1000000]"):
            self.refuses("more than 1048576 hosts", hosts.expand_slurm, text)
        self.refuses("is no range", hosts.expand_slurm, f"n[1-{'9' * 5000}]")
        self.refuses("more than 1048576 tasks", hosts.expand_counts, "2(x1000000),2(x1000000)")
        for text in ("2(x99999999999)", "9" * 5000):
            self.refuses("is more than 1048576", hosts.expand_counts, text)
        self.refuses("is more than 1048576", hosts.parse_list, "a:99999999999")
        self.refuses("more than 1048576 ranks", hosts.place, hosts.parse_list("a:1000000,b:1000000").hosts)

    def test_slurm_job(self):
        job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}
        self.assertEqual(hosts.find_job({**job, "SLURM_NTASKS": "4"}).hosts, [Host("n1", 2), Host("n2", 2)])
        # Without a request for tasks the numbers are those of processors.
        self.assertEqual(hosts.find_job(job).hosts, [Host("n1", None), Host("n2", None)])

    def test_pbs_repeats_are_ranks(self):
        path = self.file("n1\nn1\nn2\nn2\n")
        found = hosts.find_job({"PBS_NODEFILE": path, "PBS_JOBID": "9.n1"})
        self.assertEqual((found.source, found.path), ("PBS job 9.n1", path))
        self.assertEqual(found.hosts, [Host("n1", 2), Host("n2", 2)])

    def test_lsf(self):
        self.assertEqual(hosts.find_job({"LSB_MCPU_HOSTS": "a 2 b 2"}).hosts, [Host("a", 2), Host("b", 2)])
        self.assertEqual(hosts.find_job({"LSB_MCPU_HOSTS": "batch5 1 h1 42 h2 42"}).names, ["h1", "h2"])
        self.assertEqual(hosts.find_job({"LSB_MCPU_HOSTS": "a 1 b 1"}).names, ["a", "b"])
        path = self.file("a\na\nb\nb\n")
        self.assertEqual(hosts.find_job({"LSB_DJOB_HOSTFILE": path}).hosts, [Host("a", 2), Host("b", 2)])
        self.refuses("LSB_MCPU_HOSTS", hosts.find_job, {"LSB_MCPU_HOSTS": "a b"})

    def test_the_host_file_of_an_mpijob(self):
        path = self.file("t-worker-0.t.default.svc slots=2\nt-worker-1.t.default.svc slots=2\n")
        found = hosts.find_job({"OMPI_MCA_orte_default_hostfile": path})
        self.assertEqual(found.hosts, [Host(f"t-worker-{n}.t.default.svc", 2) for n in (0, 1)])
        self.refuses("No such file", hosts.find_job, {"OMPI_MCA_orte_default_hostfile": "/none"})

    def test_no_job(self):
        self.assertIsNone(hosts.find_job({}))

    def test_places(self):
        two, plain = [Host("a", 2), Host("b", 1)], [Host("a", None), Host("b", None)]
        self.assertEqual(hosts.place(two), ["a", "a", "b"])
        self.assertEqual(hosts.place(two, 5), ["a", "a", "b", "a", "a"])
        self.assertEqual(hosts.place(two, 2), ["a", "a"])
        self.assertEqual(hosts.place(plain), ["a", "b"])
        self.assertEqual(hosts.place(plain, 4), ["a", "a", "b", "b"])
        self.assertEqual(hosts.place(plain, 4, per_host=1), ["a", "b", "a", "b"])
        self.assertEqual(hosts.place(plain, None, per_host=3), ["a"] * 3 + ["b"] * 3)


if __name__ == "__main__":
    unittest.main()

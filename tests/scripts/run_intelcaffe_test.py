#!/usr/bin/env python3
"""scripts/run_intelcaffe.sh: options, checks and result files, with stand-ins for the program and for mpirun."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "run_intelcaffe.sh"
SOLVER = 'net: "net.prototxt"  # the "net"\nbase_lr: 0.1\n'
NET = 'layer { type: "Data" data_param { source: "lmdb" } }\nlayer { type: "Data" data_param { source: "part_%#" } }\n'


class RunIntelCaffe(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.put("mpirun", "#!/bin/bash\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"
                           "echo \"mpirun: $*\"; exit 5\n")
        self.put("caffe", "#!/bin/bash\necho \"caffe $* threads ${OMP_NUM_THREADS:-unset}\"; exit 3\n")
        self.put("agent", "#!/bin/sh\n[ \"$1\" = gone ] && echo 'No route to host' >&2 && exit 255\nexit 0\n")
        self.put("solver.prototxt", SOLVER)
        self.put("net.prototxt", NET)
        self.put("hosts", "h2\nh1 slots=4\n\n# no\nh2\n")
        (self.folder / "lmdb").mkdir()

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def run_it(self, *arguments, **env):
        whole = {"PATH": f"{self.folder}:{os.environ['PATH']}", "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
                 "OMP_NUM_THREADS": "77", **env}
        done = subprocess.run([SCRIPT, *arguments], env=whole, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    def train(self, *arguments, **env):
        return self.run_it("--caffe_bin", "caffe", "--solver", "solver.prototxt", "--output", "out", "--cpu", "skx",
                           *arguments, **env)

    def refuses(self, part, *arguments):
        code, _, err = self.run_it(*arguments)
        self.assertEqual((code, part in err), (1, True), err)

    def read(self, name):
        return (self.folder / "out" / name).read_text()

    def test_several_hosts(self):
        code, out, err = self.train("--hostfile", "hosts", "--ppn", "2", "--network", "opa", "--engine", "MKLDNN",
                                    "--snapshot", "auto")
        self.assertEqual(code, 5, err)
        want = f"{self.folder}/caffe train --solver=solver.prototxt --snapshot=auto --engine=MKLDNN"
        self.assertEqual(self.read("nodeconfig-skx-2.txt"), f"-host h1 -n 2 {want} \n-host h2 -n 2 {want} \n")
        start = f"{ROOT}/scripts/robusta_launch/rank_start.py --bind --frame"
        self.assertIn(f"--host h1:2,h2:2 -n 4 {start} -- {want}", out)
        self.assertEqual(self.read("outputCluster-skx-2.txt"), out)

    def test_one_process_needs_no_mpirun(self):
        code, out, err = self.train()
        self.assertEqual((code, out), (3, "caffe train --solver=solver.prototxt threads unset\n"), err)
        self.assertEqual(self.read("outputCluster-skx-1.txt"), out)

    def test_threads(self):
        self.assertIn("threads 1\n", self.train("--num_omp_threads", "1")[1])
        code, out, err = self.train("--num_omp_threads", "100000")
        self.assertRegex(err, r"--num_omp_threads 100000 is more than the \d+ cores of a process")
        self.assertRegex(out, r"threads \d+\n")
        self.assertNotIn("100000", out)

    def test_tcp(self):
        _, out, _ = self.train("--hostfile", "hosts", "--network", "tcp", "--netmask", "ib0",
                               "--mpi_iallreduce_algo", "4")
        self.assertIn("--mca btl self,vader,tcp", out)
        self.assertIn("--mca btl_tcp_if_include ib0", out)
        self.assertIn("--mca coll_libnbc_iallreduce_algorithm 1", out)

    def test_debug(self):
        _, out, _ = self.train("--hostfile", "hosts", "--debug", "on")
        self.assertIn("--display-map", out)
        self.assertIn("DDL_OPTIONS= -dbg_level 2", out)

    def test_time(self):
        code, out, err = self.run_it("--mode", "inf_time", "--caffe_bin", "caffe", "--model_file", "net.prototxt",
                                     "--iteration", "5", "--ppn", "2", "--output", "out", "--cpu", "skx")
        self.assertEqual(code, 3, err)
        want = "caffe time --model=net.prototxt --iterations=5 -forward_only -phase TEST threads unset\n"
        self.assertEqual(sorted(out.splitlines(True)), [f"[0] {want}", f"[1] {want}"])

    def test_options_without_effect_are_named(self):
        _, _, err = self.train("--num_mlsl_servers", "2", "--msg_priority", "on", "--msg_priority_threshold", "1",
                               "--internal_thread_pin", "off")
        self.assertEqual(err.count("is ignored: it tunes MLSL"), 4)

    def test_nothing_but_its_own_folder_is_written(self):
        before = set(os.listdir(self.folder))
        self.train()
        self.assertEqual(set(os.listdir(self.folder)) - before, {"out"})

    def test_refusals(self):
        base = ("--caffe_bin", "caffe")
        good = (*base, "--solver", "solver.prototxt")
        for part, arguments in (
                ("option --prepend is not known", (*good, "--prepend", "1")),
                ("--ppn wants a whole number from 1", (*good, "--ppn", "0")),
                ("--network ib is not one of: opa tcp", (*good, "--network", "ib")),
                ("--network tcp needs --netmask", (*good, "--network", "tcp")),
                ("--mode train needs --solver", (*base, "--ppn", "1")),
                ("--mode time needs --model_file", ("--mode", "time")),
                ("--iteration wants a whole number from 1", ("--mode", "time", "--model_file", "net.prototxt")),
                ("--solver none: there is no such file", (*base, "--solver", "none")),
                ("there is no program ./nocaffe", ("--caffe_bin", "nocaffe", "--solver", "solver.prototxt")),
                ("--hostfile none: there is no such file", (*good, "--hostfile", "none")),
                ("there is no IMB-none", (*good, "--benchmark", "mpi", "--mpibench_bin", "IMB-none", "--output", "o"))):
            self.refuses(part, *arguments)
        self.put("hosts", "gone\n")
        self.refuses("cannot reach gone (No route to host)", *good, "--hostfile", "hosts")
        (self.folder / "lmdb").rmdir()
        self.refuses("net.prototxt reads lmdb, which is not there", *good)
        self.put("solver.prototxt", 'net: "gone.prototxt"\n')
        self.refuses("names the net gone.prototxt, which is not there", *good)

    def test_usage(self):
        for arguments, want in (((), 1), (("--help",), 0), (("--solver=x", "--help"), 0)):
            code, out, _ = self.run_it(*arguments)
            self.assertEqual((code, out.split(" ")[0]), (want, "run_intelcaffe.sh"))


if __name__ == "__main__":
    unittest.main()

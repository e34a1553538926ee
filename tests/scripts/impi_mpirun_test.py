#!/usr/bin/env python3
"""scripts/impi/mpirun: what it makes of Intel MPI's command lines; ranks, output and exit codes come through."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRAPPER = ROOT / "scripts" / "impi" / "mpirun"
START = str(ROOT / "scripts" / "robusta_launch" / "rank_start.py")
SAFETY = " --mca oob_tcp_keepalive_time 30 --mca oob_tcp_keepalive_intvl 9 --mca oob_tcp_keepalive_probes 4"
SAFETY += " --mca odls_base_sigkill_timeout 5"
VERSIONS = {"openmpi": "mpirun (Open MPI) 4.1.4", "openmpi5": "mpirun (Open MPI) 5.0.3",
            "hydra": "HYDRA build details:\n    Version:                4.0.2", "other": "LAM 7.1"}


def system_mpirun():
    """The machine's own Open MPI, or None."""
    path = shutil.which("mpirun")
    if not path or b"robusta-impi" in pathlib.Path(path).read_bytes()[:400]:
        return None
    told = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    return path if b"Open MPI" in told else None


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def put(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)


class Translation(Case):
    """--show with a stand-in for the true mpirun, which only tells its version."""

    def show(self, *arguments, kind="openmpi", env=None):
        self.put("mpirun", f"#!/bin/sh\necho '{VERSIONS[kind]}'\n", 0o755)
        self.put("caffe", "#!/bin/sh\n", 0o755)
        whole = {"PATH": f"{WRAPPER.parent}:{self.folder}:/usr/bin:/bin", **(env or {})}
        return subprocess.run([WRAPPER, "--show", *arguments], env=whole, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)

    def line(self, *arguments, **more):
        """The line it would run, without mpirun's path, the options that are always there, and -x PATH."""
        done = self.show(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = done.stderr.splitlines()[-1]
        self.assertTrue(line.startswith(f"+ {self.folder}/mpirun "), line)
        return line.replace(f"+ {self.folder}/mpirun", "").replace(SAFETY, "").replace(" -x PATH", "").replace(
            START, "START").strip()

    def refuses(self, part, *arguments, code=1, **more):
        done = self.show(*arguments, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""))
        self.assertIn(part, done.stderr)

    def test_the_line_of_the_seed_takes_a_rank_per_line_of_the_node_file(self):
        nodes = self.put("nodes", "n1\nn2\nn3\nn4\n")
        for option in ("-PSM2", "-psm2"):
            self.assertEqual(self.line(option, "-prepend-rank", "caffe", "train", "--solver", "s",
                                       env={"PBS_NODEFILE": nodes}),
                             "--bind-to none --tag-output --host n1:1,n2:1,n3:1,n4:1 -n 4 START --bind --frame -- "
                             "caffe train --solver s")

    def test_node_file_with_repeats(self):
        nodes = self.put("nodes", "n1\nn1\nn2\nn2\n")
        self.assertEqual(self.line("caffe", env={"PBS_NODEFILE": nodes}),
                         "--bind-to none --host n1:2,n2:2 -n 4 START --bind -- caffe")
        self.assertEqual(self.line("-n", "2", "caffe", env={"PBS_NODEFILE": nodes}),
                         "--bind-to none --host n1:2 -n 2 START --bind -- caffe")
        self.assertEqual(self.line("-ppn", "1", "-n", "2", "caffe", env={"PBS_NODEFILE": nodes}),
                         "--bind-to none --host n1:1,n2:1 -n 2 START --bind -- caffe")

    def test_hosts(self):
        mpich = self.put("mpich", "n1:2\nn2:2\n")
        for words, want in ((("-hosts", "n1,n2", "-perhost", "2"), "--host n1:2,n2:2 -n 4"),
                            (("-hosts", "n1,n2", "-n", "4"), "--host n1:2,n2:2 -n 4"),
                            (("-f", mpich), "--host n1:2,n2:2 -n 4"),
                            (("-machinefile", mpich, "-n", "3"), "--host n1:2,n2:1 -n 3"),
                            (("-host", "n7", "-np", "3"), "--host n7:3 -n 3"),
                            (("-n", "2"), "-n 2"), ((), "-n 1")):
            self.assertEqual(self.line(*words, "caffe"), f"--bind-to none {want} START --bind -- caffe")

    def test_ranks_that_take_hosts_in_turn(self):
        line = self.line("-hosts", "n1,n2", "-ppn", "1", "-n", "4", "caffe")
        self.assertRegex(line, r"--hostfile \S+robusta-hosts\.\S+ --mca rmaps seq -n 4 START")
        self.assertFalse(os.path.exists(re.search(r"--hostfile (\S+)", line)[1]), "the file is gone afterwards")

    def test_a_long_list_becomes_a_file(self):
        names = [f"a-rather-long-host-name-{n}" for n in range(20)]
        done = self.show("-hosts", ",".join(names), "caffe")
        self.assertRegex(done.stderr, r"--hostfile \S+robusta-hosts\.\S+ -n 20 ")

    def test_slurm_and_lsf(self):
        slurm = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}
        for env in (slurm, {"LSB_MCPU_HOSTS": "n1 2 n2 2"}):
            self.assertIn("--host n1:2,n2:2 -n 4 ", self.line("caffe", env=env))

    def test_environment(self):
        env = {"LD_LIBRARY_PATH": "/l", "OMP_NUM_THREADS": "60", "KMP_AFFINITY": "compact", "HOME": "/h", "FOO": "1",
               "HOSTNAME": "me", "PBS_JOBID": "1"}
        base = "--bind-to none -x LD_LIBRARY_PATH -x KMP_AFFINITY -x OMP_NUM_THREADS"
        tail = "-n 1 START --bind -- caffe"
        for words, want in (((), ""), (("-genvall",), " -x FOO -x HOME"), (("-genvlist", "FOO,BAR"), " -x FOO"),
                            (("-genv", "A", "b c"), " -x 'A=b c'"), (("-genv", "A=b"), " -x A=b")):
            self.assertEqual(self.line(*words, "-n", "1", "caffe", env=env), f"{base}{want} {tail}")
        self.assertEqual(self.line("-genv", "OMP_NUM_THREADS", "2", "-n", "1", "-env", "B", "1", "caffe", env=env),
                         "--bind-to none -x LD_LIBRARY_PATH -x KMP_AFFINITY -x OMP_NUM_THREADS=2 -n 1 -x B=1 "
                         "START --bind -- caffe")

    def test_configuration_file(self):
        same = self.put("same", "# nodes\n-host n1 -n 2 caffe train -solver 'a b'\n"
                                "-host n2 -n 2 caffe train -solver 'a b'\n")
        self.assertEqual(self.line("-l", "-configfile", same),
                         "--bind-to none --tag-output --host n1:2,n2:2 -n 4 START --bind --frame -- "
                         "caffe train -solver 'a b'")
        two = self.put("two", "-host n1 -n 1 caffe train\n-host n2 -n 1 -env A 1 caffe test\n")
        self.assertEqual(self.line("-configfile", two),
                         "--bind-to none --host n1:1 -n 1 START --bind -- caffe train : "
                         "--host n2:1 -n 1 -x A=1 START --bind -- caffe test")
        self.refuses("No such file", "-configfile", "/nonexistent", code=2)

    def test_settings_of_intel_mpi(self):
        for env, want in (({"I_MPI_FABRICS": "shm:tcp", "I_MPI_TCP_NETMASK": "ib0"},
                           "--mca pml ob1 --mca btl self,vader,tcp --mca btl_tcp_if_include ib0 "
                           "--mca oob_tcp_if_include ib0 --bind-to none -n 1 START --bind --"),
                          ({"I_MPI_PIN": "0"}, "--bind-to none -n 1"),
                          ({"I_MPI_PERHOST": "2", "PBS_NODEFILE": self.put("nodes", "n1\nn2\n")},
                           "--bind-to none --host n1:2,n2:2 -n 4 START --bind --"),
                          ({"I_MPI_ADJUST_ALLREDUCE": "8"}, "--mca coll_tuned_use_dynamic_rules 1 --mca "
                           "coll_tuned_allreduce_algorithm 4 --bind-to none -n 1 START --bind --")):
            words = () if "PBS_NODEFILE" in env else ("-n", "1")
            self.assertEqual(self.line(*words, "caffe", env=env), want + " caffe")
        self.assertEqual(self.line("-genv", "I_MPI_PIN", "off", "-n", "1", "caffe"), "--bind-to none -n 1 caffe")
        done = self.show("-n", "1", "caffe", env={"I_MPI_FALLBACK": "0", "I_MPI_ROOT": "/opt"})
        self.assertIn("ignored: I_MPI_FALLBACK=0\n", done.stderr)

    def test_options_without_meaning_are_named(self):
        done = self.show("-n", "1", "-rmk", "pbs", "-ilp64", "caffe")
        self.assertIn("without meaning here, ignored: -rmk pbs, -ilp64\n", done.stderr)
        if not os.path.exists("/dev/hfi1_0"):
            self.assertIn("no Omni-Path device", self.show("-PSM2", "-n", "1", "caffe").stderr)
        self.assertIn("OMPI_MCA_pml=ob1 of the environment decides instead",
                      self.show("-PSM2", "-n", "1", "caffe", env={"OMPI_MCA_pml": "ob1"}).stderr)

    def test_command_lines_for_open_mpi_pass(self):
        self.assertEqual(self.line("-x", "PATH", "-x", "LD_LIBRARY_PATH", "-n", "8", "-rf", "4x2x1.rf", "caffe",
                                   "train", "-gpu", "0", "-ddl", "-mode b:4x2x1 -dev_sync 1"),
                         "-x LD_LIBRARY_PATH --rf 4x2x1.rf -n 8 caffe train -gpu 0 -ddl "
                         "'-mode b:4x2x1 -dev_sync 1'")
        line = self.show("-x", "OMP_NUM_THREADS", "-n", "1", "caffe", env={"OMP_NUM_THREADS": "2"}).stderr
        self.assertEqual(line.count("OMP_NUM_THREADS"), 1, line)
        self.assertEqual(self.line("--mca", "btl", "tcp,self", "--bind-to", "core", "-n", "2", "caffe"),
                         "--mca btl tcp,self --bind-to core -n 2 caffe")

    def test_settings_of_open_mpi_in_the_environment_stay(self):
        done = self.show("-n", "1", "caffe", env={"OMPI_MCA_oob_tcp_keepalive_time": "5"})
        self.assertNotIn("keepalive_time", done.stderr)
        self.assertIn("oob_tcp_keepalive_probes 4", done.stderr)
        done = self.show("-n", "1", "caffe", kind="openmpi5")
        self.assertIn("--prtemca oob_tcp_keepalive_time 30", done.stderr)

    def test_mpich(self):
        nodes = self.put("nodes", "n1\nn1\nn2\nn2\n")
        self.assertEqual(self.line("-PSM2", "-prepend-rank", "-genv", "A", "b", "caffe", "train", kind="hydra",
                                   env={"PBS_NODEFILE": nodes}),
                         "-prepend-rank -genv A b -hosts n1:2,n2:2 -n 4 START --bind -- caffe train")

        self.assertEqual(self.line("-hosts", "n1,n2", "-ppn", "1", "-n", "4", "caffe", kind="hydra"),
                         "-hosts n1:1,n2:1 -n 4 START --bind -- caffe")

    def test_refusals(self):
        self.refuses("option -perhst is not known here; did you mean -perhost?", "-perhst", "2", "caffe")
        self.refuses("-n wants a number of ranks", "-n", "two", "caffe")
        self.refuses("no program is named", "-n", "2")
        self.refuses("-n wants 1 word", "-n")
        self.refuses("there is no program nosuch", "-n", "2", "nosuch")
        self.refuses("no counterpart in Open MPI", "-outfile-pattern", "x", "caffe")
        self.refuses("neither Open MPI's nor MPICH's", "-n", "1", "caffe", kind="other", code=9)

    def test_never_finds_itself(self):
        copy = self.folder / "copy"
        copy.mkdir()
        (copy / "mpirun").symlink_to(WRAPPER)
        shutil.copy(WRAPPER, self.folder / "mpirun")
        done = subprocess.run([shutil.which("python3"), WRAPPER, "-n", "1", "true"],
                              env={"PATH": f"{WRAPPER.parent}:{copy}:{self.folder}"}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
        self.assertEqual(done.returncode, 9)
        self.assertIn("there is no mpirun of an MPI library in PATH", done.stderr)


@unittest.skipUnless(system_mpirun(), "Open MPI is not installed")
class Running(Case):
    """Real runs on this host."""

    ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_odls_base_sigkill_timeout": "1"}

    def start(self, *arguments):
        return subprocess.Popen([WRAPPER, *arguments], env=self.ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, universal_newlines=True)

    def finish(self, child):
        out, err = child.communicate(timeout=60)
        return child.returncode, out, err

    def test_prefixes_are_lossless_and_streams_stay_apart(self):
        # Bursts of short lines: more than Open MPI's own tags get through.
        code, out, err = self.finish(self.start("-l", "-n", "2", "sh", "-c", "seq 1 20000; echo oops >&2"))
        self.assertEqual(code, 0)
        lines = out.splitlines()
        for rank in "01":
            self.assertEqual([line for line in lines if line.startswith(f"[{rank}] ")],
                             [f"[{rank}] {n}" for n in range(1, 20001)])
        self.assertEqual(len(lines), 40000)
        self.assertEqual(sorted(line for line in err.splitlines() if line.startswith("[")), ["[0] oops", "[1] oops"])

    def test_output_does_not_wait(self):
        child = self.start("-prepend-rank", "-n", "1", "sh", "-c", "printf 'half '; sleep 3; echo whole")
        begin = time.monotonic()
        self.assertEqual(os.read(child.stdout.fileno(), 100), b"[0] half ")
        self.assertLess(time.monotonic() - begin, 2.9)
        self.assertEqual(self.finish(child)[1], "whole\n")

    def test_exit_codes(self):
        for options in ((), ("-l",)):
            self.assertEqual(self.finish(self.start(*options, "-n", "1", "sh", "-c", "exit 6"))[0], 6)
            code, _, err = self.finish(self.start(*options, "-n", "1", "sh", "-c", "kill -9 $$"))
            self.assertEqual(code, 137)
            self.assertIn("by the death of rank 0", err)

    def test_what_the_ranks_leave_is_the_code(self):
        for options in ((), ("-l",)):
            code, _, err = self.finish(self.start(*options, "-n", "1", "sh", "-c",
                                                  "echo 6 0 the loss is not finite > $ROBUSTA_EXIT_FILE; exit 1"))
            self.assertEqual(code, 6)
            self.assertIn("mpirun: the job ended with exit code 6, by rank 0: the loss is not finite\n", err)
        own = self.put("own_exit_file", "8 0 of an earlier job\n")
        self.ENV = {**self.ENV, "ROBUSTA_EXIT_FILE": own}
        self.assertEqual(self.finish(self.start("-n", "1", "true"))[0], 0)
        os.unlink(own)
        self.assertEqual(self.finish(self.start("-n", "1", "sh", "-c", "echo 3 0 x > $ROBUSTA_EXIT_FILE; exit 1"))[0], 3)
        self.assertTrue(os.path.exists(own))

    def test_a_host_that_mpirun_lost_is_named(self):
        self.put("mpirun", f"#!/bin/sh\n[ \"$1\" = --version ] && echo '{VERSIONS['openmpi']}' && exit\n"
                 "printf 'ORTE has lost communication with a remote daemon.\\n\\n  HNP daemon   : [[9,0],0] on node h1\\n"
                 "  Remote daemon: [[9,0],1] on node h2\\n\\nThis is usually due to' >&2; exit 205\n", 0o755)
        self.ENV = {**self.ENV, "PATH": f"{self.folder}:{self.ENV['PATH']}"}
        for options in ((), ("-l",)):
            code, _, err = self.finish(self.start(*options, "-hosts", "h1,h2", "true"))
            self.assertEqual(code, 8, err)
            self.assertIn("by its launcher, which lost host h2", err)
            self.assertIn("This is usually due to", err)

    def test_signals_reach_the_ranks(self):
        for options in ((), ("-l",)):
            child = self.start(*options, "-n", "2", "sh", "-c",
                               "trap 'echo caught; exit 0' USR1; echo up; while :; do sleep 0.1; done")
            for _ in range(2):
                self.assertIn("up", child.stdout.readline())
            child.send_signal(signal.SIGUSR1)
            code, out, _ = self.finish(child)
            self.assertEqual((code, out.count("caught")), (0, 2))

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one processor cannot be shared out")
    def test_every_rank_gets_its_share(self):
        show = "grep Cpus_allowed_list /proc/self/status"
        cores = len(os.sched_getaffinity(0))
        _, out, _ = self.finish(self.start("-n", "1", "sh", "-c", show))
        whole = subprocess.run(["sh", "-c", show], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        self.assertEqual(out, whole)
        code, out, _ = self.finish(self.start("-n", "2", "sh", "-c", show))
        self.assertEqual(code, 0)
        self.assertEqual(len(set(out.splitlines())), 2, f"two ranks on {cores} processors share none: {out}")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Names of hosts and variables that would be options or commands of ssh, mpirun or a shell: all launchers refuse them
before anything is started."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
# hosts_test.py has more.
HOSTILE = ("-oProxyCommand=touch${IFS}hit", "-F_config@h1", "$(touch)")
# Both tell what they were called with; nothing is ever started.
STAND_INS = {"mpirun": "#!/bin/bash\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"
                       "printf '%s\\n' \"$*\" >> called\n",
             "agent": "#!/bin/bash\nprintf '%s\\n' \"$*\" >> called\n",
             "caffe": "#!/bin/bash\nprintf 'caffe %s\\n' \"$*\" >> called\n"}


class HostileNames(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in STAND_INS.items():
            self.put(name, text).chmod(0o755)
        self.put("solver.prototxt", 'net: "net.prototxt"\n')
        self.put("net.prototxt", "")

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run_it(self, *words, **env):
        whole = {"PATH": f"{self.folder}:/usr/bin:/bin", "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
                 "TMPDIR": str(self.folder), **env}
        return subprocess.run(words, cwd=self.folder, env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, stdin=subprocess.DEVNULL, timeout=60, check=False)

    def refuses(self, part, *words, **env):
        done = self.run_it(*words, **env)
        self.assertIn(done.returncode, (1, 2), (words, env, done.stderr))
        self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "called").exists(), (words, env))
        self.assertFalse((self.folder / "hit").exists())

    def launches(self, *words, **env):
        done = self.run_it(*words, **env)
        self.assertTrue((self.folder / "called").exists(), done.stderr)
        (self.folder / "called").unlink()

    def test_host_files(self):
        train = ("--caffe_bin", "caffe", "--solver", "solver.prototxt", "--output", "out", "--cpu", "skx")
        for name in HOSTILE:
            self.put("hosts", f"h1\n{name}\n")
            self.refuses("hosts:2", SCRIPTS / "run_intelcaffe.sh", *train, "--hostfile", "hosts")
            self.refuses("hosts:2", SCRIPTS / "ddlrun", "-hostfile", "hosts", "caffe")
            self.refuses("hosts:2", SCRIPTS / "impi" / "mpirun", "-f", "hosts", "-n", "2", "caffe")
            self.refuses("hosts:2", SCRIPTS / "ddlrun", "caffe", PBS_NODEFILE="hosts")
        self.put("hosts", "h1 slots=2\r\nme@h2:3\n\n# h3\nh2.a-b_c")
        self.launches(SCRIPTS / "run_intelcaffe.sh", *train, "--hostfile", "hosts")

    def test_lists(self):
        for name in HOSTILE:
            self.refuses("no host name", SCRIPTS / "ddlrun", "-H", f"h1,{name}", "caffe")
            self.refuses("no host name", SCRIPTS / "impi" / "mpirun", "-hosts", f"h1,{name}", "-n", "2", "caffe")
            self.refuses("no host name", SCRIPTS / "impi" / "mpirun", "-host", name, "-n", "2", "caffe")
            self.refuses("", SCRIPTS / "ddlrun", "caffe", SLURM_JOB_NODELIST=f"h1,{name}")
            self.refuses("", SCRIPTS / "ddlrun", "caffe", LSB_MCPU_HOSTS=f"h1 2 {name} 2")

    def test_rank_files(self):
        for name in HOSTILE:
            self.put("ranks", f"rank 0=h1 slot=0:0\nrank 1={name} slot=0:0\n")
            self.refuses("ranks:2", SCRIPTS / "ddlrun", "-rankfile", "ranks", "caffe")
            self.refuses("ranks:2", SCRIPTS / "impi" / "mpirun", "-rf", "ranks", "-n", "2", "caffe")
            self.refuses("no host name", SCRIPTS / "rank_gen.py", "1x2", f"h1,{name}")
        self.put("ranks", "rank 0=h1 slot=0:0\nrank 1=+n1 slot=0:0\n")
        self.launches(SCRIPTS / "ddlrun", "-rankfile", "ranks", "caffe")

    def test_variables_and_interfaces(self):
        for name in ("A;touch", ""):
            self.refuses("no name of a variable", SCRIPTS / "impi" / "mpirun", "-genv", name, "1", "-n", "1", "caffe")
            self.refuses("no name of a variable", SCRIPTS / "impi" / "mpirun", "-x", f"{name}=1", "-n", "1", "caffe")
        self.refuses("no name of a variable", SCRIPTS / "ddlrun", "-H", "localhost", "-x", "A;touch=1", "-skipchecks",
                     "-sockets", "1", "-cores", "1", "caffe")
        for value in ("--launch-agent", "$(touch)"):
            self.refuses("neither an interface", SCRIPTS / "impi" / "mpirun", "-iface", value, "-n", "1", "caffe")
            self.refuses("neither an interface", SCRIPTS / "impi" / "mpirun", "-n", "1", "caffe",
                         I_MPI_TCP_NETMASK=value)
            self.refuses("is neither an interface", SCRIPTS / "run_intelcaffe.sh", "--network", "tcp", "--netmask",
                         value, "--solver", "solver.prototxt")

    def test_words_of_shell_scripts(self):
        script = SCRIPTS / "run_intelcaffe.sh"
        self.refuses("is no option", script, "--@", "1")
        self.refuses("is no option", script, "--a[$(touch hit)]", "1")
        self.refuses("wants a whole number", script, "--ppn", "a[$(touch hit)]", "--solver", "solver.prototxt")
        self.refuses("wants a whole number", script, "--ppn", "99999999999999999999", "--solver", "solver.prototxt")
        self.run_it(script, "--caffe_bin", "caffe", "--solver", "solver.prototxt", "--output", "--help", "--cpu", "skx")
        self.assertTrue((self.folder / "--help").is_dir())

    def test_chains_of_jobs(self):
        self.put("ddlrun", "#!/bin/bash\necho Optimization stopped early; echo Optimization Done.\n").chmod(0o755)
        self.put("job", f'. "{SCRIPTS}/jobs/chain.sh"\ntrain_on "$NAME.log" echo submitted\n')
        done = self.run_it("bash", "job", NAME="-f/dev/null", LEFT="a[$(touch hit)]", SOLVER="s")
        self.assertEqual((done.returncode, done.stdout), (1, 'LEFT is "a[$(touch hit)]", not a number of further jobs\n'))
        self.assertFalse((self.folder / "hit").exists())
        for name in ("-f", "early=1"):
            done = self.run_it("bash", "job", NAME=name, LEFT="3", SOLVER="s")
            self.assertIn("submitted", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()

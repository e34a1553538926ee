#!/usr/bin/env python3
"""scripts/ddlrun: hosts, grid and command line, the checks of the hosts, signals and exit codes.

mpirun and ssh are stand-ins here; tests/cluster/ runs the true ones.
"""

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
DDLRUN = ROOT / "scripts" / "ddlrun"
KEEPALIVE = "--mca oob_tcp_keepalive_time {} --mca oob_tcp_keepalive_intvl {} --mca oob_tcp_keepalive_probes 4 "

# Runs the command as if on $host: with a login script's noise around, and the host's own name, clock and processors.
AGENT = """#!/bin/sh
host=$1; shift
case $host in
  gone) echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255 ;;
  alias) name=real ;;
  *) name=$host ;;
esac
tools=$(dirname "$0")/on.$host
mkdir -p "$tools"
printf '#!/bin/sh\\necho %s\\n' "$name" > "$tools/uname"
case $host in
  odd) rows='0,0,0 1,1,0 2,2,0' ;;
  *) rows='0,0,0 1,1,0 2,2,1 3,3,1 4,0,0 5,1,0 6,2,1 7,3,1' ;;
esac
printf '#!/bin/sh\\necho "# CPU,CORE,SOCKET"\\nprintf "%%s\\\\n" %s\\n' "$rows" > "$tools/lscpu"
printf '#!/bin/sh\\necho 0-7\\n' > "$tools/sed"
if [ "$host" = late ]; then printf '#!/bin/sh\\necho 1000.5\\n' > "$tools/date"; fi
if [ "$host" = other ]; then printf '#!/bin/sh\\necho 1 1\\n' > "$tools/cksum"; fi
if [ "$host" = bare ]; then set -- "$(printf '%s' "$*" | sed 's/caffe/nosuchprogram/')"; fi
chmod +x "$tools"/*
echo "Welcome to $host"; echo "program=/fake"
sh -c "$(printf '%s' "$*" | sed "s#PATH=#PATH=$tools:#")"
echo "Goodbye"
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.mpirun_does("exit 0\n")
        self.put("caffe", "#!/bin/sh\n")
        self.put("agent", AGENT)
        self.env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
                    "TMPDIR": str(self.folder)}
        for name in ("LD_LIBRARY_PATH", "HOME"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def mpirun_does(self, text):
        """The stand-in sets $exit_file and does this."""
        self.put("mpirun", "#!/bin/bash\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"
                           "for word; do case $word in ROBUSTA_EXIT_FILE=*) exit_file=${word#*=} ;; esac; done\n" +
                 text)

    def start(self, *arguments):
        return subprocess.Popen([DDLRUN, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, universal_newlines=True, cwd=self.folder)

    def run_it(self, *arguments):
        """(exit code, stdout, stderr)"""
        child = self.start(*arguments)
        out, err = child.communicate(timeout=60)
        return child.returncode, out, err

    def refuses(self, part, *arguments, code=1):
        returned, _, err = self.run_it(*arguments)
        self.assertIn(part, err)
        self.assertEqual(returned, code)


class Planning(Case):
    def show(self, *arguments):
        """(rank file, command line without what is always there)."""
        code, out, err = self.run_it("-show", "-sockets", "2", "-cores", "10", *arguments)
        self.assertEqual(code, 0, err)
        line = [text for text in err.splitlines() if text.startswith("+ ")][-1]
        line = re.sub(r"-x (PATH|LD_LIBRARY_PATH|\w+_NUM_THREADS|OPENBLAS\w*|OMP\w*|KMP\w*) ", "", line)
        line = re.sub(r"/\S*/ddlrun\.\w+", "RUN", line).replace(f"+ {self.folder}/mpirun ", "")
        return out, line.replace("--mca odls_base_sigkill_timeout 1 ", "").replace("-x DDL_HOST_PORT=2200 ", "")

    def expect(self, want, *arguments, keepalive=(30, 9)):
        self.assertEqual(self.show(*arguments)[1], KEEPALIVE.format(*keepalive) + want)

    def test_the_whole_line(self):
        self.expect("--rankfile RUN/rankfile -n 12 -x 'DDL_HOST_LIST=a:0,2,4,6,8,10;b:1,3,5,7,9,11' "
                    "-x ROBUSTA_EXIT_FILE=RUN/exit_code -x 'DDL_OPTIONS=-mode p:6x2x1x1 ' caffe train -solver s",
                    "-H", "a,b", "-accelerators", "6", "caffe", "train", "-solver", "s")

    def test_rank_file(self):
        text, _ = self.show("-H", "a,b", "-tasks", "4", "caffe")
        self.assertIn("#dims = 4x2x1x1\n#host = a,b\n", text)
        self.assertIn("rank 6=a                   slot=1:5-9\n", text)

    def test_modes(self):
        base = ("-H", "a,b", "-n", "8")
        for words, want in ((("-mode", "b"), "-mode b:4x2x1x1 "), (("--m", "r"), "-mode r:4x2x1x1 "),
                            (("-mode=b:4x2x1",), "-mode b:4x2x1 "),
                            (("-ddlarg", "-dump_iter 100", "--ddloption", "-dev_sync 1"),
                             "-mode p:4x2x1x1 -dump_iter 100 -dev_sync 1")):
            self.assertIn(f"-x 'DDL_OPTIONS={want}' caffe", self.show(*base, *words, "caffe")[1])
        self.assertNotIn("DDL_OPTIONS", self.show(*base, "-no_ddloptions", "caffe")[1])

    def test_the_programs_own_ddl_decides(self):
        _, line = self.show("-H", "a,b", "caffe", "train", "-ddl", "-mode r:2x2 -timeout 20")
        self.assertNotIn("DDL_OPTIONS", line)
        self.assertIn("-n 4 -x 'DDL_HOST_LIST=a:0,2;b:1,3'", line)
        self.assertTrue(line.startswith(KEEPALIVE.format(10, 4)), "the keepalives follow -timeout")

    def test_racks_and_aisles(self):
        _, line = self.show("-H", "a,b,c,d", "-nodes", "2", "-racks", "2", "caffe")
        self.assertIn("DDL_HOST_LIST=a:0;b:2;c:1;d:3", line)
        self.assertIn("p:1x2x2x1", line)
        self.refuses("-nodes 3 does not make 4 hosts", "-H", "a,b,c,d", "-nodes", "3", "-show", "-sockets", "1",
                     "-cores", "1", "caffe")

    def test_without_binding(self):
        _, line = self.show("-nobind", "-H", "a,b,c,d", "-nodes", "2", "-racks", "2", "-accelerators", "2", "caffe")
        self.assertIn("--host a:2,c:2,b:2,d:2 --map-by node --bind-to none -n 8 -x 'DDL_HOST_LIST=a:0,4;b:2,6;c:1,5;d:3,7'",
                      line, "ranks of a host are as far apart as the dimensions say")
        self.assertNotIn("rankfile", line)
        # What cores there are does not matter, so hosts may differ.
        code, _, err = self.run_it("-nobind", "-H", "a,odd", "caffe")
        self.assertEqual(code, 0, err)
        self.refuses("hosts differ", "-H", "a,odd", "caffe", code=2)
        self.refuses("a rank file binds all", "-nobind", "-rf", self.put("r.rf", "rank 0=a slot=0:0\n"), "caffe")

    def test_words_for_mpirun(self):
        _, line = self.show("-H", "a", "-t", "-x", "FOO=1", "-mpiarg", "-x BAR --display-map", "caffe")
        self.assertIn("--mca pml ob1 --mca btl self,vader,tcp --rankfile", line)
        self.assertTrue(line.endswith("-x FOO=1 -x BAR --display-map caffe"), line)

    def test_hosts_of_batch_systems(self):
        nodes = self.put("nodes", "a\na\nb\nb\n")
        for env in ({"PBS_NODEFILE": nodes, "PBS_JOBID": "1"}, {"LSB_MCPU_HOSTS": "a 2 b 2"},
                    {"SLURM_JOB_NODELIST": "a,b", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}):
            self.env.update(env)
            self.assertIn("-n 4 -x 'DDL_HOST_LIST=a:0,2;b:1,3'", self.show("caffe")[1])
            for name in env:
                del self.env[name]
        self.assertIn("DDL_HOST_LIST=x:0", self.show("-hostfile", self.put("file", "x\n"), "caffe")[1])

    def test_rank_file_of_the_user(self):
        path = self.put("mine.rf", "#dims = 2x2\nrank 0=a slot=0:0\nrank 2=a slot=0:1\nrank 1=b slot=0:0\n"
                                   "rank 3=b slot=0:1\n")
        # Nothing is asked of the hosts, so it does not matter that there are none.
        code, _, err = self.run_it("-show", "-rf", path, "caffe")
        self.assertEqual(code, 0, err)
        self.assertIn(f"--rankfile {path} -n 4 ", err)
        self.assertIn("-x 'DDL_HOST_LIST=a:0,2;b:1,3'", err)
        self.assertIn("DDL_OPTIONS=-mode p:2x2 ", err)
        self.refuses("places no rank", "-rf", self.put("empty.rf", "#\n"), "caffe", code=2)

    def test_refusals(self):
        hosts = ("-H", "a,b")
        self.refuses("invalid dim size=8 usr_size=4 dim[0]=4 dim[1]=1 dim[2]=1", *hosts, "-n", "8", "-mode", "b:4x1x1",
                     "caffe")
        self.refuses("4x1x1 wants 1 host with 4 ranks each", *hosts, "-mode", "b:4x1x1", "caffe")
        self.refuses('no algorithm "q"', *hosts, "-mode", "q", "caffe")
        self.refuses("-n 3: the ranks do not divide by 2 hosts", *hosts, "-n", "3", "-show", "-sockets", "1", "-cores",
                     "9", "caffe")
        self.refuses("different numbers of ranks (a:1, b:2)", "-H", "a:1,b:2", "-show", "-sockets", "1", "-cores", "9",
                     "caffe", code=2)
        self.refuses("option -acelerators is not known; did you mean -accelerators?", "-acelerators", "4", "caffe")
        self.refuses("no program is named", *hosts)
        self.refuses("-mpiarg: ': no closing quotation", *hosts, "-mpiarg", "'", "-skipchecks", "-sockets", "1", "-cores", "9",
                     "caffe")
        self.put("noise", "\x1b[2J\x7f a\n")
        self.refuses('"?[2J?"', "-hostfile", "noise", "caffe", code=2)
        self.refuses("-n wants a whole number", "-n", "x", "caffe")
        self.refuses("wants a word behind it", "-H")
        self.refuses("give -sockets and -cores", *hosts, "-skipchecks", "caffe")
        self.put("mpirun", "#!/bin/sh\necho 'HYDRA build details: Version: 4.0'\n")
        self.refuses("is not Open MPI's", *hosts, "caffe", code=9)


class Checking(Case):
    def test_all_well_in_spite_of_noisy_login_scripts(self):
        code, _, err = self.run_it("-v", "-H", "h1,h2", "-accelerators", "2", "caffe")
        self.assertEqual(code, 0, err)
        self.assertIn(f"h2: {self.folder}/caffe", err)
        self.assertIn("2 sockets with 2 cores", err, "two threads of a core are one core")
        self.assertNotIn("warning", err)

    def test_faults(self):
        for host, part, code in (("gone", "cannot reach gone (ssh: connect to host gone port 22: No route", 8),
                                 ("alias", "alias is another name of real", 2),
                                 ("bare", "there is no program caffe on bare", 2),
                                 ("other", "not the same file everywhere", 8),
                                 ("odd", "the hosts differ: 1 socket with 3 cores on odd; 2 sockets with 2", 2)):
            self.refuses(part, "-H", f"h1,{host}", "caffe", code=code)
        code, _, err = self.run_it("-H", "h1,odd", "-sockets", "1", "-cores", "2", "caffe")
        self.assertEqual(code, 0, "unequal hosts are taken when told what to use: " + err)

    def test_clocks(self):
        _, _, err = self.run_it("-H", "h1,late", "caffe")
        self.assertRegex(err, r"warning: the clock of late is -\d+\.\d s off")
        self.assertNotIn("clock of h1", err)

    def test_too_many_ranks_for_the_cores(self):
        self.refuses("5 ranks on a host do not fit its 4 cores", "-H", "h1", "-accelerators", "5", "caffe")


class Supervising(Case):
    WORDS = ("-H", "h1", "-skipchecks", "-sockets", "1", "-cores", "1")

    def test_exit_codes_of_the_ranks_win(self):
        for text, want in (("exit 0", 0), ("exit 3", 3), ("echo 8 > $exit_file; exit 137", 8),
                           ("echo 6 3 the loss is not finite > $exit_file; exit 1", 6),
                           ("echo 7 > $exit_file; exit 0", 7), ("echo nonsense > $exit_file; exit 205", 205),
                           ("echo 99 > $exit_file; exit 1", 1), ("kill -9 $$", 137)):
            self.mpirun_does(text + "\n")
            self.assertEqual(self.run_it(*self.WORDS, "caffe")[0], want, text)
        self.mpirun_does("echo 138 0 stopped > $exit_file; exit 1\n")
        for words, want in ((["-restart_code", "138"], 138), (["-restart_code=138"], 138), (["-restart_code", "99"], 1)):
            self.assertEqual(self.run_it(*self.WORDS, "caffe", *words)[0], want, words)

    def test_the_reason_of_the_ranks_is_told(self):
        self.mpirun_does("echo 8 5 rank 2 is silent > $exit_file; exit 1\n")
        _, _, err = self.run_it(*self.WORDS, "caffe")
        self.assertIn("the job ended with exit code 8, by rank 5: rank 2 is silent\n", err)

    def test_a_host_that_mpirun_lost_is_named(self):
        lost = ("printf 'ORTE has lost communication with a remote daemon.\\n\\n  HNP daemon   : [[9,0],0] on node h1\\n"
                "  Remote daemon: [[9,0],1] on node h2\\n\\nThis is usually due to' >&2; ")
        for text in ("exit 205", "echo 8 0 rank 0 has died > $exit_file; exit 137"):
            self.mpirun_does(lost + text + "\n")
            code, _, err = self.run_it(*self.WORDS, "caffe")
            self.assertEqual(code, 8, text)
            self.assertIn("by its launcher, which lost host h2", err)
            self.assertIn("This is usually due to", err)
        self.mpirun_does(lost + "echo 6 3 the loss is not finite > $exit_file; exit 1\n")
        self.assertEqual(self.run_it(*self.WORDS, "caffe")[0], 6, "an error of the ranks themselves came first")

    def test_a_rank_that_was_killed_before_the_watch_is_named(self):
        self.mpirun_does("echo 'mpirun noticed that process rank 3 with PID 4711 on node h2 exited on signal 9 (Killed).'"
                         " >&2; exit 137\n")
        code, _, err = self.run_it(*self.WORDS, "caffe")
        self.assertEqual(code, 8)
        self.assertIn("rank 3 on h2 (pid 4711), killed by SIGKILL", err)

    def test_stderr_passes_whole(self):
        self.mpirun_does("for i in $(seq 20000); do echo line $i of a long log; done >&2; sleep 60 > /dev/null & exit 0\n")
        code, _, err = self.run_it(*self.WORDS, "caffe")
        self.assertEqual(code, 0)
        self.assertEqual([line for line in err.split("\n") if line.startswith("line")],
                         [f"line {i} of a long log" for i in range(1, 20001)])

    def test_log_is_kept_after_a_failure_only(self):
        self.mpirun_does("exit 0\n")
        self.run_it(*self.WORDS, "caffe")
        self.assertEqual(list(self.folder.glob("ddlrun.*")), [])
        self.mpirun_does("exit 1\n")
        _, _, err = self.run_it(*self.WORDS, "caffe")
        log = pathlib.Path(re.search(r"see (\S+)", err)[1])
        self.assertIn("mpirun returned 1", log.read_text())

    def test_requests_to_stop_reach_the_ranks_first(self):
        self.mpirun_does("trap 'echo got USR1; sleep 0.3; exit 0' USR1\ntrap 'echo got TERM' TERM\necho up\n"
                         "while :; do sleep 0.05; done\n")
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
            child = self.start(*self.WORDS, "caffe")
            self.assertEqual(child.stdout.readline(), "up\n")
            child.send_signal(number)
            out, _ = child.communicate(timeout=30)
            self.assertEqual((child.returncode, out), (0, "got USR1\n"), number)

    def test_ranks_that_do_not_stop_are_ended(self):
        self.mpirun_does("trap 'echo got USR1' USR1\ntrap 'echo got TERM; exit 143' TERM\necho up\n"
                         "while :; do sleep 0.05; done\n")
        child = self.start("-grace", "1", *self.WORDS, "caffe")
        child.stdout.readline()
        begin = time.monotonic()
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
        self.assertEqual((child.returncode, out), (143, "got USR1\ngot TERM\n"))
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.assertIn("newest snapshot is the last periodic one", err)

    def test_an_mpirun_that_hangs_after_its_ranks_is_ended(self):
        self.mpirun_does("trap '' TERM\nsleep 1000 &\necho $! > pid; echo 8 > $exit_file; wait\n")
        begin = time.monotonic()
        code, _, err = self.run_it(*self.WORDS, "caffe")
        self.assertEqual(code, 8)
        self.assertIn("the ranks ended", err)
        self.assertLess(time.monotonic() - begin, 20)
        pid = int((self.folder / "pid").read_text())
        self.assertFalse(os.path.exists(f"/proc/{pid}/cwd") and os.readlink(f"/proc/{pid}/cwd") == str(self.folder),
                         "nothing of it is left")

    def test_an_mpirun_that_hangs_while_it_ends_the_job_is_ended(self):
        self.mpirun_does("echo 'caffe: error: too little memory' >&2\n"
                         "echo 'Primary job  terminated normally, but 1 process returned' >&2\n"
                         "echo 'a non-zero exit code. Per user-direction, the job has been aborted.' >&2\n"
                         "trap '' TERM\nsleep 1000 & wait\n")
        begin = time.monotonic()
        code, _, err = self.run_it(*self.WORDS, "caffe")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(code, 8)
        self.assertIn("mpirun was to end the job", err)
        self.assertIn("a rank failed before the ranks watched each other", err)


if __name__ == "__main__":
    unittest.main()

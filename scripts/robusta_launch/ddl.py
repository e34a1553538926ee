"""ddlrun: works out hosts and topology, checks the hosts, writes the rank file, and runs mpirun."""

import os
import shutil
import signal
import sys
import tempfile
import time

from . import ddl_args, ddl_plan, job, remote
from .errors import Code, LaunchError
from .supervisor import Supervisor
from .topology import show
from .true_mpirun import find_launcher

USAGE = """ddlrun [options] PROGRAM [ARGUMENTS]: starts PROGRAM on all hosts of a job, placed and bound by a rank file

  ddlrun -H h1,h2 -accelerators 4 caffe train -solver solver.prototxt

Hosts come from -H, -hostfile, the PBS, Slurm or LSF job, or the host file of a Kubeflow MPIJob; else it is this host.
Options have one dash or two:

  -H h1,h2 or h1:4,h2:4      hosts
  -hostfile FILE             one host per line
  -accelerators N, -tasks N  ranks on each host (default: the slots of the host list, else its GPUs, else 1)
  -n N                       ranks in all
  -nodes N -racks N -aisles N  hosts of a rack, racks of an aisle, aisles: the slower dimensions (default: one rack)
  -mode L or L:DIMS          algorithm, and dimensions as in b:4x2x1 (default p)
  -ddlarg "S"                more options for the ranks, as in "-dump_iter 100 -timeout 30"
  -no_ddloptions             do not export DDL_OPTIONS
  -rankfile FILE, -rf FILE   use this rank file and check nothing
  -sockets N -cores N        sockets of a host, cores of a socket (default: what the hosts say)
  -nobind                    bind no rank to cores: for containers that get a share of a host's time, not cores of it
  -mpiarg "S"                more words for mpirun
  -x NAME or NAME=VALUE      a variable for the ranks (PATH, LD_LIBRARY_PATH, OMP_*, KMP_* and more go by themselves)
  -t, -tcp                   TCP only
  -skipchecks                ask the hosts nothing; needs -sockets and -cores
  -grace N                   seconds from SIGTERM to the end of mpirun: time for a snapshot (default 30)
  -rundir FOLDER             keep rank file and log here (default: a folder under $TMPDIR, gone after success)
  -show, -dry-run            print rank file and command line only
  -v                         say every check

SIGUSR1, SIGTERM and a first Ctrl-C ask the ranks to take a snapshot and stop. The exit code is the program's own
(docs/errors.md) wherever the ranks ended themselves, whatever mpirun returns.
"""
# Open MPI may need four times KILL_AFTER to end after a rank that failed; beyond that it hangs.
LINGER = 4 * ddl_plan.KILL_AFTER + 2


class Stopper(Supervisor):
    """Hands on requests to stop: the ranks are asked for a snapshot, and have `grace` seconds."""

    def __init__(self, words, env, grace, exit_file):
        self.grace, self.asked, self.deadline = grace, 0, None
        super().__init__("ddlrun", words, exit_file, LINGER, env)

    def handle(self, child):
        self.child = child
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, self.stop)
        signal.signal(signal.SIGUSR2, lambda n, _: job.send(self.child, n))

    def stop(self, number, _frame):
        """The ranks are told by SIGUSR1, which mpirun forwards; SIGTERM would make it kill them in seconds."""
        name = signal.Signals(number).name
        if number == signal.SIGUSR1 or not self.asked:
            self.tell(f"{name}: the ranks are asked to take a snapshot and stop")
            job.send(self.child, signal.SIGUSR1)
        if number == signal.SIGUSR1:
            return
        self.asked += 1
        self.deadline = time.monotonic() + (self.grace if self.asked == 1 else 0)

    def look(self, now):
        if self.deadline is not None and now >= self.deadline and self.child.poll() is None:
            self.end(f"no end {self.grace} s after the request to stop" if self.asked == 1 else "asked again", True)


class Run:
    """One call of ddlrun: its options, folder and log."""

    def __init__(self, options, env):
        self.options, self.env, self.log, self.keep = options, env, None, bool(options.rundir)
        self.folder = None

    def make_folder(self):
        try:
            if self.options.rundir:
                os.makedirs(self.options.rundir, exist_ok=True)
                self.folder = os.path.abspath(self.options.rundir)
            else:
                self.folder = tempfile.mkdtemp(prefix="ddlrun.")
            self.log = open(os.path.join(self.folder, "ddlrun.log"), "w", encoding="utf-8")
            if os.path.exists(self.exit_file):
                os.unlink(self.exit_file)
        except OSError as error:
            raise LaunchError(f"{error.filename}: {error.strerror}", "name another folder with -rundir",
                              Code.OUTPUT) from None

    @property
    def exit_file(self):
        return os.path.join(self.folder, "exit_code")

    def say(self, text, always=False):
        if self.log:
            self.log.write(text + "\n")
            self.log.flush()
        if always or self.options.v:
            print(f"ddlrun: {text}", file=sys.stderr, flush=True)

    def warn(self, text):
        self.say(f"warning: {text}", always=True)

    def answers(self, plan):
        """What the hosts say of themselves, checked."""
        program = self.options.program[0]
        self.say(f"asking {len(plan.names)} hosts from {plan.source}: {', '.join(plan.names)}")
        answers = remote.ask_all(plan.names, program, self.env)
        for a in answers:
            if self.log:
                self.log.write(f"--- {a.name}\n{a.text}\n")
            self.say(f"{a.name}: {a.problem}" if a.problem else
                     f"{a.name}: {a.facts.get('program')} {a.facts.get('sum')}, {a.sockets} sockets with "
                     f"{a.cores_per_socket} cores, {a.gpus} GPUs, clock {a.clock:+.2f} s")
        remote.check(answers, program, self.warn, self.options.nobind or (self.options.sockets and self.options.cores))
        return answers

    def plan(self):
        options = self.options
        plan, listed = ddl_plan.make(options, self.env)
        if listed:
            known = options.nobind or (options.sockets and options.cores)
            skip = options.skipchecks or (options.show and known)
            ddl_plan.complete(plan, options, listed, [] if skip else self.answers(plan))
        if plan.own_ddl is not None:
            self.say("the program has its own -ddl, so DDL_OPTIONS is not exported", always=True)
        return plan

    def start(self):
        """Exit code of the whole."""
        self.make_folder()
        launcher = find_launcher(self.env)
        if launcher.kind != "openmpi":
            raise LaunchError(f"{launcher.path} is not Open MPI's, and rank files are Open MPI's",
                              "set ROBUSTA_MPIRUN to Open MPI's mpirun, or start with mpirun -f and -ppn",
                              Code.UNSUPPORTED)
        plan = self.plan()
        rank_file = plan.rank_file or os.path.join(self.folder, "rankfile")
        words = ddl_plan.command(plan, self.options, self.env, launcher, rank_file, self.exit_file)
        if plan.rank_text:
            with open(rank_file, "w", encoding="ascii") as file:
                file.write(plan.rank_text)
        self.say(f"{plan.ranks} ranks on {len(plan.names)} hosts ({plan.source})" +
                 (f", {show(plan.dims)}" if plan.dims else ""), always=True)
        if self.options.show:
            print(plan.rank_text or "", end="")
            job.announce(words)
            return Code.OK
        job.announce(words)
        return self.supervise(words)

    def supervise(self, words):
        supervisor = Stopper(words, self.env, self.options.grace, self.exit_file)
        status = supervisor.wait()
        code, why = supervisor.verdict(status)
        self.say(f"mpirun returned {status}, the ranks left {supervisor.read_end()[0]}")
        if why:
            self.say(f"the job ended with exit code {code}, by {why}", always=True)
        elif status and supervisor.asked and supervisor.ended_by_us:
            self.warn("the ranks did not stop by themselves; the newest snapshot is the last periodic one")
        return code

    def close(self, code):
        if self.log:
            self.log.close()
        if not self.folder or self.keep:
            return
        if code == 0 or self.options.show:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"ddlrun: see {self.folder}/ddlrun.log", file=sys.stderr)


def main(arguments):
    options = ddl_args.parse(arguments)
    if options.help or not arguments:
        print(USAGE, end="")
        return Code.OK if options.help else Code.USAGE
    if not options.program:
        raise LaunchError("no program is named", "ddlrun -H h1,h2 caffe train -solver solver.prototxt")
    if options.nobind and options.rankfile:
        raise LaunchError("-nobind binds no rank, and a rank file binds all", "leave one of them out")
    if options.skipchecks and not (options.rankfile or options.nobind or (options.sockets and options.cores)):
        raise LaunchError("-skipchecks leaves the cores of the hosts unknown", "give -sockets and -cores too")
    run, code = Run(options, dict(os.environ)), 1
    try:
        code = run.start()
        return code
    finally:
        run.close(code)

"""Questions to the hosts of a job, asked before it starts: over ssh, or what the batch system offers instead."""

import concurrent.futures
import os
import shlex
import shutil
import socket
import subprocess
import time

from .errors import Code, LaunchError
from .words import counted, number, split

BEGIN, END = "ROBUSTA-BEGIN", "ROBUSTA-END"
# Seconds for one host to answer.
PATIENCE = 30
AT_ONCE = 32
# Difference of two clocks, in seconds, that is worth a warning.
CLOCK_LIMIT = 1.0


class Answer:
    """What one host said. `problem` is the reason when it said nothing."""

    def __init__(self, name):
        self.name, self.problem, self.facts, self.text = name, None, {}, ""
        self.clock = self.uncertainty = 0.0

    @property
    def sockets(self):
        return len(set(core.split(",")[0] for core in self.cores))

    @property
    def cores(self):
        """"socket,core" of every physical core that a process there may use."""
        allowed = processors(self.facts.get("allowed", ""))
        rows = [row.split(",") for row in self.facts.get("cpus", "").split() if row.count(",") == 2]
        return sorted({f"{socket},{core}" for cpu, core, socket in rows if not allowed or int(cpu) in allowed})

    @property
    def cores_per_socket(self):
        """Of the socket with the fewest."""
        sockets = [core.split(",")[0] for core in self.cores]
        return min((sockets.count(s) for s in set(sockets)), default=0)

    @property
    def gpus(self):
        return int(self.facts["gpus"]) if self.facts.get("gpus", "").isdigit() else 0


def processors(text):
    """{0, 1, 2, 8} for "0-2,8"; empty for anything else."""
    found = set()
    for piece in text.split(","):
        low, _, high = piece.partition("-")
        try:
            found.update(range(number(low), number(high or low) + 1))
        except ValueError:
            continue
    return found


def is_here(name):
    own = socket.gethostname()
    return name in ("localhost", "127.0.0.1", own) or name.split(".")[0] == own.split(".")[0]


def agent(env):
    """The words before `HOST COMMAND` that run a command elsewhere: those of Open MPI's plm_rsh_agent, or the batch
    system's."""
    for choice in env.get("OMPI_MCA_plm_rsh_agent", "").split(":"):
        words = split("OMPI_MCA_plm_rsh_agent", choice)
        if words and shutil.which(words[0]):
            return words
    if "SLURM_JOB_ID" in env and shutil.which("srun"):
        return ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--input=none", "--quiet", "-w"]
    if "LSB_JOBID" in env and shutil.which("blaunch"):
        return ["blaunch"]
    return ["ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={PATIENCE // 2}"]


def probe(program, folder, path):
    """The shell line that a host answers; one line, since a login shell may be of any kind."""
    # mpirun starts programs in this folder too, so a relative path means the same.
    parts = [f"PATH={shlex.quote(path)}", "export PATH", f"echo {BEGIN}",
             f"cd {shlex.quote(folder)} 2> /dev/null && echo folder=yes", 'echo "host=$(uname -n)"',
             'echo "time=$(date +%s.%N)"', f'p=$(command -v {shlex.quote(program)})', 'echo "program=$p"',
             'echo "sum=$(cksum < "$p" 2> /dev/null)"',
             "echo \"allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)\"",
             "echo \"cpus=$(lscpu -p=CPU,CORE,SOCKET 2> /dev/null | grep -v '^#' | tr '\\n' ' ')\"",
             "echo \"gpus=$(nvidia-smi -L 2> /dev/null | grep -c '^GPU')\"",
             f"echo {END}"]
    return "sh -c " + shlex.quote("; ".join(parts))


def read_answer(text):
    """The name=value lines between the marks; whatever a login script prints around them is passed over."""
    lines = [line.strip() for line in text.split("\n")]
    if BEGIN not in lines or END not in lines[lines.index(BEGIN):]:
        return None
    begin = lines.index(BEGIN)
    body = lines[begin + 1:lines.index(END, begin)]
    return dict(line.partition("=")[::2] for line in body if "=" in line)


def first_line(text, fallback):
    return next((line.strip() for line in text.split("\n") if line.strip()), fallback)


def ask(name, line, env):
    answer = Answer(name)
    words = ["sh", "-c", line] if is_here(name) else agent(env) + [name, line]
    if words[0] == "srun":
        words = agent(env) + [name, "sh", "-c", line]
    begin = time.time()
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE, env=env, check=False)
    except subprocess.TimeoutExpired:
        answer.problem = f"no answer within {PATIENCE} s"
        return answer
    except OSError as error:
        answer.problem = f"{words[0]}: {error.strerror}"
        return answer
    end = time.time()
    answer.text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    facts = read_answer(done.stdout.decode(errors="replace"))
    if facts is None:
        answer.problem = first_line(done.stderr.decode(errors="replace"), f"exit code {done.returncode}")
        return answer
    answer.facts = facts
    try:
        answer.clock = float(facts.get("time", "")) - (begin + end) / 2
        answer.uncertainty = (end - begin) / 2
    except ValueError:
        pass
    return answer


def ask_all(names, program, env):
    """Answers of all hosts, in their order."""
    line = probe(program, os.getcwd(), env.get("PATH", os.defpath))
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, len(names))) as pool:
        return list(pool.map(lambda name: ask(name, line, env), names))


def groups(answers, value):
    """"2 on a, b; 4 on c" for what value() says of each host; None when all say the same."""
    found = {}
    for answer in answers:
        found.setdefault(value(answer), []).append(answer.name)
    if len(found) < 2:
        return None
    return "; ".join(f"{what} on {', '.join(names)}" for what, names in sorted(found.items(), key=str))


def check(answers, program, warn, cores_given):
    """Throws for what cannot work, warns of what may not."""
    silent = [f"{a.name} ({a.problem})" for a in answers if a.problem]
    if silent:
        raise LaunchError(f"cannot reach {'; '.join(silent)}",
                          "each host has to let you in without a password: try `ssh HOST true` from here",
                          Code.COMMUNICATION)
    for answer in answers:
        told = answer.facts.get("host", "")
        if not is_here(answer.name) and told.split(".")[0] != answer.name.split(".")[0]:
            raise LaunchError(f"{answer.name} is another name of {told}, and a rank file wants the host's own",
                              f'write {told}; to keep to the network of {answer.name}, add -mpiarg "--mca '
                              'btl_tcp_if_include INTERFACE"', Code.CONFIG)
    lacking = [a.name for a in answers if not a.facts.get("program")]
    if lacking:
        raise LaunchError(f"there is no program {program} on {', '.join(lacking)}",
                          "install it there under the same path, or put its folder into PATH", Code.CONFIG)
    different = groups(answers, lambda a: a.facts.get("sum", "").replace(" ", "/"))
    if different:
        raise LaunchError(f"{program} is not the same file everywhere: checksum/size {different}",
                          "install the same build on all hosts", Code.COMMUNICATION)
    unequal = groups(answers, lambda a: f"{counted(a.sockets, 'socket')} with {counted(a.cores_per_socket, 'core')}")
    if unequal and not cores_given:
        raise LaunchError(f"the hosts differ: {unequal}",
                          "all ranks wait for the slowest; leave hosts out, or say with -sockets and -cores what to "
                          "use", Code.CONFIG)
    for answer in answers:
        if abs(answer.clock) - answer.uncertainty > CLOCK_LIMIT:
            warn(f"the clock of {answer.name} is {answer.clock:+.1f} s off; times in logs and file dates will not "
                 "agree (start NTP or chrony)")
        if answer.facts.get("folder") != "yes":
            warn(f"{answer.name} has no folder {os.getcwd()}; relative paths will fail there")

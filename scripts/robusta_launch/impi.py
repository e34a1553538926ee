"""Turns a command line of Intel MPI's mpirun into one of the MPI that is installed, and runs it."""

import os
import re
import shutil
import sys
import tempfile

from . import hosts, impi_env, job as runner
from .errors import Code, LaunchError
from .impi_options import parse
from .supervisor import Supervisor
from .true_mpirun import find_launcher, forwarded, safety_options

START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank_start.py")
USAGE = """mpirun of Robusta: takes Intel MPI's options and runs the mpirun that is installed

  mpirun [-PSM2] [-prepend-rank | -l] [-ppn N] [-genv K V | -genvall | -genvlist A,B] [-f HOSTFILE | -hosts h1,h2]
         [-n N] [-env K V] [-host h] [-wdir D] PROGRAM ARG... [: -n N PROGRAM ...]
  mpirun -configfile FILE

Without -n: one rank for each line of $PBS_NODEFILE, or for each task of the Slurm or LSF job. Every rank is bound to
its share of its host's cores. Options of Open MPI's mpirun pass through. -show prints the line and does not run it.
"""
# What must not travel with -genvall: it belongs to the host or to the process.
LOCAL_VARIABLES = re.compile("HOST|HOSTNAME|PWD|OLDPWD|SHLVL|_|DISPLAY|TMPDIR|TERM|LS_COLORS|LC_CTYPE|"
                             "(SSH|XDG|OMPI|OPAL|PMIX|PMI|SLURM|PRTE|PBS|LSB|LSF|BASH|I_MPI|HYDRA|VC)_.*")
LONGEST_HOST_LIST = 300
# Seconds of silence after which the ranks give a host up (the default of -timeout), and those that ranks have after
# SIGTERM, for a snapshot say.
TIMEOUT, KILL_AFTER = 60, 5
# Seconds that Open MPI may need to end after a rank that failed.
LINGER = 4 * KILL_AFTER + 2


class Plan:
    """The translated command line, what to tell, and the files that must be gone afterwards."""

    def __init__(self):
        self.words, self.notes, self.files = [], [], []


def host_of_ranks(job, plan, env):
    """The host of every rank of every segment; None where there is no list of hosts."""
    listed = None
    if job.hosts:
        listed = hosts.parse_list(job.hosts, "-hosts")
    elif job.host_file:
        listed = hosts.parse_file(job.host_file)
    elif not any(segment.hosts for segment in job.segments):
        listed = hosts.find_job(env)
    if len(job.segments) == 1 and not job.segments[0].hosts:
        if not listed:
            if job.segments[0].ranks is None:
                plan.notes.append("neither -n nor a list of hosts: one rank")
                job.segments[0].ranks = 1
            return [None]
        return [hosts.place(listed.hosts, job.segments[0].ranks, job.per_host)]
    return place_segments(job, listed)


def place_segments(job, listed):
    """Segments with hosts of their own take those; the others take the places of the list one after the other."""
    wanting = [s for s in job.segments if not s.hosts]
    total = sum(s.ranks or 1 for s in wanting)
    common = hosts.place(listed.hosts, total, job.per_host) if listed and wanting else None
    result, used = [], 0
    for segment in job.segments:
        if segment.hosts:
            own = hosts.parse_list(segment.hosts, "-host").hosts
            result.append(hosts.place(own, segment.ranks or job.per_host and job.per_host * len(own), job.per_host))
        elif common:
            result.append(common[used:used + (segment.ranks or 1)])
            used += segment.ranks or 1
        else:
            result.append(None)
    return result


def joined(job, placed):
    """Neighbouring segments that run the same program become one."""
    segments, places = [job.segments[0]], [placed[0]]
    for segment, place in zip(job.segments[1:], placed[1:]):
        if segment.same_program(segments[-1]) and (place is None) == (places[-1] is None):
            if place is None:
                segments[-1].ranks = (segments[-1].ranks or 1) + (segment.ranks or 1)
            else:
                places[-1] = places[-1] + place
        else:
            segments.append(segment)
            places.append(place)
    return segments, places


def in_blocks(place):
    """[(host, ranks)] when the ranks of every host follow each other, else None."""
    blocks = []
    for host in place:
        if blocks and blocks[-1][0] == host:
            blocks[-1][1] += 1
        elif any(name == host for name, _ in blocks):
            return None
        else:
            blocks.append([host, 1])
    return blocks


def one_round(place):
    """Blocks of the first round where the ranks go round the hosts: MPICH begins anew by itself."""
    for period in range(len(place), 0, -1):
        blocks = in_blocks(place[:period])
        if blocks and all(host == place[at % period] for at, host in enumerate(place)):
            return blocks
    return [[host, 1] for host in place]


def write_file(plan, lines):
    handle, path = tempfile.mkstemp(prefix="robusta-hosts.")
    with os.fdopen(handle, "w") as file:
        file.write("\n".join(lines) + "\n")
    plan.files.append(path)
    return path


def host_words(plan, place, version):
    """Open MPI's words for these places, in rank order."""
    blocks = in_blocks(place)
    if blocks is None:
        path = write_file(plan, place)
        plan.notes.append("ranks take the hosts in turn, in the order of " + path)
        if version >= (5, 0):
            return ["--map-by", f"seq:file={path}"]
        return ["--hostfile", path, "--mca", "rmaps", "seq"]
    # Not the user's own file: where a host stands once, without slots=, Open MPI fills all its cores.
    text = ",".join(f"{host}:{ranks}" for host, ranks in blocks)
    if len(text) <= LONGEST_HOST_LIST:
        return ["--host", text]
    return ["--hostfile", write_file(plan, [f"{host} slots={ranks}" for host, ranks in blocks])]


def fabric_words(job, plan, env):
    """Open MPI takes the fastest network by itself; a choice is handed on where it can be kept."""
    if not job.fabric:
        return []
    settings = [name for name in ("OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_btl") if name in env]
    if settings:
        told = ", ".join(f"{name}={env[name]}" for name in settings)
        plan.notes.append(f"fabric {job.fabric}: {told} of the environment decides instead")
        return []
    if job.fabric == "tcp":
        return ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"]
    if job.fabric in ("psm2", "psm"):
        if os.path.exists("/dev/hfi1_0") or os.path.exists("/dev/ipath0"):
            return ["--mca", "pml", "cm", "--mca", "mtl", job.fabric]
        plan.notes.append(f"-{job.fabric.upper()}: no Omni-Path device on this host; Open MPI takes what there is")
    elif job.fabric != "shm":
        plan.notes.append(f"fabric {job.fabric} is left to Open MPI, which takes the fastest there is")
    return []


def set_words(variables):
    return [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]


def start_words(job, hydra=False):
    """The words before a program that bind it and mark its output."""
    framed = job.prefixed and not hydra
    if job.bind != "share" and not framed:
        return []
    return [START] + (["--bind"] if job.bind == "share" else []) + (["--frame"] if framed else []) + ["--"]


def variable_names(job, env):
    names = forwarded(env)
    if job.all_variables:
        names += sorted(n for n in env if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", n) and
                        not LOCAL_VARIABLES.fullmatch(n))
    names += job.names
    given = {value.partition("=")[0] for flag, value in zip(job.native, job.native[1:]) if flag == "-x"}
    return [name for name in dict.fromkeys(names) if name in env and name not in job.env and name not in given]


def open_mpi(job, launcher, plan, env):
    segments, placed = joined(job, host_of_ranks(job, plan, env))
    words = [launcher.path] + fabric_words(job, plan, env) + job.native
    words += safety_options(env, launcher.version, TIMEOUT, KILL_AFTER)
    if job.bind != "own":
        words += ["--bind-to", "none"]
    if job.prefixed:
        words += ["--tag-output"]
    for name in variable_names(job, env):
        words += ["-x", name]
    words += set_words(job.env)
    for at, (segment, place) in enumerate(zip(segments, placed)):
        words += [":"] if at else []
        # A rank file says itself where ranks go.
        if place and not any(w in ("--rf", "--rankfile") for w in job.native):
            words += host_words(plan, place, launcher.version)
        ranks = segment.ranks if place is None else len(place)
        words += ["-n", str(ranks)] if ranks else []
        words += ["--wdir", segment.folder] if segment.folder else []
        words += ["--path", segment.path] if segment.path else []
        words += [word for name in segment.names if name in env for word in ("-x", name)] + set_words(segment.env)
        words += start_words(job) + segment.command
    return words


def hydra(job, launcher, plan, env):
    """MPICH's launcher knows most of Intel's options, hands on the whole environment, and prefixes by itself."""
    segments, placed = joined(job, host_of_ranks(job, plan, env))
    if job.native:
        job.ignored.append(" ".join(job.native) + " (of Open MPI; here is MPICH)")
    if job.fabric:
        job.ignored.append(f"fabric {job.fabric}")
    words = [launcher.path] + (["-prepend-rank"] if job.prefixed else [])
    for name, value in job.env.items():
        words += ["-genv", name, value]
    if all(place is not None for place in placed):
        blocks = one_round([host for place in placed for host in place])
        words += ["-hosts", ",".join(f"{host}:{ranks}" for host, ranks in blocks)]
    for at, (segment, place) in enumerate(zip(segments, placed)):
        words += [":"] if at else []
        words += ["-n", str(len(place) if place else segment.ranks or 1)]
        words += ["-wdir", segment.folder] if segment.folder else []
        words += ["-path", segment.path] if segment.path else []
        for name, value in segment.env.items():
            words += ["-env", name, value]
        words += start_words(job, hydra=True) + segment.command
    return words


def translate(arguments, launcher, env):
    """Plan for these arguments; throws LaunchError."""
    plan = Plan()
    job = parse(arguments)
    impi_env.apply(job, env)
    for segment in job.segments:
        program, where = segment.command[0], segment.path or env.get("PATH")
        if not shutil.which(program, path=where) and not (segment.folder and "/" in program):
            raise LaunchError(f"there is no program {program}", "put its folder into PATH, or write the whole path")
    plan.words = (open_mpi if launcher.kind == "openmpi" else hydra)(job, launcher, plan, env)
    plan.prefixed = job.prefixed and launcher.kind == "openmpi"
    if job.ignored:
        plan.notes.append("without meaning here, ignored: " + ", ".join(dict.fromkeys(job.ignored)))
    return plan


def supervise(plan, env):
    """Runs the line, with a file for the ranks' code: the user's own, unless an earlier job has left its code there, which
    no rank overwrites."""
    with tempfile.TemporaryDirectory(prefix="robusta-mpirun.") as folder:
        exit_file = env.get("ROBUSTA_EXIT_FILE", "")
        if not exit_file or os.path.exists(exit_file):
            exit_file = os.path.join(folder, "exit_code")
        words = [word for at, word in enumerate(plan.words) if "ROBUSTA_EXIT_FILE" not in plan.words[at:at + 2]]
        given = [word for word in words if word.startswith("ROBUSTA_EXIT_FILE=")]
        if given:
            exit_file = given[-1].partition("=")[2]
        else:
            words[1:1] = ["-x", f"ROBUSTA_EXIT_FILE={exit_file}"]
        supervisor = Supervisor("mpirun", words, exit_file, LINGER, prefixed=plan.prefixed)
        status = supervisor.wait()
        code, why = supervisor.verdict(status)
        if supervisor.read_end()[0] is None and not supervisor.last_words.lost_host:
            code = status  # the ranks may be of any program, and have said nothing
        if why:
            print(f"mpirun: the job ended with exit code {code}, by {why}", file=sys.stderr)
        return code


def main(arguments):
    env = os.environ
    if not arguments or arguments[0] in ("-h", "-help", "--help"):
        print(USAGE, end="")
        return Code.OK if arguments else Code.USAGE
    launcher = find_launcher(env)
    if launcher.kind == "intel" or arguments[0] in ("-V", "-version", "--version", "-info"):
        words = [launcher.path] + (arguments if launcher.kind == "intel" else ["--version"])
        os.execv(launcher.path, words)
    show = arguments[0] in ("-show", "--show", "--dry-run")
    plan = translate(arguments[1:] if show else arguments, launcher, env)
    try:
        for note in plan.notes:
            print(f"mpirun: {note}", file=sys.stderr)
        runner.announce(plan.words)
        if show:
            return Code.OK
        if launcher.kind != "openmpi":
            os.execv(launcher.path, plan.words)
        return supervise(plan, env)
    finally:
        for path in plan.files:
            os.unlink(path)

"""The MPI launcher that is installed: where it is, which kind, and what every job of ours wants of it."""

import os
import re
import subprocess

from .errors import Code, LaunchError

# scripts/impi/mpirun carries this word in its first lines, so that no copy of it is taken for the true one.
MARK = "robusta-impi-mpirun"
# Variables that ranks on other hosts need as well; mpirun hands on none by itself.
FORWARDED = ("PATH", "LD_LIBRARY_PATH")
FORWARDED_PREFIXES = ("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "DNNL_", "ONEDNN_", "GLOG_", "DDL_", "ROBUSTA_",
                      "PSM2_", "HFI_")


class Launcher:
    """`kind` is "openmpi", "intel" or "hydra" (MPICH and its kin); `version` is (4, 1) or so."""

    def __init__(self, path, kind, version):
        self.path, self.kind, self.version = path, kind, version


def is_wrapper(path):
    try:
        with open(path, "rb") as file:
            return MARK.encode() in file.read(400)
    except OSError:
        return False


def find_path(env):
    """The first mpirun in PATH that is not our translation of it; ROBUSTA_MPIRUN outranks the search."""
    if env.get("ROBUSTA_MPIRUN"):
        return env["ROBUSTA_MPIRUN"]
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "mpirun")
        if os.access(path, os.X_OK) and not os.path.isdir(path) and not is_wrapper(path):
            return path
    raise LaunchError("there is no mpirun of an MPI library in PATH",
                      "install Open MPI (Debian: openmpi-bin), load its module, or set ROBUSTA_MPIRUN to its mpirun",
                      Code.UNSUPPORTED)


def find_launcher(env=None):
    env = os.environ if env is None else env
    path = find_path(env)
    try:
        answer = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                stdin=subprocess.DEVNULL, env=env).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{path} --version: {error}", "set ROBUSTA_MPIRUN to a working mpirun",
                          Code.UNSUPPORTED) from None
    for kind, pattern in (("openmpi", r"\(Open MPI\)\s*v?([0-9.]+)"),
                          ("intel", r"Intel\(R\) MPI.*?Version\s+([0-9.]+)"),
                          ("hydra", r"HYDRA build details:.*?Version:\s*([0-9.]+)")):
        found = re.search(pattern, answer, re.S)
        if found:
            return Launcher(path, kind, tuple(int(n) for n in found[1].split(".") if n)[:2])
    raise LaunchError(f"{path} is neither Open MPI's nor MPICH's mpirun: it answers {answer.strip()[:80]!r}",
                      "set ROBUSTA_MPIRUN to one of those", Code.UNSUPPORTED)


def forwarded(env):
    """Names of the variables in `env` that the ranks get."""
    return [name for name in FORWARDED if name in env] + sorted(
        name for name in env if name.startswith(FORWARDED_PREFIXES) and re.fullmatch("[A-Z0-9_a-z]+", name))


def keepalive(timeout):
    """(idle, interval, probes) of TCP keepalives that give a host up a little after `timeout` seconds of silence.

    Not sooner: a link that heals within the time-out of the ranks does not end the job.
    """
    idle, probes = max(1, int(timeout) // 2), 4
    interval = max(1, -(-(int(timeout) + 4 - idle) // probes))
    return idle, interval, probes


def safety_options(env, version, timeout, kill_after):
    """--mca options by which Open MPI's mpirun ends soon after it lost a host, and leaves ranks time to end.

    A setting in the environment (OMPI_MCA_...) stays as it is. Open MPI waits `kill_after` seconds before SIGTERM and
    again before SIGKILL, whether ranks are left or not, and after a failure up to twice.
    """
    idle, interval, probes = keepalive(timeout)
    wanted = {"oob_tcp_keepalive_time": idle, "oob_tcp_keepalive_intvl": interval, "oob_tcp_keepalive_probes": probes,
              "odls_base_sigkill_timeout": kill_after}
    flag = "--mca" if version < (5, 0) else "--prtemca"
    options = []
    for name, value in wanted.items():
        if f"OMPI_MCA_{name}" not in env and f"PRTE_MCA_{name}" not in env:
            options += [flag, name, str(value)]
    return options

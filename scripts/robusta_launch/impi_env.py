"""I_MPI_* variables: those that mean something to Open MPI become its options, the others are named."""

from .words import check_interface, is_number

# I_MPI_ADJUST_ALLREDUCE to coll_tuned_allreduce_algorithm: recursive doubling, Rabenseifner, reduce and broadcast,
# ring.
ALLREDUCE = {"1": 3, "2": 6, "3": 2, "7": 4, "8": 4}
# I_MPI_ADJUST_IALLREDUCE to coll_libnbc_iallreduce_algorithm.
IALLREDUCE = {"1": 4, "2": 3, "3": 2, "4": 1, "5": 1}
# Paths of an installation; no settings.
SILENT = {"I_MPI_ROOT", "I_MPI_OFI_LIBRARY_INTERNAL", "I_MPI_CC", "I_MPI_CXX", "I_MPI_FC", "I_MPI_F90", "I_MPI_F77"}
OFF = ("0", "off", "no", "disable", "false")


def fabric_of(value, provider):
    """The part of I_MPI_FABRICS that leaves the host: "shm:tcp" is tcp."""
    outer = value.replace("-", ":").split(":")[-1].lower()
    return (provider or outer).lower() if outer in ("tmi", "ofi") else outer


def addresses(mask):
    """Interface names, or networks, from I_MPI_TCP_NETMASK ("ib0", "eth0,eth1", "192.168.1.0/24"); "eth" and "ib"
    mean all such interfaces, which Open MPI cannot say."""
    parts = [part.strip() for part in mask.split(",") if part.strip()]
    return ",".join(part for part in parts if part not in ("eth", "ib"))


def translate(name, value, job, env):
    """Puts one setting into the job; False where it means nothing here."""
    if name in ("I_MPI_PERHOST", "I_MPI_PPN") and is_number(value):
        job.per_host = job.per_host or int(value)
    elif name in ("I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_MACHINE_FILE"):
        job.host_file = job.host_file or value
    elif name == "I_MPI_HYDRA_HOSTS_GROUP":
        job.hosts = job.hosts or value
    elif name == "I_MPI_FABRICS":
        job.fabric = job.fabric or fabric_of(value, env.get("I_MPI_TMI_PROVIDER") or env.get("I_MPI_OFI_PROVIDER"))
    elif name in ("I_MPI_TMI_PROVIDER", "I_MPI_OFI_PROVIDER") and "I_MPI_FABRICS" in env:
        return True  # read with I_MPI_FABRICS
    elif name in ("I_MPI_TCP_NETMASK", "I_MPI_NETMASK", "I_MPI_HYDRA_IFACE") and addresses(value):
        layers = ("oob_tcp",) if name == "I_MPI_HYDRA_IFACE" else ("btl_tcp", "oob_tcp")
        for layer in layers:
            job.native += ["--mca", f"{layer}_if_include", check_interface(name, addresses(value))]
    elif name == "I_MPI_PIN" and value.lower() in OFF and job.bind == "share":
        job.bind = "none"
    elif name == "I_MPI_PIN_DOMAIN" and value.lower() == "node" and job.bind == "share":
        job.bind = "none"
    elif name == "I_MPI_DEBUG" and value.split(",")[0].isdigit() and int(value.split(",")[0]) >= 4:
        job.native += ["--display-map"]
    elif name == "I_MPI_HYDRA_BOOTSTRAP_EXEC":
        job.native += ["--mca", "plm_rsh_agent", value]
    elif name in ("I_MPI_JOB_TIMEOUT", "I_MPI_MPIEXEC_TIMEOUT") and value.isdigit():
        job.native += ["--timeout", value]
    elif name == "I_MPI_ADJUST_ALLREDUCE" and value in ALLREDUCE:
        job.native += ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm",
                       str(ALLREDUCE[value])]
    elif name == "I_MPI_ADJUST_IALLREDUCE" and value in IALLREDUCE:
        job.native += ["--mca", "coll_libnbc_iallreduce_algorithm", str(IALLREDUCE[value])]
    else:
        return False
    return True


def apply(job, env):
    """Settings of the environment, and those given by -genv, which outrank it; both leave the job's variables."""
    settings = {name: value for source in (env, job.env) for name, value in source.items()
                if name.startswith("I_MPI_") and name not in SILENT}
    for name in sorted(settings):
        if not translate(name, settings[name], job, settings):
            job.ignored.append(f"{name}={settings[name]}")
    for variables in [job.env] + [segment.env for segment in job.segments]:
        for name in [n for n in variables if n.startswith("I_MPI_")]:
            del variables[name]

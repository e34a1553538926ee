#!/usr/bin/env python3
"""What Kubernetes and Kubeflow's operators make of the manifests in scripts/jobs/kubernetes/: which pods there are, what runs
in each with which variables, and what becomes of a pod that ends with an exit code.

  pods.py MANIFEST DATA OUT    writes a program for each container, OUT/POD and OUT/POD.init, with DATA in place of the
                               claim, and OUT/hostfile for an MPIJob; prints the names of the pods
  pods.py fate MANIFEST CODE   prints done, again or failed

What is imitated here is read from the sources of Kubernetes 1.36 (an Indexed Job's names and annotations), of
mpi-operator (pkg/controller/mpi_job_controller.go) and of training-operator 1.8 (pkg/controller.v1/pytorch).
"""

import pathlib
import shlex
import sys

import yaml

NAMESPACE = "default"
PYTORCH_PORT = "pytorchjob-port"


class Pod:
    """`env` is what the engine adds for the first container."""

    def __init__(self, name, index, spec, env):
        self.name, self.index, self.spec, self.env = name, index, spec, env

    def containers(self, kind="containers"):
        return self.spec.get(kind, [])


def documents(path):
    return list(yaml.safe_load_all(pathlib.Path(path).read_text(encoding="utf-8")))


def job_of(path):
    """The object that starts pods."""
    return next(document for document in documents(path) if document["kind"].endswith("Job"))


def pods(job, hostfile="/etc/mpi/hostfile"):
    return {"Job": indexed_pods, "PyTorchJob": pytorch_pods, "MPIJob": mpi_pods}[job["kind"]](job, hostfile)


def indexed_pods(job, _):
    """Names beyond the index are drawn; their hosts are NAME-INDEX (and NAME-INDEX.SUBDOMAIN for the others)."""
    name, spec = job["metadata"]["name"], job["spec"]
    return [Pod(f"{name}-{index}", index, spec["template"]["spec"], {"JOB_COMPLETION_INDEX": str(index)})
            for index in range(spec["completions"])]


def pytorch_pods(job, _):
    name, replicas = job["metadata"]["name"], job["spec"]["pytorchReplicaSpecs"]
    port = next(port["containerPort"] for container in replicas["Master"]["template"]["spec"]["containers"]
                if container["name"] == "pytorch" for port in container["ports"] if port["name"] == PYTORCH_PORT)
    world = sum(spec["replicas"] for spec in replicas.values())
    made = []
    for role in ("Master", "Worker"):
        for index in range(replicas[role]["replicas"]):
            env = {"PYTHONUNBUFFERED": "1", "MASTER_PORT": str(port), "MASTER_ADDR": f"{name}-master-0",
                   "WORLD_SIZE": str(world), "RANK": str(len(made))}
            made.append(Pod(f"{name}-{role.lower()}-{index}", index, replicas[role]["template"]["spec"], env))
    return made


def mpi_pods(job, hostfile):
    name, spec = job["metadata"]["name"], job["spec"]
    env = {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
           "OMPI_MCA_orte_default_hostfile": str(hostfile), "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
           "OMPI_MCA_orte_set_default_slots": str(spec["slotsPerWorker"]), "NVIDIA_VISIBLE_DEVICES": "",
           "NVIDIA_DRIVER_CAPABILITIES": ""}
    workers = spec["mpiReplicaSpecs"]["Worker"]
    return [Pod(f"{name}-launcher", 0, spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"], env)] + [
        Pod(f"{name}-worker-{index}", index, workers["template"]["spec"], {"K_MPI_JOB_ROLE": "worker"})
        for index in range(workers["replicas"])]


def hostfile_of(job):
    """The operator's, with the names that the Service of the job gives its pods."""
    name, slots = job["metadata"]["name"], job["spec"]["slotsPerWorker"]
    return "".join(f"{name}-worker-{index}.{name}.{NAMESPACE}.svc slots={slots}\n"
                   for index in range(job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]))


def fate(job, code):
    """"done", "again" or "failed": what the engine does about a pod of ranks (the launcher of an MPIJob) that ended so."""
    if code == 0:
        return "done"
    if job["kind"] == "PyTorchJob":  # IsRetryableExitCode, for restartPolicy ExitCode
        return "again" if code >= 128 else "failed"
    for rule in job["spec"].get("podFailurePolicy", {}).get("rules", []):
        wanted = rule.get("onExitCodes")
        if wanted and (code in wanted["values"]) == (wanted["operator"] == "In"):
            return "failed" if rule["action"] == "FailJob" else "again"
    return "again"


def value_of(variable, pod):
    if "value" in variable:
        return variable["value"]
    source = variable["valueFrom"]
    if "secretKeyRef" in source:
        return "the {key} of {name}".format(**source["secretKeyRef"])
    assert source["fieldRef"]["fieldPath"] == "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    return str(pod.index)


def program(container, pod, data, env):
    """A shell's lines that do what the container does. Without `command` a container runs the image's entry point,
    which starts the words of `args` (packaging/container/Containerfile)."""
    assert "command" not in container, "the entry point hands on signals"
    mounted = next(mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "data")
    folder = container["workingDir"].replace(mounted, str(data), 1)
    variables = {**env, **{variable["name"]: value_of(variable, pod) for variable in container.get("env", [])}}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join(["#!/bin/sh", *lines, f"cd {shlex.quote(folder)} || exit", f"exec {shlex.join(container['args'])}", ""])


def main(manifest, data, out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    job = job_of(manifest)
    if job["kind"] == "MPIJob":
        (out / "hostfile").write_text(hostfile_of(job))
    for pod in pods(job, out / "hostfile"):
        steps = [(pod.name, pod.containers()[0], pod.env)]
        steps += [(f"{pod.name}.init", container, {}) for container in pod.containers("initContainers")]
        for name, container, env in steps:
            (out / name).write_text(program(container, pod, data, env))
            (out / name).chmod(0o755)
        print(pod.name)


if __name__ == "__main__":
    if sys.argv[1] == "fate":  # pods.py fate MANIFEST CODE
        print(fate(job_of(sys.argv[2]), int(sys.argv[3])))
    else:
        main(*sys.argv[1:])

#!/usr/bin/env python3
"""What starts trainings on other engines: manifests for Kubernetes, the container file, and jobs that start containers.

tests/cluster/engines_test.sh runs what the manifests say, tests/install/container_test.sh what the container file does.
"""

import copy
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "engines"))
try:
    import pods
    import schema
except ImportError:
    print("SKIPPED: Python's yaml is not installed (Debian: python3-yaml)")
    sys.exit(77)
import containerfile  # noqa: E402

MANIFESTS = sorted((ROOT / "scripts" / "jobs" / "kubernetes").glob("*.yaml"))
CONTAINER = ROOT / "packaging" / "container"
VERSION = re.search(r"project\(\w+ VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
RESTART = 138  # what the manifests give to -restart_code


def exit_codes():
    """{code: "worth retrying"} of the table in docs/errors.md."""
    rows = re.findall(r"^\| ([0-9]+) \|.*\| ([^|]*) \|$", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    return {int(code): retry.strip() for code, retry in rows}


def images_and_commands():
    """(manifest, container) of every container."""
    for path in MANIFESTS:
        for pod in pods.pods(pods.job_of(path)):
            for kind in ("initContainers", "containers"):
                yield from ((path.name, container) for container in pod.containers(kind))


class Manifests(unittest.TestCase):
    def test_there_is_one_for_each_engine(self):
        self.assertEqual([pods.job_of(path)["kind"] for path in MANIFESTS], ["Job", "MPIJob", "PyTorchJob"])

    def test_every_field_is_a_published_one(self):
        for path in MANIFESTS:
            for document in pods.documents(path):
                self.assertEqual(schema.faults(document), [], path.name)

    def test_what_is_written_wrongly_is_refused(self):
        for path in MANIFESTS:
            for place, key in self.places(pods.job_of(path)):
                broken = copy.deepcopy(pods.job_of(path))
                target = broken
                for step in place:
                    target = target[step]
                target[f"{key}x"] = target.pop(key)
                self.assertTrue(schema.faults(broken), f"{path.name}: {key}x at {place}")

    def places(self, value, place=()):
        """Where each field is, but for those of maps, whose keys are anybody's."""
        if isinstance(value, list):
            for at, item in enumerate(value):
                yield from self.places(item, place + (at,))
        elif isinstance(value, dict) and not {"limits", "requests"} & set(place[-1:]):
            for key, item in value.items():
                yield place, key
                yield from self.places(item, place + (key,))

    def test_values_of_other_types_are_refused(self):
        job = pods.job_of(ROOT / "scripts/jobs/kubernetes/job.yaml")
        spec = job["spec"]["template"]["spec"]
        for holder, name, value in ((job["spec"], "completions", "4"), (job["spec"], "completionMode", "Index"),
                                    (spec["securityContext"], "runAsNonRoot", "true"), (spec, "containers", {}),
                                    (spec["containers"][0]["resources"]["limits"], "memory", "16 GB"),
                                    (spec["containers"][0]["env"][1], "value", 4), (job, "apiVersion", "batch/v2")):
            before = holder[name]
            holder[name] = value
            self.assertTrue(schema.faults(job), name)
            holder[name] = before
        del spec["containers"]
        self.assertEqual(schema.faults(job), [".spec.template.spec.containers: it is missing"])

    def test_what_an_engine_does_about_an_exit_code(self):
        codes = exit_codes()
        self.assertGreater(len(codes), 10)
        jobs = {path.name: pods.job_of(path) for path in MANIFESTS}
        for code, retry in codes.items():
            # What the programs end with where the manifests ask for another code (-restart_code).
            final = RESTART if code == 8 else code
            for name in ("job.yaml", "pytorchjob.yaml"):
                want = "done" if code == 0 else "again" if retry == "yes" or final >= 128 else "failed"
                # A GPU that fails is another node's business: a Job's next pod may come there.
                want = "again" if (name, code) == ("job.yaml", 10) else want
                self.assertEqual(pods.fate(jobs[name], final), want, f"{name}, exit code {code}")
            self.assertEqual(pods.fate(jobs["mpijob.yaml"], final), "again" if code else "done")
        for killed in (137, 143):
            self.assertEqual({pods.fate(job, killed) for job in jobs.values()}, {"again"})

    def test_all_pods_of_a_job_are_ranks(self):
        job = pods.job_of(ROOT / "scripts/jobs/kubernetes/job.yaml")
        made = pods.pods(job)
        env = {variable["name"]: variable for variable in made[0].containers()[0]["env"]}
        self.assertEqual(int(env["WORLD_SIZE"]["value"]), len(made))
        self.assertEqual(job["spec"]["parallelism"], len(made))
        service = next(d for d in pods.documents(ROOT / "scripts/jobs/kubernetes/job.yaml") if d["kind"] == "Service")
        self.assertEqual(env["MASTER_ADDR"]["value"], f"{made[0].name}.{service['metadata']['name']}")
        self.assertEqual(made[0].spec["subdomain"], service["metadata"]["name"])
        self.assertEqual(list(service["spec"]["selector"].values()), [job["metadata"]["name"]])

    def test_containers_are_of_the_image(self):
        image = containerfile.settings(containerfile.stages((CONTAINER / "Containerfile").read_text())[-1])
        user = int(image["USER"].partition(":")[0])
        for name, container in images_and_commands():
            self.assertEqual(container["image"], f"robusta:{VERSION}", name)
            self.assertEqual(container["workingDir"], image["WORKDIR"], name)
            self.assertNotIn("command", container, "the image's entry point hands on signals")
            self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
        for path in MANIFESTS:
            for pod in pods.pods(pods.job_of(path)):
                self.assertTrue(pod.spec["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod.spec["securityContext"]["runAsUser"], user)

    def test_ssh_is_where_an_mpijob_looks_for_it(self):
        job = pods.job_of(ROOT / "scripts/jobs/kubernetes/mpijob.yaml")
        worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
        server, client = ((CONTAINER / name).read_text() for name in ("sshd.conf", "ssh_client.conf"))
        port = worker["readinessProbe"]["tcpSocket"]["port"]
        self.assertIn(f"\nPort {port}\n", server)
        self.assertIn(f"\n  Port {port}\n", client)
        self.assertIn(f"\nHostKey {job['spec']['sshAuthMountPath']}/id_rsa\n", server)
        self.assertIn(f"sshd.conf {worker['args'][-1]}\n", (CONTAINER / "Containerfile").read_text())

    def test_every_training_goes_on(self):
        lines = [" ".join(container["args"]) for _, container in images_and_commands()]
        training = [line for line in lines if "caffe train" in line]
        self.assertEqual(len(training), 4 + 4 + 1, "4 pods of a Job, 4 of a PyTorchJob, the launcher of an MPIJob")
        for line in training:
            self.assertRegex(line, f"caffe train .*-snapshot auto -restart_code {RESTART}$")
        self.assertEqual(len([line for line in lines if "caffe check" in line]), 4 + 4 + 1)


class ContainerFile(unittest.TestCase):
    def setUp(self):
        self.text = (CONTAINER / "Containerfile").read_text()
        self.stages = containerfile.stages(self.text)

    def test_what_is_copied_is_there(self):
        for word, rest in sum(self.stages, []):
            if word == "COPY" and not rest.startswith("--from"):
                self.assertTrue((ROOT / rest.split()[0]).exists(), rest)

    def test_commands_are_a_shells(self):
        commands = [rest for word, rest in sum(self.stages, []) if word == "RUN"]
        self.assertEqual(len(commands), 6)
        for command in commands:
            done = subprocess.run(["sh", "-n", "-c", command], stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)

    def test_nothing_runs_as_root(self):
        image = containerfile.settings(self.stages[-1])
        self.assertEqual(image["USER"], "1000:1000")
        made = next(rest for word, rest in self.stages[-1] if "useradd" in rest)
        self.assertIn(f"--uid {image['USER'].partition(':')[0]} ", made)
        self.assertEqual(image["ENTRYPOINT"], ["tini", "--"])
        last = [word for word, _ in self.stages[-1]]
        self.assertNotIn("RUN", last[last.index("USER"):])

    def test_its_options_are_those_of_the_build(self):
        known = (ROOT / "CMakeLists.txt").read_text()
        for option in re.findall(r"-D(ROBUSTA_\w+)=", self.text):
            self.assertRegex(known, rf"(option|set)\({option}\b")

    def test_packages_are_debians(self):
        packages = set()
        for command in re.findall(r"apt-get install ([^&\n]*)", re.sub(r"\\\n", "", self.text)):
            packages |= {word for word in command.split() if not word.startswith(("-", "/"))}
        self.assertLessEqual({"tini", "openssh-server", "openmpi-bin"}, packages)
        if not shutil.which("apt-cache"):
            self.skipTest("there is no apt-cache")
        listed = subprocess.run(["apt-cache", "pkgnames"], stdout=subprocess.PIPE, text=True).stdout.split()
        if "tini" not in listed:
            self.skipTest("apt has no lists of packages")
        self.assertEqual(packages - set(listed), set())


class Jobs(unittest.TestCase):
    """Job scripts with stand-ins for what a cluster has."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("ddlrun", "srun", "scontrol"):
            self.put(name, f'echo {name} "$@" >> "$SAID"\n')
        self.env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "SAID": str(self.folder / "said"),
                    "HOME": str(self.folder), "ROBUSTA": str(self.folder / "project"), "PBS_O_WORKDIR": str(self.folder),
                    "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "resume", "PBS_JOBNAME": "resume", "PBS_JOBID": "7.host",
                    "LSB_JOBNAME": "resume", "LSB_JOBID": "7"}
        (self.folder / "project").mkdir()
        (self.folder / "project" / "scripts").symlink_to(ROOT / "scripts")
        # The project's own ddlrun comes first in PATH otherwise.
        (self.folder / "project" / "build" / "tools").mkdir(parents=True)
        shutil.copy(self.folder / "ddlrun", self.folder / "project" / "build" / "tools")

    def put(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def run_job(self, name, **env):
        """(exit code, what the stand-ins were told)"""
        said = self.folder / "said"
        said.write_text("")
        done = subprocess.run(["bash", ROOT / "scripts" / "jobs" / name], env={**self.env, **env}, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, said.read_text().splitlines()

    def test_ranks_in_a_container(self):
        for system in ("slurm", "pbs", "lsf"):
            for kind in ("train", "resume"):
                name = f"{kind}.{system}"
                line = self.run_job(name)[1][0]
                self.assertTrue(line.startswith("ddlrun caffe train -solver solver.prototxt"), f"{name}: {line}")
                inside = self.run_job(name, IMAGE="my robusta.sif")[1][0]
                self.assertEqual(inside, line.replace("ddlrun", "ddlrun apptainer exec my robusta.sif"), name)

    def test_pyxis_goes_on_until_training_is_done(self):
        for code, restarts, requeued in ((0, 0, False), (RESTART, 0, True), (RESTART, 10, False), (2, 0, False)):
            self.put("srun", f'echo srun "$@" >> "$SAID"\ncase "$*" in *check*) exit 0 ;; esac\nexit {code}\n')
            returned, said = self.run_job("pyxis.slurm", SLURM_RESTART_COUNT=str(restarts))
            self.assertEqual(returned, code)
            self.assertEqual("scontrol requeue 7" in said, requeued, f"exit code {code}, start {restarts}")
            self.assertRegex(said[0], "srun --mpi=pmix --container-image=.* caffe check -solver solver.prototxt")
            self.assertRegex(said[1], "srun --mpi=pmix --container-image=.* caffe train .*-snapshot auto -restart_code 138$")

    def test_pyxis_does_not_train_what_the_check_refuses(self):
        self.put("srun", 'echo srun "$@" >> "$SAID"\nexit 2\n')
        returned, said = self.run_job("pyxis.slurm")
        self.assertEqual((returned, len(said)), (2, 1))


if __name__ == "__main__":
    unittest.main()

"""Where the ranks run: hosts of a cluster script, which are this soak's own, or this host. Two sets may stand beside each
other, each with a network of its own."""

import os
import subprocess

from robusta_bench.lenet import BenchError
from robusta_soak.ending import held

NETWORKS = {"soak": "10.91.0", "calm": "10.92.0"}  # by the names of the sets
NUMBER = 3
ALONE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


class Hosts:
    """Set `name` of `script`'s, or this host where there is no script. names[0] has rank 0."""

    def __init__(self, ending, script, name):
        self.script, self.names = script, [os.uname().nodename]
        self.environment = {**os.environ, **ALONE}
        if not script:
            return
        self.environment.update(VC_RUN=f"/run/robusta.{name}", VC_NET=NETWORKS[name], VC_PREFIX=name,
                                VC_SWITCH=f"robusta.{name}")
        self.names = [f"{name}{number}" for number in range(1, NUMBER + 1)]
        ending.will(self.remove)
        self.remove()  # what a soak that was killed may have left
        with held():
            self.call("up", str(NUMBER))
        for line in self.call("env").splitlines():
            self.environment.update(word.partition("=")[::2] for word in line.split()[1:])

    def call(self, *words, check=True):
        # In a session of its own: Ctrl-C is for the soak alone, and what it begins to undo is undone wholly.
        done = subprocess.run([self.script, *words], env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True, check=False)
        if check and done.returncode:
            raise BenchError(f"{self.script} {' '.join(words)}: {done.stdout[-500:]}")
        return done.stdout

    def remove(self):
        with held():
            self.call("down", check=False)

    @property
    def ranks(self):
        return 2 * len(self.names) if self.script else 4

    @property
    def list(self):
        """For ddlrun's -H."""
        return ",".join(self.names) if self.script else "localhost"

    def command(self, *words):
        """On the first host."""
        return [self.script, "exec", self.names[0], *words] if self.script else list(words)

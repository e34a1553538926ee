"""What the chain has learned beside what the undisturbed training has, and the last line."""

import re
import subprocess

from robusta_bench.lenet import BenchError

ALIKE = 0.01  # of accuracies


def accuracy(soak, model):
    done = subprocess.run(["caffe", "test", "-model", "net.prototxt", "-weights", model, "-iterations", "10"],
                          cwd=soak.folder, env=soak.environment, text=True, capture_output=True, check=False)
    found = re.search(r"\] accuracy = ([\d.e+-]+)", done.stderr)
    if done.returncode or not found:
        raise BenchError(f"caffe test ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return float(found[1])


def summary(soak, chain, iterations, calm):
    """Prints it; whether all is as it should be. `calm`: the model of the undisturbed training."""
    model = soak.disk.folder / f"net_iter_{iterations}.caffemodel"
    disturbed, alone = accuracy(soak, model), accuracy(soak, calm)
    same = model.read_bytes() == calm.read_bytes()
    total = sum(chain.made.values())
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(chain.made.items()))
    print(f"{total} faults ({faults}), {chain.right} named rightly; {iterations} iterations in {soak.jobs} jobs; "
          f"accuracy {disturbed:.4f}, undisturbed {alone:.4f}, {'the same' if same else 'other'} weights")
    return chain.right == total and total > 0 and abs(disturbed - alone) <= ALIKE

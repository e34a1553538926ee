"""What is done in each visit: a table of steps, in the order of what is worth most.

A step is one program. `expected` are the seconds that it should take, on a GPU of the kind of an H100 and with what
earlier steps have left in the caches: it is not begun with less. `most` are those after which it is ended. One that
`goes_on` keeps what it has when it is ended, and is begun with less time, too. One that is `essential` ends the visit
where it fails. An `attempt` may fail, as what is not everywhere: that it does is told, and counts as its result.
"""

import dataclasses
import os

LONGEST_CHECK = 120  # seconds of a check of check_gpu.sh
# Nets beside those of the second visit, by what is in doubt: net, batch, precision.
ROWS = [("googlenet", 256, "bf16"), ("alexnet", 256, "bf16"), ("mobilenet", 256, "bf16"), ("resnet50", 64, "bf16"),
        ("lenet", 64, "f32"), ("mobilenet", 64, "bf16"),
        ("resnet50", 256, "f32"), ("vgg16", 64, "bf16"), ("vgg16", 256, "f32"), ("googlenet", 64, "bf16"),
        ("alexnet", 64, "bf16"), ("lenet", 64, "bf16"), ("resnet50", 64, "f32"), ("googlenet", 256, "f32"),
        ("alexnet", 256, "f32"), ("vgg16", 64, "f32"), ("googlenet", 64, "f32")]

# Passes forward, after the first six of these; bench_gpu.py --inference knows more nets.
FORWARD = [("resnet50", "bf16"), ("mobilenet", "bf16")]


@dataclasses.dataclass
class Step:
    name: str
    line: list  # {left} stands for the seconds that it may take
    expected: float
    most: float = 120
    environment: dict = dataclasses.field(default_factory=dict)
    goes_on: bool = False
    essential: bool = False
    attempt: bool = False


@dataclasses.dataclass
class Place:
    """Where programs lie and what they make is kept; `small` for a rehearsal without a GPU."""

    scripts: str  # the folder scripts/ of the bundle or the source tree
    caffe: str
    tests: str
    python: str
    results: str
    carried: str  # where what was carried there lies
    small: bool


def check_gpu(place, name, expected, most=120, goes_on=True, attempt=False, **settings):
    """A step of check_gpu.sh."""
    environment = {"CHECK_GPU_LIMIT": "900" if place.small else str(LONGEST_CHECK),
                   "CHECK_GPU_JOBS": "2" if place.small else str(os.cpu_count() or 8), "CHECK_GPU_LOGS": f"{place.results}/check_gpu",
                   "CHECK_GPU_RESUME": "yes", "CHECK_GPU_TUNING": "no"}
    return Step(name, [f"{place.scripts}/check_gpu.sh", name], expected, most, environment | settings, goes_on,
                attempt=attempt)


def bench(place, name, *options):
    """A line of bench_gpu.py, with its results in the file NAME.json."""
    return [place.python, f"{place.scripts}/bench_gpu.py", "--caffe", place.caffe, "--python", place.python, *options,
            "--json", f"{place.results}/{name}.json", "--resume", "--seconds", "{left}"]


def row(place, net, batch, precision, expected, most, modes="reduce-overhead,eager", what=""):
    """A net beside PyTorch."""
    name = f"{net}_{batch}_{precision}"
    small = ["--batches", "1", "--steps", "1"] if place.small else ["--batches", str(batch)]
    line = bench(place, name, "--nets", "lenet" if place.small else net, *small, "--precisions", precision,
                 "--modes", modes)
    return Step(name + what, line, expected, most, goes_on=True)


def forward_rows(place, net, precision, expected, most):
    """Passes forward of a net, with several batch sizes."""
    small = ["--batches", "1", "--steps", "1"] if place.small else ["--batches", "1,16,64"]
    line = bench(place, f"{net}_forward_{precision}", "--inference", "--nets", "lenet" if place.small else net, *small,
                 "--precisions", precision, "--modes", "reduce-overhead,graphs,eager")
    return Step(f"{net}_forward_{precision}", line, expected, most, goes_on=True)


def compiled(place, *rows):
    """PyTorch's side of these rows, compiled at the same time."""
    cases = [f"{net}:{batch}:{precision}:reduce-overhead" for net, batch, precision in rows]
    line = [place.python, f"{place.scripts}/gpu_visit/warm_torch.py", "--python", place.python, *cases]
    return Step("compiled", line, 110, 150, attempt=True)


def kernel_times(place, net):
    line = [place.python, f"{place.scripts}/gpu_visit/kernel_times.py", place.caffe,
            f"{place.results}/kernel_times_{net}.json", net, "256", "bf16", "--library",
            f"{place.carried}/libkernel_trace.so"]
    return Step(f"kernel_times_{net}", line, 12, 40, attempt=True)


def correctness(place):
    net = "lenet" if place.small else "resnet50"
    batch, iterations = ("2", "2") if place.small else ("64", "20")
    layers = [place.caffe, "time", "-model", f"{place.scripts}/../models/{net}/train_val.prototxt", "-batch", batch,
              "-precision", "bf16", "-iterations", iterations, "-gpu", "0",
              "-log_json", f"{place.results}/layer_times.json"]
    return [
        Step("query", [place.caffe, "device_query", "-gpu", "0"], 2, 60, essential=True),
        Step("software", [place.python, f"{place.scripts}/bench_torch_gpu.py", "about", "[]"], 8, 60, attempt=True),
        Step("driver", ["nvidia-smi"], 2, 20, attempt=True),
        check_gpu(place, "tests", 80, 240),
        check_gpu(place, "golden", 20),
        check_gpu(place, "training", 20, 180, goes_on=False),
        Step("layer_times", layers, 15, 120),
        check_gpu(place, "sanitizer", 20, 60, goes_on=False, attempt=True),
        check_gpu(place, "nets", 40, goes_on=False),
    ]


def fastest(place):
    return [
        compiled(place, ("resnet50", 256, "bf16"), ("vgg16", 256, "bf16")),
        row(place, "resnet50", 256, "bf16", 60, 200),
        row(place, "vgg16", 256, "bf16", 60, 180),
        kernel_times(place, "resnet50"),
        kernel_times(place, "vgg16"),
        Step("own_kernels", [place.python, f"{place.scripts}/gpu_visit/own_kernels.py", place.caffe,
                             f"{place.results}/own_kernels.json", *(["--small"] if place.small else [])], 60,
             attempt=True),
        row(place, "resnet50", 256, "bf16", 150, 240, "reduce-overhead,eager,compile,max-autotune", "_all_modes"),
        row(place, "vgg16", 256, "bf16", 150, 240, "reduce-overhead,eager,compile,max-autotune", "_all_modes"),
    ]


def others(place):
    return [compiled(place, *ROWS[:4]), *(row(place, *which, 45, 150) for which in ROWS[:6]),
            *(forward_rows(place, *which, 60, 180) for which in FORWARD),
            *(row(place, *which, 45, 150) for which in ROWS[6:])]


def memory(place):
    sanitized = {"CHECK_GPU_SHARDS": "16", "CHECK_GPU_FILTER": "*Gpu*-Cudnn*"}
    small = ["--lms_cases", "lenet:f32:1", "--gpu_memory", "16M"] if place.small else []
    lms = bench(place, "lms", "--lms_only", "--lms_tuning", "no", "--steps", "1" if place.small else "5", *small)
    return [
        check_gpu(place, "memcheck", 150, 240, **sanitized),
        Step("lms", lms, 90, 180, goes_on=True),
        check_gpu(place, "racecheck", 150, 240, **sanitized),
    ]


def ranks(place):
    ours = [f"--caffe={place.caffe}", f"--results={place.results}"]
    soak = ["--seconds", "1", "--iterations", "60"] if place.small else ["--seconds", "300"]
    return [
        Step("two_ranks", [place.python, f"{place.scripts}/gpu_visit/two_ranks.py", *ours], 30, 90),
        Step("nccl", [f"{place.tests}/solver_test", "--gtest_filter=NcclLibrary.*:PipelineOnGpus.*"], 15, 60),
        Step("soak", [place.python, f"{place.scripts}/gpu_visit/faults.py", *ours, *soak], 330, 400),
    ]


VISITS = {"A": correctness, "B": fastest, "C": others, "D": memory, "E": ranks}

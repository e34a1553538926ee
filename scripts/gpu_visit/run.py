#!/usr/bin/env python3
"""One visit to a machine with a GPU, of some minutes: does what it has the time for, and goes on there the next time.

  scripts/gpu_visit/run.py A|B|C|D|E --out FOLDER [--carried FOLDER] [--seconds 540] [--again] [--rehearse [FILE]]

  A  correctness: what there is, kernels and recordings, trainings, ResNet-50 layer by layer, the nets
  B  ResNet-50 and VGG-16 in bf16 beside PyTorch; the most expensive of our own kernels under ncu
  C  the other nets, batch sizes and precisions beside PyTorch
  D  kernels under compute-sanitizer; what large model support costs
  E  two ranks that share the GPU, NCCL with one rank, a training with faults

Steps and their order are in steps.py. A step is begun when there is time for it, and ended when that is up. When all are
done, or the time is up, FOLDER holds visit.tar.gz with all results, logs and caches so far, those of the visits
before it among them. Put into the folder that --carried names it tells the next call what is done already: that is not
done again, except by --again, which repeats what failed or was tried in vain. What was cut short, or not begun, is.

--carried is also where recordings.tar.gz is looked for. --rehearse runs all of it on a fake GPU, in small, by a clock that
goes as the steps are expected to go, or as FILE says (JSON, seconds by the name of a step).

The exit code is 0 when all steps of the visit are done and none failed, 3 when some are left for another call, else 1.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys

import budget
import carried
import steps

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
LEFT = 3  # exit code of what was not done for lack of time
FAILURES = ("failed", "late")
RESERVE = 15  # seconds for packing
LEAST = 20  # seconds: what goes on after a stop is begun with so many


class Visit:
    def __init__(self, options, clock):
        self.name, self.clock, self.seconds = options.visit, clock, options.seconds
        self.out, self.most = options.out, options.most_mb * 10**6
        self.folder = options.work
        self.results = self.folder / "results"
        self.logs = self.folder / "logs"
        for folder in (self.out, self.results, self.logs, self.folder / carried.CACHES):
            folder.mkdir(parents=True, exist_ok=True)
        carried.unpack(options.carried / carried.NAME, self.folder)
        self.state_file = self.folder / "state.json"
        self.state = json.loads(self.state_file.read_text()) if self.state_file.exists() else {}
        if options.again:
            self.state = {name: how for name, how in self.state.items() if how["outcome"] in ("done", "cut")}
        self.environment = dict(os.environ) | caches(self.folder / carried.CACHES) | options.environment

    def left(self):
        return self.seconds - RESERVE - self.clock.now()

    def settled(self, step):
        return self.state.get(f"{self.name} {step.name}", {}).get("outcome") in ("done", "tried", "failed", "late")

    def run(self, step):
        """Runs a step within the time that is left, and notes its outcome."""
        start, limit = self.clock.now(), min(step.most, self.left())
        line = [word.replace("{left}", str(int(limit - 5))) for word in step.line]
        code = self.clock.run(step, line, self.logs / f"{self.name}_{step.name}.log",
                              self.environment | step.environment, SCRIPTS.parent, limit)
        took = self.clock.now() - start
        self.note(step, outcome_of(step, code, limit), code, took)

    def note(self, step, outcome, code, took):
        self.state[f"{self.name} {step.name}"] = {"outcome": outcome, "code": code, "seconds": round(took, 1)}
        self.state_file.write_text(json.dumps(self.state, indent=2) + "\n")
        print(f"{self.clock.now():6.0f} s  {outcome:6} {step.name} ({took:.0f} s)", flush=True)

    def outcomes(self, plan):
        return {step.name: self.state.get(f"{self.name} {step.name}", {}).get("outcome", "left") for step in plan}

    def go(self, plan):
        for step in plan:
            if self.settled(step):
                continue
            wanted = LEAST if step.goes_on else step.expected
            if self.left() < wanted:
                print(f"{self.clock.now():6.0f} s  left   {step.name}: wants {wanted:.0f} s", flush=True)
                continue
            self.run(step)
            if step.essential and self.outcomes([step])[step.name] != "done":
                print(f"{step.name} did not succeed: nothing else is tried", flush=True)
                break

    def close(self, plan):
        """Packs, and says what there is; the exit code."""
        for cache in carried.pack(self.folder, self.out, self.most):
            print(f"the cache {cache} had no room beside the results")
        found = self.outcomes(plan)
        failed = [name for name, outcome in found.items() if outcome in FAILURES]
        left = [name for name, outcome in found.items() if outcome in ("left", "cut")]
        for name in (name for name in found if found[name] in ("tried", *FAILURES)):
            title = "FAILED" if name in failed else "tried in vain"
            print(f"{title}: {name}\n{tail(self.logs / f'{self.name}_{name}.log')}")
        print(f"{self.name}: {len(found) - len(failed) - len(left)} steps done, {len(failed)} failed, {len(left)} left; "
              f"{self.out / carried.NAME}", flush=True)
        return 1 if failed else LEFT if left else 0


def outcome_of(step, code, limit):
    if code is None:
        return "late" if limit == step.most and not step.goes_on else "cut"
    if code == LEFT and step.goes_on:
        return "cut"
    return "done" if code == 0 else "tried" if step.attempt else "failed"


def tail(log, lines=15):
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(f"    {line[:200]}" for line in text.splitlines()[-lines:])


def caches(folder):
    """The environment in which programs keep there what they would compile, or time, again: ours, CUDA's, PyTorch's."""
    return {"XDG_CACHE_HOME": str(folder / "ours"), "CUDA_CACHE_PATH": str(folder / "cuda"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton"),
            "TORCHINDUCTOR_FX_GRAPH_CACHE": "1", "PYTHONUNBUFFERED": "1"}


def unpack_recordings(options):
    """Where the recordings of the real Caffe are, for the tests."""
    tarball = options.carried / "recordings.tar.gz"
    if tarball.is_file() and "ROBUSTA_SHARED_DIR" not in os.environ:
        shared = options.work.parent / "shared"
        shared.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "xzf", tarball, "-C", shared], check=True)
        options.environment["ROBUSTA_SHARED_DIR"] = str(shared)


def end_at(number, _):
    """As whoever started this wants it to end: what runs is ended, results are packed."""
    raise KeyboardInterrupt(f"signal {number}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("visit", choices=sorted(steps.VISITS))
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for visit.tar.gz")
    parser.add_argument("--carried", type=pathlib.Path, default=pathlib.Path("."),
                        help="folder with the visit.tar.gz of the call before, and recordings.tar.gz")
    parser.add_argument("--work", type=pathlib.Path, default=SCRIPTS.parent / "build/gpu_visit/work",
                        help="folder to work in: caches that are carried serve best in the same one (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=540, help="that the call may take in all")
    parser.add_argument("--most_mb", type=float, help="size of visit.tar.gz, for which caches are left out (default: what "
                        "the file most_mb of the folder that is carried says, else 13)")
    parser.add_argument("--again", action="store_true", help="repeat what failed")
    parser.add_argument("--rehearse", nargs="?", const="", metavar="FILE", help="on a fake GPU")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--programs", type=pathlib.Path, default=SCRIPTS.parent / "build/tools")
    parser.add_argument("--tests", type=pathlib.Path, default=SCRIPTS.parent / "bin", help="folder of the test programs")
    options = parser.parse_args()
    options.environment = {}
    for name in ("out", "carried", "work", "programs", "tests"):
        setattr(options, name, getattr(options, name).absolute())
    if options.most_mb is None:
        told = options.carried / "most_mb"
        options.most_mb = float(told.read_text()) if told.is_file() else 13
    return options


def main():
    options = parse()
    clock = budget.Clock()
    if options.rehearse is not None:
        clock = budget.RehearsalClock(json.loads(pathlib.Path(options.rehearse).read_text()) if options.rehearse else {})
        options.environment["ROBUSTA_SIM_GPUS"] = os.environ.get("ROBUSTA_SIM_GPUS", "1:8G")
    unpack_recordings(options)
    place = steps.Place(scripts=str(SCRIPTS), caffe=str(options.programs / "caffe"), tests=str(options.tests),
                        python=options.python, results=str(options.work / "results"),
                        carried=str(options.carried),
                        small=options.rehearse is not None)
    visit = Visit(options, clock)
    plan = steps.VISITS[options.visit](place)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_at)
    try:
        visit.go(plan)
    except KeyboardInterrupt:
        print("ended from outside", flush=True)
    sys.exit(visit.close(plan))


if __name__ == "__main__":
    main()

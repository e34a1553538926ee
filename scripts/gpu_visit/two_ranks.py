#!/usr/bin/env python3
"""Two ranks on one GPU, with half a batch each: losses have to be those of one rank with the whole batch.

  scripts/gpu_visit/two_ranks.py --caffe PROGRAM --results FOLDER
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import lenet

ITERATIONS = 20
MOST = 1e-3  # relative difference of losses: sums in another order


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def losses_of(caffe, folder, ranks):
    """The displayed losses of a training by so many ranks."""
    solver = lenet.write_solver(folder, f"ranks{ranks}", max_iter=ITERATIONS, display=1, snapshot=0,
                                snapshot_after_train="false")
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks)}
    flags = ["-gpu", "0", "-deterministic", "-tf32=false", "-batch", "global", *(["-share_gpu"] if ranks > 1 else [])]
    logs = [open(folder / f"ranks{ranks}_{rank}.log", "w+", encoding="utf-8") for rank in range(ranks)]
    children = [lenet.train(caffe, solver, *flags, log=log,
                            environment=os.environ | job | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
                for rank, log in enumerate(logs)]
    codes = [child.wait() for child in children]
    texts = []
    for log in logs:
        log.seek(0)
        texts.append(log.read())
        log.close()
    if any(codes):
        sys.exit(f"{ranks} ranks ended with the codes {codes}:\n" + "\n".join(text[-2000:] for text in texts))
    return lenet.losses(texts[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    options = parser.parse_args()
    lenet.make_digits()
    with tempfile.TemporaryDirectory() as folder:
        one, two = (losses_of(options.caffe, pathlib.Path(folder), ranks) for ranks in (1, 2))
    if len(one) < ITERATIONS or one.keys() != two.keys():
        sys.exit(f"losses of {len(one)} and {len(two)} iterations were displayed, not of {ITERATIONS} and the last")
    worst = max(abs(one[i] - two[i]) / abs(one[i]) for i in one)
    (options.results / "two_ranks.json").write_text(json.dumps({"one": one, "two": two, "worst": worst}) + "\n")
    print(f"losses of two ranks that share the GPU are off by {worst:.2g} at most, {MOST:g} allowed")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""PyTorch's side of bench_gpu.py: one measurement, in a process of its own. Prints one line of JSON.

  scripts/bench_torch_gpu.py step '["resnet50", 64, 20, "bf16", "reduce-overhead", "cuda"]'   ms of a training step
  scripts/bench_torch_gpu.py forward '["resnet50", 64, 20, "bf16", "graphs", "cuda"]'          ms of a pass forward
  scripts/bench_torch_gpu.py link '[]'                                                       bytes per second to the GPU
  scripts/bench_torch_gpu.py about '[]'                                                      versions, name of the GPU
"""

import json
import sys
import time

import torch
import torch._inductor.config
from torch.nn import functional

import bench_torch
from robusta_bench import torch_timed


def task(name, batch):
    """The network, a batch of images, its labels, and a function of outputs and labels that gives the loss."""
    if name in torch_timed.NETS:
        net = torch_timed.NETS[name]()
        return net, *net.example(batch), net.losses
    return *bench_torch.task(name, batch), lambda outputs, labels: sum(
        weight * functional.cross_entropy(scores, labels) for scores, weight in outputs)


def step(net, batch, steps, precision, mode, device):
    """Milliseconds of a training step."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    model, images, labels, sum_of_losses = task(net, batch)
    model = model.to(device=device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=0.0005, fused=device != "cpu")
    images = images.to(device=device, memory_format=torch.channels_last)
    labels = labels.to(device)

    def loss_of(images, labels):
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            return sum_of_losses(model(images), labels)

    if mode != "eager":
        loss_of = torch.compile(loss_of, mode="default" if mode == "compile" else mode)

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss_of(images, labels).backward()
        optimizer.step()

    def synchronize():
        if device != "cpu":
            torch.cuda.synchronize()

    for _ in range(5 if device != "cpu" else 1):
        train()
    synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        train()
    synchronize()
    return (time.perf_counter() - start) / steps * 1000


def captured(run, images):
    """A function that replays what `run` does with these images as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run(images)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(images)
    return lambda _: graph.replay()


def forward(net, batch, steps, precision, mode, device):
    """Milliseconds of a pass forward, from a batch that is there until its scores are."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    model, images = task(net, batch)[:2]
    form = {"device": device, "memory_format": torch.channels_last,
            "dtype": torch.bfloat16 if precision == "bf16" else torch.float32}
    model, images = model.to(**form).eval(), images.to(**form)

    def synchronize():
        if device != "cpu":
            torch.cuda.synchronize()

    with torch.inference_mode():
        run = model
        if mode == "graphs":
            run = captured(model, images)
        elif mode != "eager":
            # Folds what is constant, BatchNorm among it.
            torch._inductor.config.freezing = True
            run = torch.compile(model, mode="default" if mode == "compile" else mode)
        for _ in range(5 if device != "cpu" else 1):
            run(images)
        synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            run(images)
            synchronize()
        return (time.perf_counter() - start) / steps * 1000


def link():
    """Bytes per second from page-locked memory to the GPU."""
    host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=True)
    there = torch.empty_like(host, device="cuda")
    there.copy_(host)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(8):
        there.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    return 8 * host.numel() / (time.perf_counter() - start)


def about():
    """What PyTorch is, and the GPU that it sees ("" for none)."""
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    cudnn = torch.backends.cudnn.version() if gpu else None
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": cudnn, "gpu": gpu}


if __name__ == "__main__":
    work = {"step": step, "forward": forward, "link": link, "about": about}[sys.argv[1]]
    print(json.dumps(work(*json.loads(sys.argv[2]))))

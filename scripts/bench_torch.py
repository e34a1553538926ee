#!/usr/bin/env python3
"""The networks of models/ in PyTorch, and the time of a training step, or of a forward pass. Called by bench_cpu.py.

  scripts/bench_torch.py NET BATCH STEPS contiguous|channels_last THREADS [--precision f32|bf16] [--mode eager|compiled]
    [--inference]

Prints the milliseconds of a step; bf16 is by autocast. Compiled is torch.compile, for inference with the weights frozen,
and both warm-up steps come before the clock starts, compilation with them. Those of robusta_bench/torch_timed.py aside, every network returns a
list of (scores, weight of its loss), so that GoogLeNet's auxiliary classifiers count as they do in
models/bvlc_googlenet/train_val.prototxt.
"""

import argparse
import time

import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional

from robusta_bench import torch_timed


class Classifier(nn.Sequential):
    """A chain with one loss."""

    def forward(self, x):
        return [(super().forward(x), 1.0)]


def conv_relu(inputs, outputs, kernel, **options):
    return [nn.Conv2d(inputs, outputs, kernel, **options), nn.ReLU(inplace=True)]


def max_pool(kernel, stride, padding=0):
    return nn.MaxPool2d(kernel, stride, padding, ceil_mode=True)


def lrn():
    return nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1.0)


def fully_connected(inputs):
    """The three last layers of AlexNet and VGG."""
    layers = [nn.Flatten()]
    for size in (inputs, 4096):
        layers += [nn.Linear(size, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5)]
    return [*layers, nn.Linear(4096, 1000)]


def lenet():
    return Classifier(nn.Conv2d(1, 20, 5), max_pool(2, 2), nn.Conv2d(20, 50, 5), max_pool(2, 2), nn.Flatten(),
                      nn.Linear(800, 500), nn.ReLU(inplace=True), nn.Linear(500, 10))


def alexnet():
    return Classifier(*conv_relu(3, 96, 11, stride=4), lrn(), max_pool(3, 2),
                      *conv_relu(96, 256, 5, padding=2, groups=2), lrn(), max_pool(3, 2),
                      *conv_relu(256, 384, 3, padding=1), *conv_relu(384, 384, 3, padding=1, groups=2),
                      *conv_relu(384, 256, 3, padding=1, groups=2), max_pool(3, 2), *fully_connected(256 * 6 * 6))


def vgg16():
    layers, channels = [], 3
    for count, outputs in [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)]:
        for _ in range(count):
            layers += conv_relu(channels, outputs, 3, padding=1)
            channels = outputs
        layers.append(max_pool(2, 2))
    return Classifier(*layers, *fully_connected(512 * 7 * 7))


class Fire(nn.Module):
    """A block of SqueezeNet."""

    def __init__(self, inputs, squeezed, outputs):
        super().__init__()
        self.squeeze = nn.Sequential(*conv_relu(inputs, squeezed, 1))
        self.one, self.three = [nn.Sequential(*conv_relu(squeezed, outputs, kernel, padding=kernel // 2))
                                for kernel in (1, 3)]

    def forward(self, x):
        x = self.squeeze(x)
        return torch.cat([self.one(x), self.three(x)], 1)


def squeezenet():
    """Version 1.1."""
    return Classifier(*conv_relu(3, 64, 3, stride=2), max_pool(3, 2), Fire(64, 16, 64), Fire(128, 16, 64),
                      max_pool(3, 2), Fire(128, 32, 128), Fire(256, 32, 128), max_pool(3, 2), Fire(256, 48, 192),
                      Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256), nn.Dropout(0.5),
                      *conv_relu(512, 1000, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Inception(nn.Module):
    def __init__(self, inputs, ones, reduce3, threes, reduce5, fives, projection):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Sequential(*conv_relu(inputs, ones, 1)),
            nn.Sequential(*conv_relu(inputs, reduce3, 1), *conv_relu(reduce3, threes, 3, padding=1)),
            nn.Sequential(*conv_relu(inputs, reduce5, 1), *conv_relu(reduce5, fives, 5, padding=2)),
            nn.Sequential(max_pool(3, 1, 1), *conv_relu(inputs, projection, 1))])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_4a = nn.Sequential(
            *conv_relu(3, 64, 7, stride=2, padding=3), max_pool(3, 2), lrn(), *conv_relu(64, 64, 1),
            *conv_relu(64, 192, 3, padding=1), lrn(), max_pool(3, 2), Inception(192, 64, 96, 128, 16, 32, 32),
            Inception(256, 128, 128, 192, 32, 96, 64), max_pool(3, 2), Inception(480, 192, 96, 208, 16, 48, 64))
        self.to_4d = nn.Sequential(Inception(512, 160, 112, 224, 24, 64, 64), Inception(512, 128, 128, 256, 24, 64, 64),
                                   Inception(512, 112, 144, 288, 32, 64, 64))
        self.to_end = nn.Sequential(
            Inception(528, 256, 160, 320, 32, 128, 128), max_pool(3, 2), Inception(832, 256, 160, 320, 32, 128, 128),
            Inception(832, 384, 192, 384, 48, 128, 128), nn.AvgPool2d(7, 1), nn.Flatten(), nn.Dropout(0.4),
            nn.Linear(1024, 1000))
        self.loss1, self.loss2 = self.auxiliary(512), self.auxiliary(528)

    @staticmethod
    def auxiliary(inputs):
        return nn.Sequential(nn.AvgPool2d(5, 3, ceil_mode=True), *conv_relu(inputs, 128, 1), nn.Flatten(),
                             nn.Linear(128 * 4 * 4, 1024), nn.ReLU(inplace=True), nn.Dropout(0.7),
                             nn.Linear(1024, 1000))

    def forward(self, x):
        a = self.to_4a(x)
        d = self.to_4d(a)
        return [(self.loss1(a), 0.3), (self.loss2(d), 0.3), (self.to_end(d), 1.0)]


def conv_norm(inputs, outputs, kernel, bias=False, **options):
    return [nn.Conv2d(inputs, outputs, kernel, bias=bias, **options), nn.BatchNorm2d(outputs)]


class Bottleneck(nn.Module):
    """Stride in the first 1x1 convolution."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(*conv_norm(inputs, width, 1, stride=stride), nn.ReLU(inplace=True),
                                  *conv_norm(width, width, 3, padding=1), nn.ReLU(inplace=True),
                                  *conv_norm(width, 4 * width, 1))
        same = inputs == 4 * width
        self.short = nn.Identity() if same else nn.Sequential(*conv_norm(inputs, 4 * width, 1, stride=stride))

    def forward(self, x):
        return functional.relu(self.body(x) + self.short(x), inplace=True)


def resnet50():
    layers = [*conv_norm(3, 64, 7, bias=True, stride=2, padding=3), nn.ReLU(inplace=True), max_pool(3, 2)]
    channels = 64
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if block == 0 and stage > 0 else 1))
            channels = 4 * width
    return Classifier(*layers, nn.AvgPool2d(7), nn.Flatten(), nn.Linear(2048, 1000))


class Lstm(nn.Module):
    """Two layers of 512 units over 64 steps, and scores of 256 classes at each."""

    def __init__(self):
        super().__init__()
        self.lstm, self.scores = nn.LSTM(512, 512, 2), nn.Linear(512, 256)

    def forward(self, x):
        return [(self.scores(self.lstm(x)[0]).flatten(0, 1), 1.0)]


INPUTS = {"lenet": (lenet, 1, 28, 10), "alexnet": (alexnet, 3, 227, 1000), "googlenet": (GoogLeNet, 3, 224, 1000),
          "resnet50": (resnet50, 3, 224, 1000), "squeezenet": (squeezenet, 3, 227, 1000), "vgg16": (vgg16, 3, 224, 1000)}


def task(name, batch):
    """The network, a batch of input, and its labels."""
    if name == "lstm":
        return Lstm(), torch.randn(64, batch, 512), torch.randint(256, (64 * batch,))
    build, channels, size, classes = INPUTS[name]
    return build(), torch.randn(batch, channels, size, size), torch.randint(classes, (batch,))


def prepared(name, batch, memory_format):
    """The network, its input, and a function of its outputs that gives the loss."""
    if name in torch_timed.NETS:
        net = torch_timed.NETS[name]()
        x, targets = net.example(batch)
        loss = lambda outputs: net.losses(outputs, targets)  # noqa: E731
    else:
        net, x, labels = task(name, batch)
        loss = lambda outputs: sum(  # noqa: E731
            weight * functional.cross_entropy(scores, labels) for scores, weight in outputs)
    return net.to(memory_format=memory_format), x.to(memory_format=memory_format), loss


def autocast(precision):
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")


def training_step(net, x, loss_of, precision):
    net.train()
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.001, momentum=0.9,
                                weight_decay=0.0005)

    def step():
        optimizer.zero_grad()
        with autocast(precision):
            loss = loss_of(net(x))
        loss.backward()
        optimizer.step()

    return step


def forward_pass(net, x, precision):
    net.eval()

    def step():
        with torch.inference_mode(), autocast(precision):
            net(x)

    return step


def time_of(step, steps):
    """Milliseconds of one of `steps`, after two that warm up."""
    for _ in range(2):
        step()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps * 1000


def main():
    formats = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("net")
    for name in ("batch", "steps"):
        parser.add_argument(name, type=int)
    parser.add_argument("memory_format", choices=formats)
    parser.add_argument("threads", type=int)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=["eager", "compiled"], default="eager")
    parser.add_argument("--inference", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    net, x, loss_of = prepared(options.net, options.batch, formats[options.memory_format])
    if options.mode == "compiled":
        torch._inductor.config.freezing = options.inference
        net = torch.compile(net)
    step = (forward_pass(net, x, options.precision) if options.inference
            else training_step(net, x, loss_of, options.precision))
    print(time_of(step, options.steps))


if __name__ == "__main__":
    main()

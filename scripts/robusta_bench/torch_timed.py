"""PyTorch's versions of scripts/robusta_models/timed.py. Each gives losses from its input and fixed targets.

A network's `example(batch)` is its input and its targets; `losses(outputs, targets)` is what is differentiated.
"""

import torch
from torch import nn
from torch.nn import functional


def unit(inputs, outputs, kernel=1, stride=1, group=1, relu=True):
    """Convolution without bias, BatchNorm, and ReLU unless told otherwise."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=group, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Classifier(nn.Module):
    """1000 classes of images of 224 x 224."""

    def __init__(self, *layers):
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)

    def example(self, batch):
        return torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))

    def losses(self, scores, labels):
        return functional.cross_entropy(scores, labels)


def separable(channels, outputs, stride):
    return [unit(channels, channels, 3, stride, channels), unit(channels, outputs)]


MOBILENET = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def mobilenet():
    layers, channels = [unit(3, 32, 3, 2)], 32
    for outputs, stride in MOBILENET:
        layers += separable(channels, outputs, stride)
        channels = outputs
    return Classifier(*layers, nn.AdaptiveAvgPool2d(1), nn.Conv2d(1024, 1000, 1), nn.Flatten())


class Inverted(nn.Module):
    """A block of MobileNet v2, whose first one expands to as many channels as it has, as published for Caffe."""

    def __init__(self, inputs, outputs, expansion, stride):
        super().__init__()
        wide = expansion * inputs
        self.body = nn.Sequential(unit(inputs, wide), unit(wide, wide, 3, stride, wide),
                                  unit(wide, outputs, relu=False))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2():
    layers, channels = [unit(3, 32, 3, 2)], 32
    for expansion, outputs, blocks, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 1),
                                               (6, 96, 3, 2), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(blocks):
            layers.append(Inverted(channels, outputs, expansion, stride if block == 0 else 1))
            channels = outputs
    return Classifier(*layers, unit(320, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class Shuffle(nn.Module):
    """A unit of ShuffleNet v2."""

    def __init__(self, inputs, outputs):
        super().__init__()
        half, self.halving = outputs // 2, inputs != outputs
        stride, right = (2, inputs) if self.halving else (1, half)
        self.left = nn.Sequential(unit(inputs, inputs, 3, 2, inputs, relu=False), unit(inputs, half)) \
            if self.halving else nn.Identity()
        self.right = nn.Sequential(unit(right, half), unit(half, half, 3, stride, half, relu=False), unit(half, half))

    def forward(self, x):
        left, right = (x, x) if self.halving else x.chunk(2, 1)
        return functional.channel_shuffle(torch.cat([self.left(left), self.right(right)], 1), 2)


def shufflenet_v2():
    layers, channels = [unit(3, 24, 3, 2), nn.MaxPool2d(3, 2, ceil_mode=True)], 24
    for outputs, blocks in [(116, 4), (232, 8), (464, 4)]:
        for _ in range(blocks):
            layers.append(Shuffle(channels, outputs))
            channels = outputs
    return Classifier(*layers, unit(464, 1024), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class Ssd(nn.Module):
    """SSD-300 on MobileNet, with a fixed target for each box."""

    CLASSES, BOXES = 21, 1917

    def __init__(self):
        super().__init__()
        first, second, channels = [unit(3, 32, 3, 2)], [], 32
        for i, (outputs, stride) in enumerate(MOBILENET):
            (first if i < 11 else second).extend(separable(channels, outputs, stride))
            channels = outputs
        self.stages = nn.ModuleList([nn.Sequential(*first), nn.Sequential(*second)])
        for reduced, outputs in [(256, 512), (128, 256), (128, 256), (64, 128)]:
            self.stages.append(nn.Sequential(unit(channels, reduced), unit(reduced, outputs, 3, 2)))
            channels = outputs
        widths = [512, 1024, 512, 256, 256, 128]
        boxes = [3, 6, 6, 6, 6, 6]
        self.places = nn.ModuleList(nn.Conv2d(w, 4 * n, 1) for w, n in zip(widths, boxes))
        self.classes = nn.ModuleList(nn.Conv2d(w, self.CLASSES * n, 1) for w, n in zip(widths, boxes))

    def forward(self, x):
        places, classes = [], []
        for stage, place, kind in zip(self.stages, self.places, self.classes):
            x = stage(x)
            places.append(place(x).permute(0, 2, 3, 1).flatten(1))
            classes.append(kind(x).permute(0, 2, 3, 1).flatten(1))
        return torch.cat(places, 1), torch.cat(classes, 1).unflatten(1, (-1, self.CLASSES))

    def example(self, batch):
        targets = torch.full((batch, 4 * self.BOXES), 0.1), torch.ones(batch, self.BOXES, dtype=torch.long)
        return torch.randn(batch, 3, 300, 300), targets

    def losses(self, outputs, targets):
        return functional.mse_loss(outputs[0], targets[0]) + functional.cross_entropy(outputs[1].transpose(1, 2),
                                                                                      targets[1])


class Fcn(nn.Module):
    """FCN-8s on VGG-16 for images of 500 x 500."""

    CLASSES, SIZE = 21, 500

    def __init__(self):
        super().__init__()
        stages, channels = [], 3
        for count, outputs in [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)]:
            layers = []
            for i in range(count):
                pad = 100 if not stages and i == 0 else 1
                layers += [nn.Conv2d(channels, outputs, 3, padding=pad), nn.ReLU(inplace=True)]
                channels = outputs
            stages.append(nn.Sequential(*layers, nn.MaxPool2d(2, 2, ceil_mode=True)))
        self.to3, self.to4 = nn.Sequential(*stages[:3]), stages[3]
        self.to7 = nn.Sequential(stages[4], nn.Conv2d(512, 4096, 7), nn.ReLU(inplace=True), nn.Dropout(),
                                 nn.Conv2d(4096, 4096, 1), nn.ReLU(inplace=True), nn.Dropout())
        self.score3, self.score4, self.score7 = (nn.Conv2d(c, self.CLASSES, 1) for c in (256, 512, 4096))
        self.up2, self.up4, self.up8 = self.upscore(2), self.upscore(2), self.upscore(8)

    def upscore(self, stride):
        layer = nn.ConvTranspose2d(self.CLASSES, self.CLASSES, 2 * stride, stride, groups=self.CLASSES, bias=False)
        return layer.requires_grad_(False)

    def forward(self, x):
        def crop(y, offset, size):
            return y[:, :, offset:offset + size[0], offset:offset + size[1]]

        pool3 = self.to3(x)
        pool4 = self.to4(pool3)
        up = self.up2(self.score7(self.to7(pool4)))
        up = self.up4(up + crop(self.score4(pool4), 5, up.shape[2:]))
        up = self.up8(up + crop(self.score3(pool3), 9, up.shape[2:]))
        return crop(up, 31, x.shape[2:])

    def example(self, batch):
        return torch.randn(batch, 3, self.SIZE, self.SIZE), torch.ones(batch, self.SIZE, self.SIZE, dtype=torch.long)

    def losses(self, scores, labels):
        return functional.cross_entropy(scores, labels)


NETS = {"mobilenet": mobilenet, "mobilenet_v2": mobilenet_v2, "shufflenet_v2": shufflenet_v2, "ssd_mobilenet": Ssd,
        "fcn8s": Fcn}

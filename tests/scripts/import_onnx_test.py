#!/usr/bin/env python3
"""Models as PyTorch exports them, imported by `caffe import`: each net computes what its model does.

Weights are random. Both exporters and several opsets; the difference is the largest between two numbers of an output,
relative to its largest number. Needs torch, torchvision, onnx, onnxscript and onnxruntime in the interpreter that runs
this or that ROBUSTA_ONNX_PYTHON names; without them the test is skipped.
"""

import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

SKIP = 77
TOLERANCE = 1e-4
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
try:
    import onnxruntime  # noqa: F401
    import onnxscript  # noqa: F401
    import torch
    import torchvision
    from torch import nn
except ImportError as error:
    other = os.environ.get("ROBUSTA_ONNX_PYTHON", "")
    if other and pathlib.Path(other).absolute() != pathlib.Path(sys.executable).absolute():
        os.execv(other, [other, *sys.argv])
    print(f"skipped: {error} (ROBUSTA_ONNX_PYTHON may name an interpreter that has it)")
    sys.exit(SKIP)

ROWS = []


def conv_silu(inputs, outputs, kernel=1, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if kernel != 6 else 2, bias=False),
                         nn.BatchNorm2d(outputs), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.first, self.second, self.shortcut = conv_silu(channels, channels), conv_silu(channels, channels, 3), shortcut

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.shortcut else y


class C3(nn.Module):
    def __init__(self, inputs, outputs, count, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.a, self.b, self.out = conv_silu(inputs, half), conv_silu(inputs, half), conv_silu(2 * half, outputs)
        self.blocks = nn.Sequential(*(Bottleneck(half, shortcut) for _ in range(count)))

    def forward(self, x):
        return self.out(torch.cat((self.blocks(self.a(x)), self.b(x)), 1))


class Sppf(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner, self.out = conv_silu(channels, channels // 2), conv_silu(channels * 2, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.inner(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.out(torch.cat((x, y, z, self.pool(z)), 1))


class Detect(nn.Module):
    """The heads of YOLOv5 with their decoding, as its export.py leaves them."""

    def __init__(self, channels, classes, anchors, strides):
        super().__init__()
        self.outputs, self.anchors, self.strides = classes + 5, anchors, strides
        self.heads = nn.ModuleList(nn.Conv2d(inputs, 3 * self.outputs, 1) for inputs in channels)

    def forward(self, maps):
        rows = []
        for x, head, anchors, stride in zip(maps, self.heads, self.anchors, self.strides):
            x = head(x)
            batch, _, height, width = x.shape
            x = x.view(batch, 3, self.outputs, height, width).permute(0, 1, 3, 4, 2).contiguous()
            ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            grid = torch.stack((xs, ys), 2).expand(1, 3, height, width, 2).float() - 0.5
            sizes = torch.tensor(anchors).float().view(1, 3, 1, 1, 2).expand(1, 3, height, width, 2)
            xy, wh, scores = x.sigmoid().split((2, 2, self.outputs - 4), 4)
            xy = (xy * 2 + grid) * stride
            wh = (wh * 2) ** 2 * sizes
            rows.append(torch.cat((xy, wh, scores), 4).view(batch, 3 * height * width, self.outputs))
        return torch.cat(rows, 1)


class Yolov5s(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_silu(3, 32, 6, 2), conv_silu(32, 64, 3, 2), C3(64, 64, 1),
                                  conv_silu(64, 128, 3, 2), C3(128, 128, 2))
        self.middle = nn.Sequential(conv_silu(128, 256, 3, 2), C3(256, 256, 3))
        self.deep = nn.Sequential(conv_silu(256, 512, 3, 2), C3(512, 512, 1), Sppf(512))
        self.lateral1, self.lateral2 = conv_silu(512, 256), conv_silu(256, 128)
        self.up1, self.up2 = C3(512, 256, 1, False), C3(256, 128, 1, False)
        self.down1, self.down2 = conv_silu(128, 128, 3, 2), conv_silu(256, 256, 3, 2)
        self.out1, self.out2 = C3(256, 256, 1, False), C3(512, 512, 1, False)
        self.upsample = nn.Upsample(None, 2, "nearest")
        anchors = ((10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119), (116, 90, 156, 198, 373, 326))
        self.detect = Detect((128, 256, 512), 80, anchors, (8, 16, 32))

    def forward(self, x):
        small = self.stem(x)
        middle = self.middle(small)
        deep = self.lateral1(self.deep(middle))
        y = self.lateral2(self.up1(torch.cat((self.upsample(deep), middle), 1)))
        out0 = self.up2(torch.cat((self.upsample(y), small), 1))
        out1 = self.out1(torch.cat((self.down1(out0), y), 1))
        return self.detect((out0, out1, self.out2(torch.cat((self.down2(out1), deep), 1))))


class Ssd(nn.Module):
    """Two maps of features, heads of boxes and of scores on each (Liu et al. 2016)."""

    def __init__(self, features, channels, classes=21, boxes=6, normalise=False):
        super().__init__()
        self.features, self.classes, self.normalise = features, classes, normalise
        self.extra = nn.Sequential(nn.Conv2d(channels, 128, 1), nn.ReLU(), nn.Conv2d(128, 256, 3, 2, 1), nn.ReLU())
        self.boxes = nn.ModuleList(nn.Conv2d(c, boxes * 4, 3, padding=1) for c in (channels, 256))
        self.scores = nn.ModuleList(nn.Conv2d(c, boxes * classes, 3, padding=1) for c in (channels, 256))

    def forward(self, x):
        first = self.features(x)
        second = self.extra(first)
        if self.normalise:
            first = nn.functional.normalize(first) * 20
        boxes, scores = [], []
        for y, box, score in zip((first, second), self.boxes, self.scores):
            boxes.append(box(y).permute(0, 2, 3, 1).contiguous().view(y.size(0), -1, 4))
            scores.append(score(y).permute(0, 2, 3, 1).contiguous().view(y.size(0), -1, self.classes))
        return torch.cat(boxes, 1), torch.softmax(torch.cat(scores, 1), -1)


class Pieces(nn.Module):
    """What the others do not have: transposed convolution, bilinear sizes, pads, splits, reductions, other functions."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(8, 6, 4, 2, 1, groups=2)
        self.wide = nn.Conv2d(6, 8, (3, 5), (1, 2), (1, 2), dilation=(1, 1))
        self.dilated = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4)
        self.prelu, self.norm = nn.PReLU(8), nn.BatchNorm2d(8)
        self.mean = nn.AvgPool2d(3, 2, 1, count_include_pad=False)
        self.ceil = nn.MaxPool2d(2, 2, ceil_mode=True)
        self.linear = nn.Linear(2, 5, bias=False)

    def forward(self, x):
        x = self.norm(self.prelu(self.wide(self.up(x))))
        x = self.dilated(nn.functional.pad(x, (0, 1, 2, 0)))
        a, b = torch.split(x, (3, 5), 1)
        x = torch.cat((nn.functional.elu(a), nn.functional.leaky_relu(b, 0.2)), 1)
        x = self.ceil(self.mean(x)) / 3 + torch.tanh(x.mean((2, 3), keepdim=True))
        x = nn.functional.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True)
        x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = nn.functional.pixel_shuffle(x, 2)
        x = torch.exp(-x.abs()) - torch.clamp(x, -0.5, 0.75) * torch.sqrt(x * x + 1)
        x = nn.functional.softplus(x[:, :, 1:9:2, 4:-4])
        x = x.flatten(2).transpose(1, 2)
        return torch.log_softmax(self.linear(x).mean(1), -1)


def randomised(model):
    """Statistics that are not 0 and 1: a net without them would show."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.8, 1.2)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.8, 1.2)
    return model.eval()


def models():
    zoo = torchvision.models
    return {
        "ResNet-18": (lambda: zoo.resnet18(weights=None), (1, 3, 224, 224)),
        "ResNet-50": (lambda: zoo.resnet50(weights=None), (1, 3, 224, 224)),
        "MobileNet v2": (lambda: zoo.mobilenet_v2(weights=None), (1, 3, 224, 224)),
        "MobileNet v3 small": (lambda: zoo.mobilenet_v3_small(weights=None), (1, 3, 224, 224)),
        "EfficientNet-B0": (lambda: zoo.efficientnet_b0(weights=None), (1, 3, 224, 224)),
        "YOLOv5s": (Yolov5s, (1, 3, 256, 320)),
        "SSD of VGG-16": (lambda: Ssd(zoo.vgg16(weights=None).features, 512, normalise=True), (1, 3, 160, 160)),
        "SSD of MobileNet v2": (lambda: Ssd(zoo.mobilenet_v2(weights=None).features, 1280), (1, 3, 160, 160)),
        "GoogLeNet": (lambda: zoo.googlenet(weights=None, init_weights=False), (1, 3, 224, 224)),
        "ShuffleNet v2": (lambda: zoo.shufflenet_v2_x1_0(weights=None), (1, 3, 224, 224)),
        "DenseNet-121": (lambda: zoo.densenet121(weights=None), (1, 3, 224, 224)),
        "pieces": (Pieces, (2, 8, 12, 16)),
    }


class Import(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def export(self, model, shape, opset, dynamo):
        path = self.folder / "model.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out, sys.stdout = sys.stdout, io.StringIO()
            try:
                torch.onnx.export(model, (torch.randn(shape),), str(path), opset_version=opset, dynamo=dynamo)
            finally:
                sys.stdout = out
        return path

    def check(self, name, opset, dynamo):
        make, shape = models()[name]
        model = randomised(make())
        path = self.export(model, shape, opset, dynamo)
        began = time.monotonic()
        done = subprocess.run([TOOLS / "caffe", "import", path, "-output", self.folder / "net", "-check", sys.executable],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = [float(number) for number in re.findall(r"difference to the model in .*\(([^)]*)\)", done.stdout)]
        self.assertTrue(found, done.stdout + done.stderr)
        layers = re.search(r"(\d+) layers", done.stdout).group(1)
        exporter = "torch.export" if dynamo else "TorchScript"
        ROWS.append(f"| {name} | {exporter} | {opset} | {layers} | {max(found):.1e} |")
        print(ROWS[-1], f"{time.monotonic() - began:.1f} s", flush=True)
        self.assertLessEqual(max(found), TOLERANCE)


def add_tests():
    for name in models():
        for opset, dynamo in ((11, False), (13, False), (18, False), (18, True)):
            if (name, dynamo) == ("pieces", True):
                continue  # torch.export writes its leaky ReLU as Greater and Where, which Caffe cannot say
            title = re.sub(r"\W+", "_", name).lower()
            test = lambda self, name=name, opset=opset, dynamo=dynamo: self.check(name, opset, dynamo)
            setattr(Import, f"test_{title}_{'dynamo' if dynamo else 'script'}_{opset}", test)


add_tests()

if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    print("\n| model | exporter | opset | layers | difference |\n|---|---|---|---|---|")
    print("\n".join(ROWS))
    sys.exit(0 if result.wasSuccessful() else 1)

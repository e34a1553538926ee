"""Classifiers of all their depth: ten images of ten classes, of which all are one batch.

BatchNorm sees the same batch each time, so that TEST, which normalises by what it remembers, can know what TRAIN knows.
"""

from . import trunks
from .builder import IMAGENET_MEAN, PHASES, Net, Word

CLASSES = 10


def images(net, source="stripes", scale=0.017, means=IMAGENET_MEAN):
    """The images, for both phases."""
    for phase in PHASES:
        net.add("data", "Data", [], ["data", "label"], include=phase,
                transform_param={"scale": scale, "crop_size": net.side, "mean_value": means},
                data_param={"source": f"scenes/{source}_lmdb", "batch_size": CLASSES, "backend": Word("LMDB")})


def head(net, x, name="fc1000"):
    return net.known(net.fc(name, net.pool("pool_all", x, "AVE"), CLASSES))


def squeezed(net, name, y, outputs, ratio=16):
    """The weights of channels (Hu et al. 2018)."""
    s = net.conv(f"{name}_1x1_down", net.pool(f"{name}_global_pool", y, "AVE"), max(4, outputs // ratio), 1)
    return net.in_place("Sigmoid", net.conv(f"{name}_1x1_up", net.in_place("ReLU", s), outputs, 1))


def resnext50():
    net = Net("ResNeXt_50", "ResNeXt-50 (Xie et al. 2017): bottlenecks of 32 groups, here of 4", 96, 8)
    images(net)

    def unit(name, x, width, outputs, stride, project):
        y = net.conv_bn(f"{name}_conv1", x, width, 1)
        y = net.conv_bn(f"{name}_conv2", y, width, 3, stride, 1, 4)
        y = net.conv_bn(f"{name}_conv3", y, outputs, 1, act=None)
        around = net.conv_bn(f"{name}_expand", x, outputs, 1, stride, act=None) if project else x
        return net.in_place("ReLU", net.sum(f"{name}_eltwise", [around, y]))

    return head(net, stages(net, unit, 128))


def senet50():
    net = Net("SE_ResNet_50", "SE-ResNet-50 (Hu et al. 2018, hujie-frank/SENet): Axpy weighs channels and adds", 96, 8)
    images(net)

    def unit(name, x, width, outputs, stride, project):
        y = net.conv_bn(f"{name}_1x1_reduce", x, width, 1, stride)
        y = net.conv_bn(f"{name}_3x3", y, width, 3, pad=1)
        y = net.conv_bn(f"{name}_1x1_increase", y, outputs, 1, act=None)
        around = net.conv_bn(f"{name}_1x1_proj", x, outputs, 1, stride, act=None) if project else x
        return net.in_place("ReLU", net.add(name, "Axpy", [squeezed(net, name, y, outputs), y, around], [name]))

    return head(net, stages(net, unit, 64), "classifier")


def stages(net, unit, width):
    """The four stages of a net of 50 layers."""
    x = net.pool("pool1", net.conv_bn("conv1", "data", net.narrow(64), 7, 2, 3), "MAX", 3, 2)
    for stage, depth in enumerate((3, 4, 6, 3), 2):
        scale = 2 ** (stage - 2)
        for i in range(depth):
            x = unit(f"conv{stage}_{i + 1}", x, net.narrow(width * scale), net.narrow(256 * scale),
                     2 if i == 0 and stage > 2 else 1, i == 0)
    return x


def densenet121():
    net = Net("DenseNet_121", "DenseNet-121 (Huang et al. 2017, shicai/DenseNet-Caffe): 58 units that read all before",
              96, 4)
    images(net)

    def norm_relu(name, x):
        y = net.add(f"{name}/bn", "BatchNorm", [x], [f"{name}/bn"], batch_norm_param={"moving_average_fraction": 0.9})
        return net.in_place("ReLU", net.add(f"{name}/scale", "Scale", [y], [y], scale_param={"bias_term": True}))

    x, channels = net.pool("pool1", net.conv_bn("conv1", "data", net.narrow(64), 7, 2, 3), "MAX", 3, 2, 1), 16
    for block, depth in enumerate((6, 12, 24, 16), 2):
        for i in range(1, depth + 1):
            name = f"conv{block}_{i}"
            y = net.conv(f"{name}/x1", norm_relu(f"{name}/x1", x), net.narrow(128), 1, bias=False)
            y = net.conv(f"{name}/x2", norm_relu(f"{name}/x2", y), net.narrow(32), 3, pad=1, bias=False)
            x, channels = net.concat(f"concat_{block}_{i}", [x, y]), channels + net.narrow(32)
        x = norm_relu(f"conv{block}_blk", x)
        if block < 5:
            channels //= 2
            x = net.pool(f"pool{block}", net.conv(f"conv{block}_blk", x, channels, 1, bias=False), "AVE", 2, 2)
    return head(net, x, "fc6")


def mobilenet_v1():
    net = Net("MobileNet_v1", "MobileNet v1 (Howard et al. 2017, shicai/MobileNet-Caffe)", 96, 4)
    images(net)
    return head(net, trunks.mobilenet(net)[-1], "fc7")


def mobilenet_v2():
    net = Net("MobileNet_v2", "MobileNet v2 (Sandler et al. 2018, shicai/MobileNet-Caffe): 17 inverted residuals", 96,
              4)
    images(net)
    x, channels = net.conv_bn("conv1", "data", net.narrow(32), 3, 2, 1, act="ReLU6"), net.narrow(32)
    for stage, (expansion, outputs, depth, stride) in enumerate(
        ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)), 2):
        for i in range(1, depth + 1):
            name, wide, last = f"conv{stage}_{i}", expansion * channels, net.narrow(outputs)
            y = net.conv_bn(f"{name}/expand", x, wide, 1, act="ReLU6")
            y = net.conv_bn(f"{name}/dwise", y, wide, 3, stride if i == 1 else 1, 1, wide, act="ReLU6")
            y = net.conv_bn(f"{name}/linear", y, last, 1, act=None)
            x = net.sum(f"block_{stage}_{i}", [x, y]) if i > 1 else y
            channels = last
    return head(net, net.conv_bn("conv9", x, net.narrow(1280), 1, act="ReLU6"), "fc7")


# Kernel, expansion, outputs, whether channels are weighed, whether by HardSwish, stride: table 1 of the paper.
LARGE = ((3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
         (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
         (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
         (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
         (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1))


def mobilenet_v3():
    net = Net("MobileNet_v3_large", "MobileNet v3 large (Howard et al. 2019): 15 blocks, HardSwish, channels weighed "
              "by relu6(x + 3) / 6", 96, 4)
    images(net)
    x, channels = net.conv_bn("conv1", "data", net.narrow(16), 3, 2, 1, act="HardSwish"), net.narrow(16)
    for i, (kernel, expansion, outputs, weighed, hard, stride) in enumerate(LARGE, 1):
        name, act, wide, last = f"block{i}", "HardSwish" if hard else "ReLU", net.narrow(expansion), net.narrow(outputs)
        y = net.conv_bn(f"{name}/expand", x, wide, 1, act=act)
        y = net.conv_bn(f"{name}/dw", y, wide, kernel, stride, kernel // 2, wide, act=act)
        if weighed:
            s = net.fc(f"{name}/se1", net.pool(f"{name}/se_pool", y, "AVE"), max(4, wide // 4))
            s = net.fc(f"{name}/se2", net.in_place("ReLU", s), wide)
            s = net.in_place("ReLU6", net.one("Power", s, f"{name}/se_shift", power_param={"shift": 3.0}))
            s = net.one("Power", s, f"{name}/se_scale", power_param={"scale": 0.166667})
            y = net.add(f"{name}/se", "Scale", [y, s], [f"{name}/se"], scale_param={"axis": 0})
        y = net.conv_bn(f"{name}/linear", y, last, 1, act=None)
        x = net.sum(f"{name}/sum", [x, y]) if stride == 1 and last == channels else y
        channels = last
    x = net.pool("pool_all", net.conv_bn("conv_last", x, net.narrow(960), 1, act="HardSwish"), "AVE")
    x = net.one("HardSwish", net.fc("fc1", x, net.narrow(1280)), "fc1/hswish")
    return net.known(net.fc("fc2", x, CLASSES))


def shufflenet_v1():
    net = Net("ShuffleNet_v1", "ShuffleNet v1 of three groups (Zhang et al. 2018, farmingyard/ShuffleNet)", 96, 5)
    images(net)
    x, channels = net.pool("pool1", net.conv_bn("conv1", "data", 12, 3, 2, 1), "MAX", 3, 2), 12
    unit = 0
    for stage, (depth, outputs) in enumerate(((4, 240), (8, 480), (4, 960)), 2):
        outputs //= net.divisor
        for i in range(depth):
            unit, first = unit + 1, i == 0
            name, width = f"resx{unit}", outputs // 4
            y = net.conv_bn(f"{name}_conv1", x, width, 1, group=1 if unit == 1 else 3)
            y = net.one("ShuffleChannel", y, f"{name}_shuffle", shuffle_channel_param={"group": 3})
            y = net.conv_bn(f"{name}_conv2", y, width, 3, 2 if first else 1, 1, width, act=None)
            y = net.conv_bn(f"{name}_conv3", y, outputs - channels if first else outputs, 1, group=3, act=None)
            if first:
                x = net.concat(f"{name}_concat", [net.pool(f"{name}_match", x, "AVE", 3, 2), y])
            else:
                x = net.sum(f"{name}_sum", [x, y])
            x, channels = net.in_place("ReLU", x), outputs
    return head(net, x)


def shufflenet_v2():
    net = Net("ShuffleNet_v2", "ShuffleNet v2 (Ma et al. 2018, miaow1988/ShuffleNet_V2): half of the channels pass by",
              96, 2)
    images(net)
    x, channels = net.pool("pool1", net.conv_bn("conv1", "data", 12, 3, 2, 1), "MAX", 3, 2), 12
    for stage, (depth, outputs) in enumerate(((4, 116), (8, 232), (4, 464)), 2):
        half = outputs // net.divisor // 2
        for i in range(depth):
            name = f"stage{stage}_{i + 1}"
            if i == 0:
                left = net.conv_bn(f"{name}/left_dw", x, channels, 3, 2, 1, channels, act=None)
                left = net.conv_bn(f"{name}/left", left, half, 1)
                right = x
            else:
                left, right = f"{name}/passed", f"{name}/worked"
                net.add(f"{name}/slice", "Slice", [x], [left, right], slice_param={"axis": 1})
            y = net.conv_bn(f"{name}/conv1", right, half, 1)
            y = net.conv_bn(f"{name}/conv2", y, half, 3, 2 if i == 0 else 1, 1, half, act=None)
            x = net.concat(f"{name}/concat", [left, net.conv_bn(f"{name}/conv3", y, half, 1)])
            x = net.one("ShuffleChannel", x, f"{name}/shuffle", shuffle_channel_param={"group": 2})
        channels = 2 * half
    return head(net, net.conv_bn("conv5", x, 1024 // net.divisor, 1), "fc")


def inception_resnet_v2():
    net = Net("Inception_ResNet_v2", "Inception-ResNet v2 (Szegedy et al. 2017, soeaver/caffe-model): 40 blocks that "
              "are scaled before they are added", 139, 8)
    images(net, scale=0.0078125, means=[128, 128, 128])

    def tower(name, x, *steps):
        """A row of convolutions: outputs, kernel, and of some stride and padding."""
        for i, (outputs, kernel, *rest) in enumerate(steps, 1):
            stride = rest[0] if rest else 1
            pad = rest[1] if len(rest) > 1 else 0 if isinstance(kernel, tuple) else kernel // 2
            x = net.conv_bn(f"{name}_{i}", x, net.narrow(outputs), kernel, stride, pad)
        return x

    def residual(name, x, outputs, scale, towers, act=True):
        mixed = net.concat(f"{name}_mixed", [tower(f"{name}_{i}", x, *steps) for i, steps in enumerate(towers)])
        up = net.conv(f"{name}_up", mixed, net.narrow(outputs), 1)
        x = net.sum(name, [x, up], operation=Word("SUM"), coeff=[1.0, scale])
        return net.in_place("ReLU", x) if act else x

    x = tower("stem", "data", (32, 3, 2, 0), (32, 3, 1, 0), (64, 3))
    x = tower("stem_b", net.pool("stem_pool1", x, "MAX", 3, 2), (80, 1), (192, 3, 1, 0))
    x = net.pool("stem_pool2", x, "MAX", 3, 2)
    x = net.concat("mixed_5b", [
        tower("5b_0", x, (96, 1)), tower("5b_1", x, (48, 1), (64, 5)), tower("5b_2", x, (64, 1), (96, 3), (96, 3)),
        tower("5b_3", net.pool("5b_pool", x, "AVE", 3, 1, 1), (64, 1))])
    for i in range(10):
        x = residual(f"block35_{i}", x, 320, 0.17, [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]])
    x = net.concat("mixed_6a", [
        tower("6a_0", x, (384, 3, 2, 0)), tower("6a_1", x, (256, 1), (256, 3), (384, 3, 2, 0)),
        net.pool("6a_pool", x, "MAX", 3, 2)])
    for i in range(20):
        x = residual(f"block17_{i}", x, 1088, 0.1, [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]])
    x = net.concat("mixed_7a", [
        tower("7a_0", x, (256, 1), (384, 3, 2, 0)), tower("7a_1", x, (256, 1), (288, 3, 2, 0)),
        tower("7a_2", x, (256, 1), (288, 3), (320, 3, 2, 0)), net.pool("7a_pool", x, "MAX", 3, 2)])
    for i in range(10):
        x = residual(f"block8_{i}", x, 2080, 0.2 if i < 9 else 1.0,
                     [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]], i < 9)
    return head(net, net.conv_bn("conv_7b", x, net.narrow(1536), 1), "classifier")

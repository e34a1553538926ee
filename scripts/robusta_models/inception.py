"""GoogLeNet's successors: Inception with BatchNorm ("v2") and Inception v3."""

from .builder import MSRA, Net, imagenet_data


def unit(net, name, bottom, outputs, kernel, stride=1, pad=None):
    """Convolution, BatchNorm, ReLU. A kernel (height, width), or one without `pad`, keeps the size of the image."""
    if pad is None:
        pad = 0 if isinstance(kernel, tuple) else (kernel - 1) // 2
    x = net.conv(name, bottom, outputs, kernel, stride, pad, bias=False)
    return net.relu(f"{name}/relu", net.norm(f"{name}/bn", f"{name}/scale", x))


def tower(net, prefix, bottom, *steps):
    """Units one after the other; a step is (name, outputs, kernel) and may add stride and pad."""
    for name, *shape in steps:
        bottom = unit(net, f"{prefix}/{name}", bottom, *shape)
    return bottom


def v2_block(net, name, bottom, ones, threes, doubles, pool, projection):
    """A block of stride 1. `threes` and `doubles` are (reduced, outputs); the last branch pools and projects."""
    branches = [unit(net, f"{name}/1x1", bottom, ones, 1),
                tower(net, name, bottom, ("3x3_reduce", threes[0], 1), ("3x3", threes[1], 3)),
                tower(net, name, bottom, ("double3x3_reduce", doubles[0], 1), ("double3x3a", doubles[1], 3),
                      ("double3x3b", doubles[1], 3)),
                unit(net, f"{name}/pool_proj", net.pool(f"{name}/pool", bottom, pool, 3, 1, 1), projection, 1)]
    return net.concat(f"{name}/output", branches)


def v2_reduction(net, name, bottom, threes, doubles):
    """A block of stride 2: no 1x1 branch, and the pooled one passes through."""
    branches = [tower(net, name, bottom, ("3x3_reduce", threes[0], 1), ("3x3", threes[1], 3, 2, 1)),
                tower(net, name, bottom, ("double3x3_reduce", doubles[0], 1), ("double3x3a", doubles[1], 3),
                      ("double3x3b", doubles[1], 3, 2, 1)),
                net.pool(f"{name}/pool", bottom, "MAX", 3, 2)]
    return net.concat(f"{name}/output", branches)


def googlenet_v2(batch=64, **data):
    net = Net("GoogleNet-v2", "GoogLeNet with BatchNorm (Ioffe, Szegedy 2015), without auxiliary classifiers.",
              (10, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, batch, 50, **data)
    x = net.pool("pool1/3x3_s2", unit(net, "conv1/7x7_s2", "data", 64, 7, 2), "MAX", 3, 2)
    x = tower(net, "conv2", x, ("3x3_reduce", 64, 1), ("3x3", 192, 3))
    x = net.pool("pool2/3x3_s2", x, "MAX", 3, 2)
    x = v2_block(net, "inception_3a", x, 64, (64, 64), (64, 96), "AVE", 32)
    x = v2_block(net, "inception_3b", x, 64, (64, 96), (64, 96), "AVE", 64)
    x = v2_reduction(net, "inception_3c", x, (128, 160), (64, 96))
    x = v2_block(net, "inception_4a", x, 224, (64, 96), (96, 128), "AVE", 128)
    x = v2_block(net, "inception_4b", x, 192, (96, 128), (96, 128), "AVE", 128)
    x = v2_block(net, "inception_4c", x, 160, (128, 160), (128, 160), "AVE", 128)
    x = v2_block(net, "inception_4d", x, 96, (128, 192), (160, 192), "AVE", 128)
    x = v2_reduction(net, "inception_4e", x, (128, 192), (192, 256))
    x = v2_block(net, "inception_5a", x, 352, (192, 320), (160, 224), "AVE", 128)
    x = v2_block(net, "inception_5b", x, 352, (192, 320), (192, 224), "MAX", 128)
    x = net.pool("pool5/7x7_s1", x, "AVE", 7, 1)
    net.head(net.fc("classifier", x, 1000))
    return net


def v3_35(net, name, bottom, projection):
    """A block on 35x35."""
    return net.concat(f"{name}/output", [
        unit(net, f"{name}/1x1", bottom, 64, 1),
        tower(net, name, bottom, ("5x5_reduce", 48, 1), ("5x5", 64, 5)),
        tower(net, name, bottom, ("double3x3_reduce", 64, 1), ("double3x3a", 96, 3), ("double3x3b", 96, 3)),
        unit(net, f"{name}/pool_proj", net.pool(f"{name}/pool", bottom, "AVE", 3, 1, 1), projection, 1)])


def v3_17(net, name, bottom, width):
    """A block on 17x17: 7x7 in factors."""
    return net.concat(f"{name}/output", [
        unit(net, f"{name}/1x1", bottom, 192, 1),
        tower(net, name, bottom, ("7x7_reduce", width, 1), ("1x7", width, (1, 7)), ("7x1", 192, (7, 1))),
        tower(net, name, bottom, ("double7x7_reduce", width, 1), ("double7x1a", width, (7, 1)),
              ("double1x7a", width, (1, 7)), ("double7x1b", width, (7, 1)), ("double1x7b", 192, (1, 7))),
        unit(net, f"{name}/pool_proj", net.pool(f"{name}/pool", bottom, "AVE", 3, 1, 1), 192, 1)])


def v3_8(net, name, bottom, pool):
    """A block on 8x8: the last 3x3 of both towers side by side in factors."""
    def spread(prefix, x):
        return [unit(net, f"{name}/{prefix}1x3", x, 384, (1, 3)), unit(net, f"{name}/{prefix}3x1", x, 384, (3, 1))]

    branches = [unit(net, f"{name}/1x1", bottom, 320, 1)]
    branches += spread("", unit(net, f"{name}/3x3_reduce", bottom, 384, 1))
    branches += spread("double", tower(net, name, bottom, ("double3x3_reduce", 448, 1), ("double3x3", 384, 3)))
    branches.append(unit(net, f"{name}/pool_proj", net.pool(f"{name}/pool", bottom, pool, 3, 1, 1), 192, 1))
    return net.concat(f"{name}/output", branches)


def v3_helper(net, bottom):
    """The auxiliary classifier: weight 0.4 in training, absent from deploy."""
    first = len(net.layers)
    x = unit(net, "aux/conv", net.pool("aux/pool", bottom, "AVE", 5, 3), 128, 1)
    x = net.fc("aux/classifier", unit(net, "aux/full", x, 768, 5, 1, 0), 1000)
    net.loss(x, "aux/loss", "aux_loss", 0.4)
    net.train_only(first)


def googlenet_v3(batch=32, auxiliary=False, **data):
    also = ", with the auxiliary classifier" if auxiliary else ""
    net = Net("GoogleNet-v3", f"Inception v3 (Szegedy et al. 2015){also}. It sees 299 x 299 pixels: images of 320 x 320 "
              "are wanted.", (10, 3, 299, 299), weight=MSRA)
    imagenet_data(net, 299, batch, 25, **data)
    x = tower(net, "stem", "data", ("conv1", 32, 3, 2, 0), ("conv2", 32, 3, 1, 0), ("conv3", 64, 3))
    x = tower(net, "stem", net.pool("stem/pool1", x, "MAX", 3, 2), ("conv4", 80, 1), ("conv5", 192, 3, 1, 0))
    x = net.pool("stem/pool2", x, "MAX", 3, 2)
    for name, projection in (("a", 32), ("b", 64), ("c", 64)):
        x = v3_35(net, f"inception_3{name}", x, projection)
    x = net.concat("reduction_3/output", [
        unit(net, "reduction_3/3x3", x, 384, 3, 2, 0),
        tower(net, "reduction_3", x, ("double3x3_reduce", 64, 1), ("double3x3a", 96, 3), ("double3x3b", 96, 3, 2, 0)),
        net.pool("reduction_3/pool", x, "MAX", 3, 2)])
    for name, width in (("a", 128), ("b", 160), ("c", 160), ("d", 192)):
        x = v3_17(net, f"inception_4{name}", x, width)
    if auxiliary:
        v3_helper(net, x)
    x = net.concat("reduction_4/output", [
        tower(net, "reduction_4", x, ("3x3_reduce", 192, 1), ("3x3", 320, 3, 2, 0)),
        tower(net, "reduction_4", x, ("7x7_reduce", 192, 1), ("1x7", 192, (1, 7)), ("7x1", 192, (7, 1)),
              ("7x7_3x3", 192, 3, 2, 0)),
        net.pool("reduction_4/pool", x, "MAX", 3, 2)])
    x = v3_8(net, "inception_5b", v3_8(net, "inception_5a", x, "AVE"), "MAX")
    x = net.dropout("drop", net.pool("pool5/8x8_s1", x, "AVE", 8, 1), 0.2)
    net.head(net.fc("classifier", x, 1000))
    return net

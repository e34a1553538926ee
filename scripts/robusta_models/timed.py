"""Networks that are only timed (scripts/bench_cpu.py): mobile classifiers, a detector, and a segmentation."""

from .builder import MSRA, Net, constant, imagenet_data


def unit(net, name, bottom, outputs, kernel=1, stride=1, group=1, relu=True):
    """Convolution without bias, BatchNorm, and ReLU unless told otherwise."""
    x = net.conv(name, bottom, outputs, kernel, stride, kernel // 2, group, bias=False)
    x = net.norm(f"{name}/bn", f"{name}/scale", x)
    return net.relu(f"{name}/relu", x) if relu else x


def shuffle_unit(net, name, x, channels, outputs):
    """Ma et al. 2018, figure 3 (c), and (d) where the number of channels changes."""
    half, halving = outputs // 2, channels != outputs
    if halving:
        left = unit(net, f"{name}/left_dw", x, channels, 3, 2, channels, relu=False)
        left, right = unit(net, f"{name}/left", left, half), x
    else:
        left, right = f"{name}/keep", f"{name}/change"
        net.add(f"{name}/slice", "Slice", [x], [left, right])
    y = unit(net, f"{name}/first", right, half)
    y = unit(net, f"{name}/dw", y, half, 3, 2 if halving else 1, half, relu=False)
    y = net.concat(f"{name}/concat", [left, unit(net, f"{name}/second", y, half)])
    return net.add(f"{name}/shuffle", "ShuffleChannel", [y], [f"{name}/shuffle"], shuffle_channel_param={"group": 2})


def shufflenet_v2(batch):
    """Ma et al. 2018, table 5, 1x."""
    net = Net("ShuffleNet v2", "ShuffleNet v2.", (), weight=MSRA)
    imagenet_data(net, 224, batch, batch)
    x, channels = net.pool("pool1", unit(net, "conv1", "data", 24, 3, 2), "MAX", 3, 2), 24
    for stage, (outputs, blocks) in enumerate([(116, 4), (232, 8), (464, 4)], 2):
        for block in range(blocks):
            x, channels = shuffle_unit(net, f"stage{stage}_{block}", x, channels, outputs), outputs
    net.head(net.fc("fc", net.pool("pool", unit(net, "conv5", x, 1024), "AVE"), 1000))
    return net


SSD_CLASSES, SSD_BOXES = 21, 1917


def ssd_mobilenet(batch):
    """Liu et al. 2016 at 300 x 300 on MobileNet v1. Fixed targets for every box stand for MultiBoxLoss's matching, so
    that both sides compute the same."""
    net = Net("MobileNet-SSD", "SSD-300 on MobileNet.", (), weight=MSRA)
    shapes = [(batch, 3, 300, 300), (batch, SSD_BOXES), (batch, 4 * SSD_BOXES)]
    net.add("data", "DummyData", [], ["data", "classes", "places"], dummy_data_param={
        "shape": [{"dim": list(shape)} for shape in shapes], "data_filler": [constant(0.5), constant(1), constant(0.1)]})
    x, channels = unit(net, "conv0", "data", 32, 3, 2), 32
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    sources = []
    for i, (outputs, stride) in enumerate(blocks, 1):
        x = unit(net, f"conv{i}", unit(net, f"conv{i}/dw", x, channels, 3, stride, channels), outputs)
        channels = outputs
        sources += [x] if i in (11, 13) else []
    for i, (reduced, outputs) in enumerate([(256, 512), (128, 256), (128, 256), (64, 128)], 14):
        x = unit(net, f"conv{i}_2", unit(net, f"conv{i}_1", x, reduced), outputs, 3, 2)
        sources.append(x)

    def predictions(kind, values):
        parts = []
        for i, source in enumerate(sources):
            y = net.conv(f"{kind}{i}", source, (3 if i == 0 else 6) * values, 1)
            y = net.add(f"{kind}{i}/permute", "Permute", [y], [f"{kind}{i}/permute"], permute_param={
                "order": [0, 2, 3, 1]})
            parts.append(net.add(f"{kind}{i}/flat", "Flatten", [y], [f"{kind}{i}/flat"]))
        return net.concat(kind, parts)

    net.add("place_loss", "EuclideanLoss", [predictions("place", 4), "places"], ["place_loss"])
    scores = net.add("scores", "Reshape", [predictions("class", SSD_CLASSES)], ["scores"], reshape_param={
        "shape": {"dim": [0, -1, SSD_CLASSES]}})
    net.add("loss", "SoftmaxWithLoss", [scores, "classes"], ["loss"], softmax_param={"axis": 2})
    return net


FCN_CLASSES, FCN_SIZE = 21, 500


def fcn8s(batch):
    """Long, Shelhamer, Darrell 2015, all at once, on VGG-16."""
    net = Net("FCN-8s", "FCN-8s on VGG-16.", (), weight=MSRA)
    shapes = [(batch, 3, FCN_SIZE, FCN_SIZE), (batch, 1, FCN_SIZE, FCN_SIZE)]
    net.add("data", "DummyData", [], ["data", "label"], dummy_data_param={
        "shape": [{"dim": list(shape)} for shape in shapes], "data_filler": [constant(0.5), constant(1)]})
    x, pools = "data", {}
    for stage, (convolutions, outputs) in enumerate([(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)], 1):
        for i in range(1, convolutions + 1):
            pad = 100 if stage == i == 1 else 1
            x = net.conv_relu(f"conv{stage}_{i}", f"relu{stage}_{i}", x, outputs, 3, pad=pad)
        x = pools[stage] = net.pool(f"pool{stage}", x, "MAX", 2, 2)
    x = net.dropout("drop6", net.conv_relu("fc6", "relu6", x, 4096, 7), 0.5)
    x = net.dropout("drop7", net.conv_relu("fc7", "relu7", x, 4096, 1), 0.5)

    def upscore(name, bottom, stride):
        return net.add(name, "Deconvolution", [bottom], [name], param=[{"lr_mult": 0}], convolution_param={
            "num_output": FCN_CLASSES, "kernel_size": 2 * stride, "stride": stride, "bias_term": False,
            "group": FCN_CLASSES, "weight_filler": {"type": "bilinear"}})

    def crop(name, bottom, like, offset):
        return net.add(name, "Crop", [bottom, like], [name], crop_param={"axis": 2, "offset": [offset]})

    x = upscore("upscore2", net.conv("score_fr", x, FCN_CLASSES, 1), 2)
    for stage, offset, name, stride in ((4, 5, "upscore_pool4", 2), (3, 9, "upscore8", 8)):
        y = net.conv(f"score_pool{stage}", pools[stage], FCN_CLASSES, 1)
        x = net.add(f"fuse{stage}", "Eltwise", [x, crop(f"crop{stage}", y, x, offset)], [f"fuse{stage}"])
        x = upscore(name, x, stride)
    net.add("loss", "SoftmaxWithLoss", [crop("score", x, "data", 31), "label"], ["loss"])
    return net

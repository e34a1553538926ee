"""Classifiers of images, from LeNet on."""

from .builder import CIFAR, IMAGENET_MEAN, MNIST, MSRA, Net, Word, constant, gaussian, image_data

CLASSES = 10


def head(net, x, name="fc"):
    """Global mean, scores, loss, accuracy; probabilities in the deploy file."""
    net.head(net.fc(name, net.pool("pool_all", x, "AVE"), CLASSES), top5=False)
    return net


def lenet():
    net = Net("LeNet", "LeNet (LeCun et al. 1998), as Caffe's example for MNIST has it", (4, 1, 28, 28))
    image_data(net, 0, MNIST, 4, None, 0.00390625, mirror=False)
    x = net.pool("pool1", net.conv("conv1", "data", 6, 5), "MAX", 2, 2)
    x = net.pool("pool2", net.conv("conv2", x, 12, 5), "MAX", 2, 2)
    net.head(net.fc("ip2", net.relu("relu1", net.fc("ip1", x, 32)), CLASSES), top5=False)
    return net


def cifar10_quick():
    net = Net("CIFAR10_quick", "Krizhevsky's quick net for CIFAR-10: MAX, then AVE pooling that rounds up")
    image_data(net, 0, CIFAR, mirror=False, means=[125, 123, 114])
    x = net.relu("relu1", net.pool("pool1", net.conv("conv1", "data", 8, 5, pad=2, weight=gaussian(0.0001)), "MAX", 3,
                                   2))
    x = net.pool("pool2", net.conv_relu("conv2", "relu2", x, 8, 5, pad=2), "AVE", 3, 2)
    x = net.pool("pool3", net.conv_relu("conv3", "relu3", x, 16, 5, pad=2), "AVE", 3, 2)
    net.head(net.fc("ip2", net.fc("ip1", x, 16), CLASSES), top5=False)
    return net


def cifar10_full():
    net = Net("CIFAR10_full", "Krizhevsky's full net for CIFAR-10: LRN within channels")
    image_data(net, 0, CIFAR, mirror=False, means=[125, 123, 114])
    x = "data"
    for i, (outputs, pool) in enumerate([(8, "MAX"), (8, "AVE"), (16, "AVE")], 1):
        x = net.conv(f"conv{i}", x, outputs, 5, pad=2)
        x = net.pool(f"pool{i}", net.in_place("ReLU", x), pool, 3, 2)
        if i < 3:
            x = net.add(f"norm{i}", "LRN", [x], [f"norm{i}"], lrn_param={
                "local_size": 3, "alpha": 5e-05, "beta": 0.75, "norm_region": Word("WITHIN_CHANNEL")})
    net.head(net.fc("ip1", x, CLASSES), top5=False)
    return net


def alexnet(norm_first=True):
    name = "AlexNet" if norm_first else "CaffeNet"
    order = "LRN before pooling" if norm_first else "LRN behind pooling"
    net = Net(name, f"{name} (Krizhevsky et al. 2012): groups, {order}, dropout", (1, 3, 67, 67), weight=gaussian(0.01))
    image_data(net, 67)
    x = net.conv_relu("conv1", "relu1", "data", 8, 11, stride=4)
    for i in (1, 2):
        if norm_first:
            x = net.pool(f"pool{i}", net.lrn(f"norm{i}", x), "MAX", 3, 2)
        else:
            x = net.lrn(f"norm{i}", net.pool(f"pool{i}", x, "MAX", 3, 2))
        if i == 1:
            x = net.conv_relu("conv2", "relu2", x, 16, 5, pad=2, group=2, fill=constant(0.1))
    x = net.conv_relu("conv3", "relu3", x, 16, 3, pad=1)
    x = net.conv_relu("conv4", "relu4", x, 16, 3, pad=1, group=2)
    x = net.conv_relu("conv5", "relu5", x, 16, 3, pad=1, group=2)
    x = net.pool("pool5", x, "MAX", 3, 2)
    for i in (6, 7):
        x = net.dropout(f"drop{i}", net.relu(f"relu{i}", net.fc(f"fc{i}", x, 32)), 0.5)
    net.head(net.fc("fc8", x, CLASSES), top5=True)
    return net


def caffenet():
    return alexnet(norm_first=False)


def zfnet():
    net = Net("ZFNet", "Zeiler and Fergus 2013: a first layer of stride 2, LRN behind pooling", (1, 3, 48, 48))
    image_data(net, 48)
    x = net.conv_relu("conv1", "relu1", "data", 8, 7, stride=2, pad=1)
    x = net.lrn("norm1", net.pool("pool1", x, "MAX", 3, 2, 1))
    x = net.conv_relu("conv2", "relu2", x, 16, 5, stride=2, pad=2)
    x = net.lrn("norm2", net.pool("pool2", x, "MAX", 3, 2, 1))
    for i in (3, 4, 5):
        x = net.conv_relu(f"conv{i}", f"relu{i}", x, 16, 3, pad=1)
    x = net.dropout("drop6", net.relu("relu6", net.fc("fc6", x, 32)), 0.5)
    net.head(net.fc("fc8", x, CLASSES), top5=False)
    return net


def network_in_network():
    net = Net("NIN", "Network in Network (Lin et al. 2013): 1x1 convolutions and a global mean as classifier")
    image_data(net, 32)
    x = "data"
    for i, (kernel, outputs) in enumerate([(5, 16), (5, 16), (3, 16)], 1):
        x = net.conv_relu(f"conv{i}", f"relu{i}", x, outputs, kernel, pad=kernel // 2)
        x = net.conv_relu(f"cccp{i}a", f"relu{i}a", x, 12, 1)
        x = net.conv_relu(f"cccp{i}b", f"relu{i}b", x, CLASSES if i == 3 else 12, 1)
        if i < 3:
            x = net.dropout(f"drop{i}", net.pool(f"pool{i}", x, "MAX", 3, 2), 0.5)
    net.head(net.pool("pool4", x, "AVE"), top5=False)
    return net


def vgg(blocks=(1, 1, 2, 2), name="VGG_11"):
    net = Net(name, f"{name.replace('_', '-')} (Simonyan and Zisserman 2014)", weight=MSRA)
    image_data(net, 32)
    x = "data"
    for stage, count in enumerate(blocks, 1):
        for i in range(1, count + 1):
            x = net.conv_relu(f"conv{stage}_{i}", f"relu{stage}_{i}", x, 4 * 2 ** min(stage, 2), 3, pad=1)
        x = net.pool(f"pool{stage}", x, "MAX", 2, 2)
    for i in (6, 7):
        x = net.dropout(f"drop{i}", net.relu(f"relu{i}", net.fc(f"fc{i}", x, 32)), 0.5)
    net.head(net.fc("fc8", x, CLASSES), top5=False)
    return net


def vgg16():
    return vgg((2, 2, 3, 3), "VGG_16")


def inception(net, name, bottom, width, norm=None, pool="MAX"):
    """Four branches of different windows, behind each other along the channels."""
    def branch(suffix, source, outputs, kernel, pad=0):
        if norm:
            return net.conv_bn(f"{name}/{suffix}", source, outputs, kernel, pad=pad)
        return net.conv_relu(f"{name}/{suffix}", f"{name}/relu_{suffix}", source, outputs, kernel, pad=pad)

    tops = [branch("1x1", bottom, width, 1),
            branch("3x3", branch("3x3_reduce", bottom, width, 1), 2 * width, 3, 1),
            branch("5x5", branch("5x5_reduce", bottom, width, 1), width, 5, 2),
            branch("pool_proj", net.pool(f"{name}/pool", bottom, pool, 3, 1, 1), width, 1)]
    return net.concat(f"{name}/output", tops)


def googlenet():
    net = Net("GoogleNet", "GoogLeNet (Szegedy et al. 2014), with an auxiliary classifier of weight 0.3", (1, 3, 64,
                                                                                                           64))
    image_data(net, 64)
    x = net.conv_relu("conv1/7x7_s2", "conv1/relu", "data", 8, 7, stride=2, pad=3)
    x = net.lrn("pool1/norm1", net.pool("pool1/3x3_s2", x, "MAX", 3, 2))
    x = net.conv_relu("conv2/3x3_reduce", "conv2/relu_reduce", x, 8, 1)
    x = net.lrn("conv2/norm2", net.conv_relu("conv2/3x3", "conv2/relu", x, 12, 3, pad=1))
    x = inception(net, "inception_3a", net.pool("pool2/3x3_s2", x, "MAX", 3, 2), 4)
    first = len(net.layers)
    y = net.pool("loss1/ave_pool", x, "AVE", 5, 3)
    y = net.relu("loss1/relu_fc", net.fc("loss1/fc", net.conv_relu("loss1/conv", "loss1/relu_conv", y, 8, 1), 16))
    y = net.fc("loss1/classifier", net.dropout("loss1/drop_fc", y, 0.7), CLASSES)
    net.loss(y, "loss1/loss", "loss1/loss1", 0.3)
    net.accuracy("loss1/top-5", y, 5)
    net.train_only(first)
    x = inception(net, "inception_4a", net.pool("pool3/3x3_s2", x, "MAX", 3, 2), 4)
    x = net.dropout("pool5/drop", net.pool("pool5", x, "AVE"), 0.4)
    net.head(net.fc("loss3/classifier", x, CLASSES), top5=True)
    return net


def inception_v2():
    net = Net("Inception_BN", "Inception with BatchNorm (Ioffe and Szegedy 2015): AVE pooling inside of the modules")
    image_data(net, 32)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 8, 7, 2, 3), "MAX", 3, 2)
    x = inception(net, "inception_3a", x, 4, norm=True, pool="AVE")
    return head(net, inception(net, "inception_3b", x, 4, norm=True))


def inception_v3():
    net = Net("Inception_v3", "Inception v3 (Szegedy et al. 2015): windows of 1x7 and 7x1")
    image_data(net, 32, means=[128, 128, 128], scale=0.0078125)
    x = net.conv_bn("conv_3x3", net.conv_bn("conv", "data", 8, 3, 2), 8, 3, pad=1)
    y = net.conv_bn("mixed/tower_1", net.conv_bn("mixed/tower", x, 6, (1, 7)), 6, (7, 1))
    z = net.conv_bn("mixed/pool_conv", net.pool("mixed/pool", x, "AVE", 3, 1, 1), 4, 1)
    x = net.concat("mixed/join", [net.conv_bn("mixed/conv", x, 4, 1), y, z])
    y = net.conv_bn("reduce/tower", x, 6, 3, 2)
    x = net.concat("reduce/join", [y, net.pool("reduce/pool", x, "MAX", 3, 2)])
    return head(net, net.dropout("drop", x, 0.2))


def inception_resnet_v2():
    net = Net("Inception_ResNet_v2",
              "Inception-ResNet v2 (Szegedy et al. 2016): residuals scaled before they are added")
    image_data(net, 32, means=[128, 128, 128], scale=0.0078125)
    x = net.pool("stem_pool", net.conv_bn("stem", "data", 16, 3, 2), "MAX", 3, 2)
    for i in range(2):
        name = f"block35_{i}"
        a = net.conv_bn(f"{name}/1x1", x, 4, 1)
        b = net.conv_bn(f"{name}/3x3", net.conv_bn(f"{name}/reduce", x, 4, 1), 4, 3, pad=1)
        up = net.conv(f"{name}/up", net.concat(f"{name}/mixed", [a, b]), 16, 1)
        x = net.in_place("ReLU", net.sum(name, [x, up], operation=Word("SUM"), coeff=[1.0, 0.17]))
    y = net.conv_bn("block17/7x1", net.conv_bn("block17/1x7", x, 4, (1, 7)), 4, (7, 1))
    y = net.one("Power", net.conv("block17/up", y, 16, 1), "block17/scaled", power_param={"scale": 0.1})
    return head(net, net.in_place("ReLU", net.sum("block17", [x, y])))


def residual(net, name, bottom, width, outputs, stride=1, group=1, project=False, squeeze=None):
    """A bottleneck; `squeeze`: what weighs its channels (Hu et al. 2018)."""
    y = net.conv_bn(f"{name}_branch2a", bottom, width, 1)
    y = net.conv_bn(f"{name}_branch2b", y, width, 3, stride, 1, group)
    y = net.conv_bn(f"{name}_branch2c", y, outputs, 1, act=None)
    short = net.conv_bn(f"{name}_branch1", bottom, outputs, 1, stride, act=None) if project else bottom
    if squeeze:
        return net.in_place("ReLU", squeeze(net, name, y, short, outputs))
    return net.in_place("ReLU", net.sum(name, [short, y]))


def resnet50(name="ResNet_50", title="ResNet-50 (He et al. 2015): bottlenecks", group=1, squeeze=None):
    net = Net(name, title, weight=MSRA)
    image_data(net, 32)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 8, 7, 2, 3), "MAX", 3, 2)
    for stage, width in ((2, 8), (3, 8)):
        x = residual(net, f"res{stage}a", x, width, 16, stage - 1, group, True, squeeze)
        x = residual(net, f"res{stage}b", x, width, 16, 1, group, False, squeeze)
    return head(net, x, "fc1000")


def resnext():
    return resnet50("ResNeXt_50", "ResNeXt (Xie et al. 2016): bottlenecks of groups", group=4)


def squeeze_of(net, name, y, outputs):
    s = net.pool(f"{name}_global_pool", y, "AVE")
    s = net.in_place("ReLU", net.conv(f"{name}_1x1_down", s, outputs // 4, 1))
    return net.in_place("Sigmoid", net.conv(f"{name}_1x1_up", s, outputs, 1))


def senet():
    def squeeze(net, name, y, short, outputs):
        return net.add(name, "Axpy", [squeeze_of(net, name, y, outputs), y, short], [name])

    return resnet50("SE_ResNet_50", "SENet (Hu et al. 2018): Axpy weighs channels and adds the shortcut",
                    squeeze=squeeze)


def se_resnext():
    def squeeze(net, name, y, short, outputs):
        weights = net.reshape(f"{name}_weights", squeeze_of(net, name, y, outputs), [0, outputs])
        scaled = net.add(f"{name}_scaled", "Scale", [y, weights], [f"{name}_scaled"], scale_param={"axis": 0})
        return net.sum(name, [short, scaled])

    return resnet50("SE_ResNeXt_50", "SE-ResNeXt in BVLC's layers: Scale of two bottoms weighs channels", group=4,
                    squeeze=squeeze)


def resnet18():
    net = Net("ResNet_18", "ResNet-18 (He et al. 2015): blocks of two 3x3 convolutions", weight=MSRA)
    image_data(net, 32)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 8, 7, 2, 3), "MAX", 3, 2)
    for stage, (outputs, stride) in enumerate([(8, 1), (16, 2)], 2):
        y = net.conv_bn(f"res{stage}_a", x, outputs, 3, stride, 1)
        y = net.conv_bn(f"res{stage}_b", y, outputs, 3, 1, 1, act=None)
        x = x if stride == 1 else net.conv_bn(f"res{stage}_short", x, outputs, 1, stride, act=None)
        x = net.in_place("ReLU", net.sum(f"res{stage}", [x, y]))
    return head(net, x)


def resnet_preact():
    net = Net("ResNet_pre_activation", "ResNet with identity mappings (He et al. 2016): BatchNorm not in place, first")
    image_data(net, 32, CIFAR)
    x = net.conv("conv1", "data", 8, 3, pad=1)
    for i in range(2):
        y = net.add(f"bn{i}", "BatchNorm", [x], [f"bn{i}"])
        y = net.in_place("ReLU", net.add(f"scale{i}", "Scale", [y], [y], scale_param={"bias_term": True}))
        y = net.conv_bn(f"conv{i}a", y, 8, 3, pad=1)
        x = net.sum(f"add{i}", [x, net.conv(f"conv{i}b", y, 8, 3, pad=1)])
    return head(net, net.in_place("ReLU", net.norm("bn_last", "scale_last", x)))


def densenet():
    net = Net("DenseNet_BC", "DenseNet-BC (Huang et al. 2016): each layer reads all before it, by Concat", weight=MSRA)
    image_data(net, 32, scale=0.017)
    x, channels = net.conv_bn("conv1", "data", 8, 3, 1, 1), 8
    for block in (1, 2):
        for i in range(1, 4):
            name = f"conv{block}_{i}"
            y = net.add(f"{name}/x0/bn", "BatchNorm", [x], [f"{name}/x0/bn"])
            y = net.in_place("ReLU", net.add(f"{name}/x0/scale", "Scale", [y], [y], scale_param={"bias_term": True}))
            y = net.conv_bn(f"{name}/x1", y, 16, 1)
            y = net.dropout(f"{name}/drop", net.conv(f"{name}/x2", y, 4, 3, pad=1, bias=False), 0.2)
            x, channels = net.concat(f"concat_{block}_{i}", [x, y]), channels + 4
        if block == 1:
            channels //= 2
            x = net.pool("pool1", net.conv_bn("conv1_blk", x, channels, 1), "AVE", 2, 2)
    return head(net, net.in_place("ReLU", net.norm("bn_last", "scale_last", x)))


def dual_path():
    net = Net("DPN", "Dual path network (Chen et al. 2017): Slice parts what is added from what is put behind")
    image_data(net, 32)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 12, 3, 2, 1), "MAX", 3, 2)
    y = net.conv_bn("block1/3x3", net.conv_bn("block1/1x1", x, 8, 1), 8, 3, pad=1, group=4)
    y = net.conv_bn("block1/up", y, 12, 1, act=None)
    net.add("block1/slice", "Slice", [y], ["block1/sum", "block1/dense"], slice_param={"slice_point": 8})
    net.add("block1/slice_x", "Slice", [x], ["block1/sum_x", "block1/dense_x"],
            slice_param={"slice_point": 8, "axis": 1})
    joined = net.sum("block1/added", ["block1/sum_x", "block1/sum"])
    return head(net, net.concat("block1/out", [joined, "block1/dense_x", "block1/dense"]))


def squeezenet():
    net = Net("SqueezeNet", "SqueezeNet 1.1 (Iandola et al. 2016): no fully connected layer", (1, 3, 48, 48))
    image_data(net, 48)
    x = net.pool("pool1", net.conv_relu("conv1", "relu_conv1", "data", 8, 3, stride=2), "MAX", 3, 2)
    for i in (2, 3):
        s = net.conv_relu(f"fire{i}/squeeze1x1", f"fire{i}/relu_s", x, 4, 1)
        x = net.concat(f"fire{i}/concat", [net.conv_relu(f"fire{i}/expand1x1", f"fire{i}/relu_1", s, 8, 1),
                                           net.conv_relu(f"fire{i}/expand3x3", f"fire{i}/relu_3", s, 8, 3, pad=1)])
    x = net.conv_relu("conv10", "relu_conv10", net.dropout("drop9", x, 0.5), CLASSES, 1, weight=gaussian(0.01))
    net.head(net.pool("pool10", x, "AVE"), top5=False)
    return net


def mobilenet_v1(kind="Convolution", name="MobileNet_v1"):
    how = "groups of one channel" if kind == "Convolution" else f"layers of type {kind}"
    net = Net(name, f"MobileNet v1 (Howard et al. 2017): depthwise convolutions as {how}", weight=MSRA)
    image_data(net, 32, means=[103.94, 116.78, 123.68], scale=0.017)
    x, channels = net.conv_bn("conv1", "data", 8, 3, 2, 1), 8
    for i, (outputs, stride) in enumerate([(16, 1), (16, 2), (24, 1)], 2):
        p = {"num_output": channels, "bias_term": False, "pad": 1, "kernel_size": 3, "stride": stride}
        if kind == "Convolution":
            p["group"] = channels
        x = net.add(f"conv{i}/dw", kind, [x], [f"conv{i}/dw"], convolution_param=dict(p, weight_filler=MSRA))
        x = net.in_place("ReLU", net.norm(f"conv{i}/dw/bn", f"conv{i}/dw/scale", x))
        x, channels = net.conv_bn(f"conv{i}/sep", x, outputs, 1), outputs
    net.head(net.conv("fc7", net.pool("pool6", x, "AVE"), CLASSES, 1), top5=False)
    return net


def mobilenet_v1_depthwise():
    return mobilenet_v1("DepthwiseConvolution", "MobileNet_v1_depthwise")


def mobilenet_v1_depth_wise():
    return mobilenet_v1("ConvolutionDepthwise", "MobileNet_v1_ConvolutionDepthwise")


def mobilenet_v2():
    net = Net("MobileNet_v2", "MobileNet v2 (Sandler et al. 2018): inverted residuals, ReLU6, linear bottlenecks",
              weight=MSRA)
    image_data(net, 32, means=[103.94, 116.78, 123.68], scale=0.017)
    x, channels = net.conv_bn("conv1", "data", 8, 3, 2, 1, act="ReLU6"), 8
    for i, (outputs, stride) in enumerate([(8, 1), (12, 2), (12, 1)]):
        name, wide = f"conv2_{i}", 3 * channels
        y = net.conv_bn(f"{name}/expand", x, wide, 1, act="ReLU6")
        y = net.conv_bn(f"{name}/dwise", y, wide, 3, stride, 1, wide, act="ReLU6")
        y = net.conv_bn(f"{name}/linear", y, outputs, 1, act=None)
        x = net.sum(f"{name}/sum", [x, y]) if stride == 1 and outputs == channels else y
        channels = outputs
    return head(net, net.conv_bn("conv6", x, 32, 1, act="ReLU6"))


def mobilenet_v3():
    net = Net("MobileNet_v3", "MobileNet v3 (Howard et al. 2019): HardSwish, and channels weighed by relu6(x + 3) / 6",
              weight=MSRA)
    image_data(net, 32, means=[103.94, 116.78, 123.68], scale=0.017)
    x = net.conv_bn("conv1", "data", 8, 3, 2, 1, act="HardSwish")
    for i in range(2):
        name = f"block{i}"
        y = net.conv_bn(f"{name}/expand", x, 24, 1, act="HardSwish")
        y = net.conv_bn(f"{name}/dw", y, 24, 3, 1, 1, 24, act="HardSwish")
        s = net.fc(f"{name}/se1", net.pool(f"{name}/se_pool", y, "AVE"), 6)
        s = net.fc(f"{name}/se2", net.in_place("ReLU", s), 24)
        s = net.in_place("ReLU6", net.one("Power", s, f"{name}/se_shift", power_param={"shift": 3.0}))
        s = net.one("Power", s, f"{name}/se_scale", power_param={"scale": 0.166667})
        y = net.add(f"{name}/se", "Scale", [y, s], [f"{name}/se"], scale_param={"axis": 0})
        x = net.sum(f"{name}/sum", [x, net.conv_bn(f"{name}/linear", y, 8, 1, act=None)])
    x = net.one("HardSwish", net.fc("fc1", net.pool("pool_all", x, "AVE"), 32), "fc1/hswish")
    net.head(net.fc("fc", x, CLASSES), top5=False)
    return net


def shufflenet_v1():
    net = Net("ShuffleNet_v1", "ShuffleNet v1 (Zhang et al. 2017): grouped 1x1 convolutions and ShuffleChannel",
              weight=MSRA)
    image_data(net, 32, means=[103.94, 116.78, 123.68], scale=0.017)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 12, 3, 2, 1), "MAX", 3, 2)
    for i, stride in enumerate((2, 1), 1):
        name, outputs = f"resx{i}", 12 if stride == 2 else 24
        y = net.conv_bn(f"{name}_conv1", x, 12, 1, group=3)
        y = net.one("ShuffleChannel", y, f"{name}_shuffle", shuffle_channel_param={"group": 3})
        y = net.conv_bn(f"{name}_conv2", y, 12, 3, stride, 1, 12, act=None)
        y = net.conv_bn(f"{name}_conv3", y, outputs, 1, group=3, act=None)
        if stride == 2:
            x = net.concat(f"{name}_concat", [net.pool(f"{name}_match", x, "AVE", 3, 2), y])
        else:
            x = net.sum(f"{name}_sum", [x, y])
        x = net.in_place("ReLU", x)
    return head(net, x)


def shufflenet_v2():
    net = Net("ShuffleNet_v2", "ShuffleNet v2 (Ma et al. 2018): half of the channels pass by, then channels are mixed",
              weight=MSRA)
    image_data(net, 32)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 16, 3, 2, 1), "MAX", 3, 2)
    for i in (1, 2):
        name = f"stage2_{i}"
        net.add(f"{name}/slice", "Slice", [x], [f"{name}/left", f"{name}/right"], slice_param={"axis": 1})
        y = net.conv_bn(f"{name}/conv1", f"{name}/right", 8, 1)
        y = net.conv_bn(f"{name}/conv2", y, 8, 3, 1, 1, 8, act=None)
        x = net.concat(f"{name}/concat", [f"{name}/left", net.conv_bn(f"{name}/conv3", y, 8, 1)])
        if i == 1:
            x = net.one("ShuffleChannel", x, f"{name}/shuffle", shuffle_channel_param={"group": 2})
        else:  # the same in other layers, as converters write it
            x = net.reshape(f"{name}/parted", x, [0, 2, 8, 8, 8])
            x = net.reshape(f"{name}/mixed", net.permute(f"{name}/swapped", x, (0, 2, 1, 3, 4)), [0, 16, 8, 8])
    return head(net, net.conv_bn("conv5", x, 32, 1))


def xception():
    net = Net("Xception", "Xception (Chollet 2016): ConvolutionDepthWise, and shortcuts of stride 2", weight=MSRA)
    image_data(net, 32, means=[128, 128, 128], scale=0.0078125)
    x, channels = net.conv_bn("conv1", "data", 8, 3, 2, 1), 8
    for i in (1, 2):
        short = net.conv_bn(f"block{i}/short", x, 16, 1, 2, act=None)
        p = {"num_output": channels, "bias_term": False, "pad": 1, "kernel_size": 3, "weight_filler": MSRA}
        y = net.add(f"block{i}/dw", "ConvolutionDepthWise", [x], [f"block{i}/dw"], convolution_param=p)
        y = net.pool(f"block{i}/pool", net.conv_bn(f"block{i}/sep", y, 16, 1), "MAX", 3, 2, 0)
        x, channels = net.sum(f"block{i}", [short, y]), 16
    return head(net, x)


def efficientnet():
    net = Net("EfficientNet", "EfficientNet (Tan and Le 2019): Swish, and channels weighed by a sigmoid", weight=MSRA)
    image_data(net, 32, means=[128, 128, 128], scale=0.0078125)
    x = net.conv_bn("stem", "data", 8, 3, 2, 1, act="Swish")
    y = net.conv_bn("mb/expand", x, 16, 1, act="Swish")
    y = net.conv_bn("mb/dw", y, 16, 5, 1, 2, 16, act="Swish")
    s = net.one("Swish", net.conv("mb/se1", net.pool("mb/se_pool", y, "AVE"), 4, 1), "mb/se_swish",
                swish_param={"beta": 1.0})
    s = net.flatten("mb/se_flat", net.in_place("Sigmoid", net.conv("mb/se2", s, 16, 1)))
    y = net.add("mb/se", "Scale", [y, s], ["mb/se"], scale_param={"axis": 0})
    return head(net, net.sum("mb/sum", [x, net.conv_bn("mb/project", y, 8, 1, act=None)]))


def spp_net():
    net = Net("SPPNet", "Spatial pyramid pooling (He et al. 2014)")
    image_data(net, 32)
    x = net.conv_relu("conv1", "relu1", "data", 8, 5, stride=2)
    x = net.one("SPP", x, "spp", spp_param={"pyramid_height": 3, "pool": Word("MAX")})
    net.head(net.fc("fc", x, CLASSES), top5=False)
    return net


def spp_mean():
    net = Net("SPPNet_mean", "A pyramid of means above normalised images, with scores of weights given by Bias and MVN")
    image_data(net, 32)
    x = net.one("MVN", "data", "mvn", mvn_param={"across_channels": True})
    x = net.conv_relu("conv1", "relu1", x, 8, 5, stride=2)
    x = net.one("SPP", x, "spp", spp_param={"pyramid_height": 2, "pool": Word("AVE")})
    x = net.one("Bias", net.fc("fc", x, CLASSES), "fc_bias", bias_param={"filler": constant(0.1)})
    net.head(x, top5=False)
    return net


def stochastic_pooling():
    net = Net("Stochastic_pooling", "Stochastic pooling (Zeiler and Fergus 2013), Maxout by Slice and Eltwise MAX")
    image_data(net, 32, CIFAR)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 5, pad=2), "STOCHASTIC", 3, 2)
    net.add("slice", "Slice", [net.conv("conv2", x, 16, 3, pad=1)], ["half_a", "half_b"], slice_param={"axis": 1})
    x = net.sum("maxout", ["half_a", "half_b"], operation=Word("MAX"))
    return head(net, net.pool("pool2", x, "STOCHASTIC", 2, 2))


def prelu_elu():
    net = Net("PReLU_ELU", "PReLU (He et al. 2015) and ELU (Clevert et al. 2015) in place of rectifiers", weight=MSRA)
    image_data(net, 32, CIFAR)
    x = net.in_place("PReLU", net.conv("conv1", "data", 8, 3, pad=1))
    x = net.in_place("ELU", net.conv("conv2", net.pool("pool1", x, "MAX", 2, 2), 8, 3, pad=1), elu_param={"alpha": 1.0})
    x = net.in_place("ReLU", net.conv("conv3", x, 8, 3, pad=1), relu_param={"negative_slope": 0.1})
    return head(net, x)


def smooth_units():
    net = Net("Smooth_units", "Smooth nonlinearities: BNLL, TanH, Sigmoid, AbsVal, ELU, Clip, Log")
    image_data(net, 28, MNIST, 4, None, 0.00390625, mirror=False)
    net.shape = (1, 1, 28, 28)
    x = net.one("BNLL", net.conv("conv1", "data", 8, 5, stride=2), "bnll")
    x = net.in_place("TanH", net.conv("conv2", x, 8, 3))
    x = net.one("AbsVal", net.conv("conv3", x, 8, 3), "rectified")
    x = net.one("Clip", x, "clipped", clip_param={"min": 0.0, "max": 4.0})
    x = net.one("Log", x, "logarithm", log_param={"shift": 1.0})
    x = net.in_place("ELU", net.in_place("Sigmoid", net.fc("fc1", x, 16)))
    net.head(net.fc("fc2", x, CLASSES), top5=False)
    return net


def hinge():
    net = Net("Hinge", "A linear classifier with Caffe's hinge loss, squared, on contrast-normalised images")
    image_data(net, 0, MNIST, 4, None, 0.00390625, mirror=False)
    net.shape = (1, 1, 28, 28)
    x = net.one("BNLL", net.one("MVN", "data", "mvn"), "soft")
    x = net.in_place("ELU", net.fc("fc", net.one("AbsVal", x, "abs"), CLASSES))
    net.accuracy("accuracy", x)
    net.add("loss", "HingeLoss", [x, "label"], ["loss"], "train", hinge_loss_param={"norm": Word("L2")})
    return net


NETS = [lenet, cifar10_quick, cifar10_full, alexnet, caffenet, zfnet, network_in_network, vgg, vgg16, googlenet,
        inception_v2, inception_v3, inception_resnet_v2, resnet18, resnet50, resnet_preact, resnext, senet, se_resnext,
        densenet, dual_path, squeezenet, mobilenet_v1, mobilenet_v1_depthwise, mobilenet_v1_depth_wise, mobilenet_v2,
        mobilenet_v3, shufflenet_v1, shufflenet_v2, xception, efficientnet, spp_net, spp_mean, stochastic_pooling,
        prelu_elu, smooth_units, hinge]
DEPLOYED = [lenet, caffenet, googlenet, resnet50, senet, mobilenet_v1_depth_wise, mobilenet_v2, shufflenet_v2, xception,
            efficientnet]

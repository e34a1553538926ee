"""The networks, each described once. Layer names follow the weights published for Caffe, because weights are matched by
layer name. `data` are options of builder.imagenet_data.
"""

from .builder import DECAYED, MSRA, Net, constant, gaussian, imagenet_data


def lenet(source):
    net = Net("LeNet", "LeNet (LeCun, Bottou, Bengio, Haffner 1998) with max pooling and ReLU.", (64, 1, 28, 28))
    for phase, folder, batch in (("TRAIN", "train_lmdb", 64), ("TEST", "test_lmdb", 100)):
        net.data(phase, f"{source}/{folder}", batch, {"scale": 0.00390625})
    x = net.conv("conv1", "data", 20, 5, params=DECAYED)
    x = net.pool("pool1", x, "MAX", 2, 2)
    x = net.conv("conv2", x, 50, 5, params=DECAYED)
    x = net.pool("pool2", x, "MAX", 2, 2)
    x = net.relu("relu1", net.fc("ip1", x, 500, params=DECAYED))
    x = net.fc("ip2", x, 10, params=DECAYED)
    net.head(x, top5=False)
    return net


def cifar10_quick():
    net = Net("CIFAR10_quick", "The quick CIFAR-10 network of cuda-convnet (Krizhevsky 2012).", (1, 3, 32, 32))
    for phase, folder in (("TRAIN", "cifar10_train_lmdb"), ("TEST", "cifar10_test_lmdb")):
        net.data(phase, f"data/cifar10/{folder}", 100, {"mean_file": "data/cifar10/mean.binaryproto"})
    x = net.conv("conv1", "data", 32, 5, pad=2, weight=gaussian(0.0001), params=DECAYED)
    x = net.relu("relu1", net.pool("pool1", x, "MAX", 3, 2))
    x = net.relu("relu2", net.conv("conv2", x, 32, 5, pad=2, weight=gaussian(0.01), params=DECAYED))
    x = net.pool("pool2", x, "AVE", 3, 2)
    x = net.relu("relu3", net.conv("conv3", x, 64, 5, pad=2, weight=gaussian(0.01), params=DECAYED))
    x = net.pool("pool3", x, "AVE", 3, 2)
    x = net.fc("ip1", x, 64, weight=gaussian(0.1), params=DECAYED)
    x = net.fc("ip2", x, 10, weight=gaussian(0.1), params=DECAYED)
    net.head(x, top5=False)
    return net


def alexnet(batch=256, **data):
    net = Net("AlexNet", "AlexNet (Krizhevsky, Sutskever, Hinton 2012), normalisation before pooling as in the paper.",
              (10, 3, 227, 227))
    imagenet_data(net, 227, batch, 50, **data)
    thin, wide = gaussian(0.01), gaussian(0.005)
    x = net.conv_relu("conv1", "relu1", "data", 96, 11, stride=4, weight=thin)
    x = net.pool("pool1", net.lrn("norm1", x), "MAX", 3, 2)
    x = net.conv_relu("conv2", "relu2", x, 256, 5, pad=2, group=2, weight=thin, fill=constant(0.1))
    x = net.pool("pool2", net.lrn("norm2", x), "MAX", 3, 2)
    x = net.conv_relu("conv3", "relu3", x, 384, 3, pad=1, weight=thin)
    x = net.conv_relu("conv4", "relu4", x, 384, 3, pad=1, group=2, weight=thin, fill=constant(0.1))
    x = net.conv_relu("conv5", "relu5", x, 256, 3, pad=1, group=2, weight=thin, fill=constant(0.1))
    x = net.pool("pool5", x, "MAX", 3, 2)
    for i in (6, 7):
        x = net.relu(f"relu{i}", net.fc(f"fc{i}", x, 4096, wide, constant(0.1)))
        x = net.dropout(f"drop{i}", x, 0.5)
    net.head(net.fc("fc8", x, 1000, thin))
    return net


def alexnet_bn(batch=256, **data):
    net = Net("AlexNet-BN", "AlexNet with BatchNorm after each layer of weights in place of LRN, for large batches.",
              (10, 3, 227, 227), weight=MSRA)
    imagenet_data(net, 227, batch, 50, **data)

    def norm_relu(i, x):
        return net.relu(f"relu{i}", net.norm(f"bn{i}", f"scale{i}", x))

    x = norm_relu(1, net.conv("conv1", "data", 96, 11, stride=4, bias=False))
    x = net.pool("pool1", x, "MAX", 3, 2)
    x = norm_relu(2, net.conv("conv2", x, 256, 5, pad=2, group=2, bias=False))
    x = net.pool("pool2", x, "MAX", 3, 2)
    x = norm_relu(3, net.conv("conv3", x, 384, 3, pad=1, bias=False))
    for i, outputs in ((4, 384), (5, 256)):
        x = norm_relu(i, net.conv(f"conv{i}", x, outputs, 3, pad=1, group=2, bias=False))
    x = net.pool("pool5", x, "MAX", 3, 2)
    for i in (6, 7):
        x = norm_relu(i, net.fc(f"fc{i}", x, 4096, gaussian(0.005)))
        x = net.dropout(f"drop{i}", x, 0.5)
    net.head(net.fc("fc8", x, 1000, gaussian(0.01)))
    return net


def inception(net, name, bottom, ones, reduce3, threes, reduce5, fives, projection):
    def branch(conv, outputs, kernel, source, pad=0):
        return net.conv_relu(f"{name}/{conv}", f"{name}/relu_{conv}", source, outputs, kernel, pad=pad)

    a = branch("1x1", ones, 1, bottom)
    b = branch("3x3", threes, 3, branch("3x3_reduce", reduce3, 1, bottom), 1)
    c = branch("5x5", fives, 5, branch("5x5_reduce", reduce5, 1, bottom), 2)
    d = branch("pool_proj", projection, 1, net.pool(f"{name}/pool", bottom, "MAX", 3, 1, 1))
    return net.concat(f"{name}/output", [a, b, c, d])


def googlenet_helper(net, prefix, bottom):
    """An auxiliary classifier: weight 0.3 in training, absent from deploy."""
    first = len(net.layers)
    x = net.pool(f"{prefix}/ave_pool", bottom, "AVE", 5, 3)
    x = net.conv_relu(f"{prefix}/conv", f"{prefix}/relu_conv", x, 128, 1)
    x = net.relu(f"{prefix}/relu_fc", net.fc(f"{prefix}/fc", x, 1024))
    x = net.dropout(f"{prefix}/drop_fc", x, 0.7)
    x = net.fc(f"{prefix}/classifier", x, 1000, fill=constant())
    net.loss(x, f"{prefix}/loss", f"{prefix}/loss1", 0.3)
    net.accuracy(f"{prefix}/top-1", x)
    net.accuracy(f"{prefix}/top-5", x, 5)
    net.train_only(first)


def googlenet(batch=32, **data):
    net = Net("GoogleNet", "GoogLeNet (Szegedy et al. 2014), with its two auxiliary classifiers while training.",
              (10, 3, 224, 224), bias=constant(0.2))
    imagenet_data(net, 224, batch, 50, **data)
    x = net.conv_relu("conv1/7x7_s2", "conv1/relu_7x7", "data", 64, 7, stride=2, pad=3)
    x = net.lrn("pool1/norm1", net.pool("pool1/3x3_s2", x, "MAX", 3, 2))
    x = net.conv_relu("conv2/3x3_reduce", "conv2/relu_3x3_reduce", x, 64, 1)
    x = net.conv_relu("conv2/3x3", "conv2/relu_3x3", x, 192, 3, pad=1)
    x = net.pool("pool2/3x3_s2", net.lrn("conv2/norm2", x), "MAX", 3, 2)
    x = inception(net, "inception_3a", x, 64, 96, 128, 16, 32, 32)
    x = inception(net, "inception_3b", x, 128, 128, 192, 32, 96, 64)
    x = net.pool("pool3/3x3_s2", x, "MAX", 3, 2)
    x = inception(net, "inception_4a", x, 192, 96, 208, 16, 48, 64)
    googlenet_helper(net, "loss1", x)
    x = inception(net, "inception_4b", x, 160, 112, 224, 24, 64, 64)
    x = inception(net, "inception_4c", x, 128, 128, 256, 24, 64, 64)
    x = inception(net, "inception_4d", x, 112, 144, 288, 32, 64, 64)
    googlenet_helper(net, "loss2", x)
    x = inception(net, "inception_4e", x, 256, 160, 320, 32, 128, 128)
    x = net.pool("pool4/3x3_s2", x, "MAX", 3, 2)
    x = inception(net, "inception_5a", x, 256, 160, 320, 32, 128, 128)
    x = inception(net, "inception_5b", x, 384, 192, 384, 48, 128, 128)
    x = net.dropout("pool5/drop_7x7_s1", net.pool("pool5/7x7_s1", x, "AVE", 7, 1), 0.4)
    x = net.fc("loss3/classifier", x, 1000, fill=constant())
    net.loss(x, "loss3/loss3", "loss3/loss3", 1)
    net.accuracy("loss3/top-1", x)
    net.accuracy("loss3/top-5", x, 5)
    net.add("prob", "Softmax", [x], ["prob"], "deploy")
    return net


def vgg16(batch=32, **data):
    net = Net("VGG_ILSVRC_16_layers", "VGG-16, configuration D (Simonyan, Zisserman 2014). msra fillers (He et al. "
              "2015) let it train from scratch.", (10, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, batch, 25, **data)
    x = "data"
    for stage, (convolutions, outputs) in enumerate([(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)], 1):
        for i in range(1, convolutions + 1):
            x = net.conv_relu(f"conv{stage}_{i}", f"relu{stage}_{i}", x, outputs, 3, pad=1)
        x = net.pool(f"pool{stage}", x, "MAX", 2, 2)
    for i in (6, 7):
        x = net.relu(f"relu{i}", net.fc(f"fc{i}", x, 4096, gaussian(0.005), constant(0.1)))
        x = net.dropout(f"drop{i}", x, 0.5)
    net.head(net.fc("fc8", x, 1000, gaussian(0.01)))
    return net


def resnet_conv(net, name, suffix, bottom, outputs, kernel, stride=1, pad=0):
    x = net.conv(f"res{name}_{suffix}", bottom, outputs, kernel, stride, pad, bias=False)
    return net.norm(f"bn{name}_{suffix}", f"scale{name}_{suffix}", x)


def resnet50(batch=32, **data):
    net = Net("ResNet-50", "ResNet-50 (He, Zhang, Ren, Sun 2015), stride in the first 1x1 of a stage.",
              (10, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, batch, 25, **data)
    x = net.conv("conv1", "data", 64, 7, stride=2, pad=3)  # the published weights have a bias here, and only here
    x = net.relu("conv1_relu", net.norm("bn_conv1", "scale_conv1", x))
    x = net.pool("pool1", x, "MAX", 3, 2)
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)], 2):
        for block in range(blocks):
            name = f"{stage}{chr(ord('a') + block)}"
            stride = 2 if block == 0 and stage > 2 else 1
            short = resnet_conv(net, name, "branch1", x, 4 * width, 1, stride) if block == 0 else x
            y = resnet_conv(net, name, "branch2a", x, width, 1, stride)
            y = net.relu(f"res{name}_branch2a_relu", y)
            y = resnet_conv(net, name, "branch2b", y, width, 3, pad=1)
            y = net.relu(f"res{name}_branch2b_relu", y)
            y = resnet_conv(net, name, "branch2c", y, 4 * width, 1)
            x = net.relu(f"res{name}_relu", net.add(f"res{name}", "Eltwise", [short, y], [f"res{name}"]))
    x = net.pool("pool5", x, "AVE", 7, 1)
    net.head(net.fc("fc1000", x, 1000))
    return net


MOBILENET_DATA = {"means": [103.94, 116.78, 123.68], "scale": 0.017}


def mobile_unit(net, name, relu, bottom, outputs, kernel, stride=1, group=1):
    """Convolution without bias, BatchNorm, and ReLU where that has a name."""
    x = net.conv(name, bottom, outputs, kernel, stride, kernel // 2, group, bias=False)
    x = net.norm(f"{name}/bn", f"{name}/scale", x)
    return net.relu(relu, x) if relu else x


def mobilenet():
    net = Net("MOBILENET", "MobileNet 1.0 (Howard et al. 2017): depthwise convolutions are groups of one channel.",
              (1, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, 32, 50, **MOBILENET_DATA)
    x, channels = mobile_unit(net, "conv1", "relu1", "data", 32, 3, 2), 32
    blocks = [("2_1", 64, 1), ("2_2", 128, 2), ("3_1", 128, 1), ("3_2", 256, 2), ("4_1", 256, 1), ("4_2", 512, 2)]
    blocks += [(f"5_{i}", 512, 1) for i in range(1, 6)] + [("5_6", 1024, 2), ("6", 1024, 1)]
    for name, outputs, stride in blocks:
        x = mobile_unit(net, f"conv{name}/dw", f"relu{name}/dw", x, channels, 3, stride, channels)
        x = mobile_unit(net, f"conv{name}/sep", f"relu{name}/sep", x, outputs, 1)
        channels = outputs
    x = net.pool("pool6", x, "AVE")
    net.head(net.conv("fc7", x, 1000, 1))
    return net


def mobilenet_v2(batch=32):
    net = Net("MOBILENET_V2", "MobileNet v2 (Sandler et al. 2018): inverted residuals. As in the weights published for "
              "Caffe, which\n# have ReLU for ReLU6, and the fourth stride a stage later than the paper's table 2.",
              (1, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, batch, 50, **MOBILENET_DATA)
    x, channels = mobile_unit(net, "conv1", "relu1", "data", 32, 3, 2), 32
    # Expansion, outputs, and stride of each block by its name.
    blocks = [("2_1", 1, 16, 1), ("2_2", 6, 24, 2), ("3_1", 6, 24, 1), ("3_2", 6, 32, 2), ("4_1", 6, 32, 1)]
    blocks += [("4_2", 6, 32, 1)] + [(f"4_{i}", 6, 64, 1) for i in range(3, 7)] + [("4_7", 6, 96, 2), ("5_1", 6, 96, 1), ("5_2", 6, 96, 1)]
    blocks += [("5_3", 6, 160, 2), ("6_1", 6, 160, 1), ("6_2", 6, 160, 1), ("6_3", 6, 320, 1)]
    for name, expansion, outputs, stride in blocks:
        wide = expansion * channels
        y = mobile_unit(net, f"conv{name}/expand", f"relu{name}/expand", x, wide, 1)
        y = mobile_unit(net, f"conv{name}/dwise", f"relu{name}/dwise", y, wide, 3, stride, wide)
        y = mobile_unit(net, f"conv{name}/linear", None, y, outputs, 1)
        adds = stride == 1 and outputs == channels
        x, channels = net.add(f"block_{name}", "Eltwise", [x, y], [f"block_{name}"]) if adds else y, outputs
    x = net.pool("pool6", mobile_unit(net, "conv6_4", "relu6_4", x, 1280, 1), "AVE")
    net.head(net.conv("fc7", x, 1000, 1))
    return net


def squeezenet():
    net = Net("SqueezeNet", "SqueezeNet 1.1 (Iandola et al. 2016).", (10, 3, 227, 227))
    imagenet_data(net, 227, 32, 25)
    x = net.conv_relu("conv1", "relu_conv1", "data", 64, 3, stride=2)
    pools = {1: "pool1", 3: "pool3", 5: "pool5"}
    x = net.pool("pool1", x, "MAX", 3, 2)
    for i, (squeeze, expand) in enumerate([(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256),
                                           (64, 256)], 2):
        def fire(conv, bottom, outputs, kernel, pad=0, name=f"fire{i}"):
            return net.conv_relu(f"{name}/{conv}", f"{name}/relu_{conv}", bottom, outputs, kernel, pad=pad)

        s = fire("squeeze1x1", x, squeeze, 1)
        x = net.concat(f"fire{i}/concat", [fire("expand1x1", s, expand, 1), fire("expand3x3", s, expand, 3, 1)])
        if i in pools:
            x = net.pool(pools[i], x, "MAX", 3, 2)
    x = net.dropout("drop9", x, 0.5)
    x = net.conv_relu("conv10", "relu_conv10", x, 1000, 1, weight=gaussian(0.01))
    net.head(net.pool("pool10", x, "AVE"))
    return net

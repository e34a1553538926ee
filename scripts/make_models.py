#!/usr/bin/env python3
"""Writes the definitions in models/: one train_val, deploy and solver prototxt per network.

The networks are described here once, so that train_val and deploy cannot drift apart. Layer names follow the weights
published for Caffe, because weights are matched by layer name. `--check` only compares and fails on a difference.

  scripts/make_models.py [--check] [--root FOLDER]
"""

import argparse
import pathlib
import sys

IMAGENET_MEAN = [104, 117, 123]  # blue, green, red


class Word(str):
    """A bare word of the text format (an enum value), printed without quotes."""


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def is_short(message):
    """True for a message that reads better on one line: few fields, no message inside."""
    return len(message) <= 3 and not any(isinstance(v, (dict, list)) for v in message.values())


def text(message, indent=0):
    """The message as indented protobuf text; lists are repeated fields, dicts are messages."""
    lines, pad = [], "  " * indent
    for key, values in message.items():
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, dict):
                lines.append(f"{pad}{key}: {scalar(value)}")
            elif is_short(value):
                inside = " ".join(f"{k}: {scalar(v)}" for k, v in value.items())
                lines.append(f"{pad}{key} {{ {inside} }}")
            else:
                lines += [f"{pad}{key} {{", text(value, indent + 1), f"{pad}}}"]
    return "\n".join(lines)


# Fillers and learning-rate multipliers -----------------------------------------------------------------------------

XAVIER = {"type": "xavier"}
MSRA = {"type": "msra"}


def gaussian(std):
    return {"type": "gaussian", "std": std}


def constant(value=0):
    return {"type": "constant", "value": value} if value else {"type": "constant"}


WEIGHT = {"lr_mult": 1, "decay_mult": 1}
BIAS = {"lr_mult": 2, "decay_mult": 0}
DECAYED = [{"lr_mult": 1}, {"lr_mult": 2}]  # the bias decays too, as the small nets have always had it
SCALE_PARAMS = [{"lr_mult": 1, "decay_mult": 0}, {"lr_mult": 1, "decay_mult": 0}]


class Net:
    """Collects layers. Every method returns the name of the top it made.

    Layers are marked with the files they belong to: "train" (train_val only), "deploy", or both.
    """

    def __init__(self, name, title, shape, weight=XAVIER, bias=constant()):
        self.name, self.title, self.shape = name, title, shape
        self.weight, self.bias = weight, bias
        self.layers = []

    def add(self, name, kind, bottoms, tops, where="both", **fields):
        layer = {"name": name, "type": kind}
        layer.update({"bottom": bottoms} if bottoms else {}, top=tops)
        layer.update(fields)
        self.layers.append((where, layer))
        return tops[0]

    def data(self, phase, source, batch, transform):
        tops = ["data", "label"]
        parameter = {"source": source, "batch_size": batch, "backend": Word("LMDB")}
        self.add("data", "Data", [], tops, "train", include={"phase": Word(phase)}, transform_param=transform,
                 data_param=parameter)

    def conv(self, name, bottom, outputs, kernel, stride=1, pad=0, group=1, bias=True, weight=None, fill=None, top=None,
             params=None):
        p = {"num_output": outputs}
        if not bias:
            p["bias_term"] = False
        if pad:
            p["pad"] = pad
        p["kernel_size"] = kernel
        if group > 1:
            p["group"] = group
        if stride > 1:
            p["stride"] = stride
        p["weight_filler"] = weight or self.weight
        if bias:
            p["bias_filler"] = fill or self.bias
        return self.add(name, "Convolution", [bottom], [top or name],
                        param=params or ([WEIGHT, BIAS] if bias else [WEIGHT]), convolution_param=p)

    def relu(self, name, bottom):
        return self.add(name, "ReLU", [bottom], [bottom])

    def conv_relu(self, name, relu, bottom, outputs, kernel, **options):
        return self.relu(relu, self.conv(name, bottom, outputs, kernel, **options))

    def pool(self, name, bottom, kind, kernel=None, stride=1, pad=0, top=None):
        p = {"pool": Word(kind)}
        if kernel is None:
            p["global_pooling"] = True
        else:
            p["kernel_size"] = kernel
            if pad:
                p["pad"] = pad
            p["stride"] = stride
        return self.add(name, "Pooling", [bottom], [top or name], pooling_param=p)

    def lrn(self, name, bottom):
        return self.add(name, "LRN", [bottom], [name], lrn_param={"local_size": 5, "alpha": 0.0001, "beta": 0.75})

    def fc(self, name, bottom, outputs, weight=None, fill=None, params=None):
        return self.add(name, "InnerProduct", [bottom], [name], param=params or [WEIGHT, BIAS], inner_product_param={
            "num_output": outputs, "weight_filler": weight or self.weight, "bias_filler": fill or self.bias})

    def dropout(self, name, bottom, ratio):
        return self.add(name, "Dropout", [bottom], [bottom], dropout_param={"dropout_ratio": ratio})

    def norm(self, bn, scale, bottom):
        """BatchNorm and the Scale that carries its weights, both in place."""
        self.add(bn, "BatchNorm", [bottom], [bottom])
        return self.add(scale, "Scale", [bottom], [bottom], param=SCALE_PARAMS, scale_param={"bias_term": True})

    def concat(self, name, bottoms):
        return self.add(name, "Concat", bottoms, [name])

    def accuracy(self, name, scores, top_k=1):
        fields = {"accuracy_param": {"top_k": top_k}} if top_k > 1 else {}
        self.add(name, "Accuracy", [scores, "label"], [name], "train", include={"phase": Word("TEST")}, **fields)

    def loss(self, scores, name="loss", top="loss", weight=None):
        fields = {"loss_weight": weight} if weight else {}
        self.add(name, "SoftmaxWithLoss", [scores, "label"], [top], "train", **fields)

    def head(self, scores, top5=True, prob="prob"):
        """What ends an ordinary classifier."""
        self.accuracy("accuracy", scores)
        if top5:
            self.accuracy("accuracy_top5", scores, 5)
        self.loss(scores)
        self.add(prob, "Softmax", [scores], [prob], "deploy")

    def train_only(self, first):
        """Marks the layers from index `first` on as training only."""
        self.layers[first:] = [("train", layer) for _, layer in self.layers[first:]]

    def file(self, which, comment):
        parts = [f"# {self.title}\n# {comment}", text({"name": self.name})]
        if which == "deploy":
            parts.append(text({"layer": {"name": "data", "type": "Input", "top": "data",
                                         "input_param": {"shape": {"dim": list(self.shape)}}}}))
        parts += [text({"layer": layer}) for where, layer in self.layers if where in ("both", which)]
        return "\n".join(parts) + "\n"


# Data --------------------------------------------------------------------------------------------------------------


def imagenet_data(net, crop, train_batch, test_batch, means=IMAGENET_MEAN, scale=None):
    def transform(mirror):
        t = {"mirror": True} if mirror else {}
        if scale:
            t["scale"] = scale
        return dict(t, crop_size=crop, mean_value=means)

    net.data("TRAIN", "data/ilsvrc12/train_lmdb", train_batch, transform(True))
    net.data("TEST", "data/ilsvrc12/val_lmdb", test_batch, transform(False))


# Networks ----------------------------------------------------------------------------------------------------------


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


def alexnet():
    net = Net("AlexNet", "AlexNet (Krizhevsky, Sutskever, Hinton 2012), normalisation before pooling as in the paper.",
              (10, 3, 227, 227))
    imagenet_data(net, 227, 256, 50)
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


def googlenet():
    net = Net("GoogleNet", "GoogLeNet (Szegedy et al. 2014), with its two auxiliary classifiers while training.",
              (10, 3, 224, 224), bias=constant(0.2))
    imagenet_data(net, 224, 32, 50)
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


def vgg16():
    net = Net("VGG_ILSVRC_16_layers", "VGG-16, configuration D (Simonyan, Zisserman 2014). msra fillers (He et al. "
              "2015) let it train from scratch.", (10, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, 32, 25)
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


def resnet50():
    net = Net("ResNet-50", "ResNet-50 (He, Zhang, Ren, Sun 2015), stride in the first 1x1 of a stage.",
              (10, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, 32, 25)
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


def mobilenet():
    net = Net("MOBILENET", "MobileNet 1.0 (Howard et al. 2017): depthwise convolutions are groups of one channel.",
              (1, 3, 224, 224), weight=MSRA)
    imagenet_data(net, 224, 32, 50, means=[103.94, 116.78, 123.68], scale=0.017)

    def unit(name, relu, bottom, outputs, kernel, stride=1, pad=0, group=1):
        x = net.conv(name, bottom, outputs, kernel, stride, pad, group, bias=False)
        return net.relu(relu, net.norm(f"{name}/bn", f"{name}/scale", x))

    x, channels = unit("conv1", "relu1", "data", 32, 3, 2, 1), 32
    blocks = [("2_1", 64, 1), ("2_2", 128, 2), ("3_1", 128, 1), ("3_2", 256, 2), ("4_1", 256, 1), ("4_2", 512, 2)]
    blocks += [(f"5_{i}", 512, 1) for i in range(1, 6)] + [("5_6", 1024, 2), ("6", 1024, 1)]
    for name, outputs, stride in blocks:
        x = unit(f"conv{name}/dw", f"relu{name}/dw", x, channels, 3, stride, 1, channels)
        x = unit(f"conv{name}/sep", f"relu{name}/sep", x, outputs, 1)
        channels = outputs
    x = net.pool("pool6", x, "AVE")
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


# Solvers -----------------------------------------------------------------------------------------------------------


def solver(folder, prefix, test_iter, test_interval, rate, display, max_iter, decay, snapshot, net="train_val",
           **more):
    start = {"net": f"models/{folder}/{net}.prototxt", "test_iter": test_iter, "test_interval": test_interval,
             "base_lr": rate}
    return text(dict(start, **more, momentum=0.9, weight_decay=decay, display=display, max_iter=max_iter,
                     snapshot=snapshot, snapshot_prefix=f"models/{folder}/{prefix}",
                     solver_mode=Word("CPU"))) + "\n"


INV = {"lr_policy": "inv", "gamma": 0.0001, "power": 0.75}

SOLVERS = {
    "lenet/solver": ("20 test batches of 100 images; 3,000 iterations are 16 epochs of data/digits.",
                     solver("lenet", "lenet", 20, 500, 0.01, 100, 3000, 0.0005, 1000, **INV)),
    "lenet/mnist_solver": ("100 test batches of 100 images cover MNIST's test set.",
                           solver("lenet", "lenet_mnist", 100, 500, 0.01, 100, 10000, 0.0005, 5000,
                                  net="mnist_train_val", **INV)),
    "cifar10_quick/solver": ("100 test batches of 100 images cover the test set; 4,000 iterations are 8 epochs.",
                             solver("cifar10_quick", "cifar10_quick", 100, 500, 0.001, 100, 4000, 0.004, 4000,
                                    lr_policy="fixed")),
    "bvlc_alexnet/solver": ("1,000 test batches of 50 images cover the validation set; 450,000 iterations are 90 "
                            "epochs.",
                            solver("bvlc_alexnet", "bvlc_alexnet", 1000, 1000, 0.01, 20, 450000, 0.0005, 10000,
                                   lr_policy="step", gamma=0.1, stepsize=100000)),
    "bvlc_googlenet/solver": ("1,000 test batches of 50 images; 2,400,000 iterations of 32 images are 60 epochs.",
                              solver("bvlc_googlenet", "bvlc_googlenet", 1000, 4000, 0.01, 40, 2400000, 0.0002, 40000,
                                     lr_policy="poly", power=0.5, average_loss=40, test_initialization=False)),
    "vgg16/solver": ("2,000 test batches of 25 images; 8 x 32 images an update, 370,000 iterations are 74 epochs.",
                     solver("vgg16", "vgg16", 2000, 5000, 0.01, 20, 370000, 0.0005, 10000, iter_size=8,
                            lr_policy="step", gamma=0.1, stepsize=100000, test_initialization=False)),
    "resnet50/solver": ("2,000 test batches of 25 images; 8 x 32 images an update, the rate falls after 30, 60 and 80 "
                        "epochs.",
                        solver("resnet50", "resnet50", 2000, 5000, 0.1, 20, 450000, 0.0001, 10000, iter_size=8,
                               lr_policy="multistep", gamma=0.1, stepvalue=[150000, 300000, 400000],
                               test_initialization=False)),
    "mobilenet_v1/solver": ("1,000 test batches of 50 images; 4 x 32 images an update, 900,000 iterations are 90 "
                            "epochs.",
                            solver("mobilenet_v1", "mobilenet_v1", 1000, 5000, 0.05, 20, 900000, 0.00004, 10000,
                                   iter_size=4, lr_policy="poly", power=1, test_initialization=False)),
    "squeezenet/solver": ("2,000 test batches of 25 images; 16 x 32 images an update, 170,000 iterations are 68 "
                          "epochs.",
                          solver("squeezenet", "squeezenet", 2000, 2000, 0.04, 40, 170000, 0.0002, 5000, iter_size=16,
                                 lr_policy="poly", power=1, average_loss=40, test_initialization=False)),
}

NETS = {
    "lenet": lambda: lenet("data/digits"),
    "cifar10_quick": cifar10_quick,
    "bvlc_alexnet": alexnet,
    "bvlc_googlenet": googlenet,
    "vgg16": vgg16,
    "resnet50": resnet50,
    "mobilenet_v1": mobilenet,
    "squeezenet": squeezenet,
}


def all_files():
    """Path below models/ -> content."""
    files = {}
    for folder, build in NETS.items():
        files[f"{folder}/train_val.prototxt"] = build().file("train", "Training and validation.")
        files[f"{folder}/deploy.prototxt"] = build().file("deploy", "Inference: feed `data`, read `prob`.")
    files["lenet/mnist_train_val.prototxt"] = lenet("data/mnist").file("train", "Training and test on MNIST.")
    for name, (comment, body) in SOLVERS.items():
        files[f"{name}.prototxt"] = f"# {comment}\n{body}"
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "models")
    options = parser.parse_args()
    stale = []
    for name, content in all_files().items():
        path = options.root / name
        if options.check:
            if not path.exists() or path.read_text() != content:
                stale.append(str(path))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    for path in stale:
        print(f"{path}: differs from what scripts/make_models.py writes; run it and commit the result")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""What detectors and segmentations stand on: the convolutions of nets that were published as classifiers."""

from .builder import Word

VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def vgg16(net, pools=5, pad=1):
    """Five stages of VGG-16 (Simonyan and Zisserman 2014); the last `5 - pools` of them are not pooled."""
    ends, x = [], "data"
    for stage, (outputs, depth) in enumerate(VGG16, 1):
        for i in range(1, depth + 1):
            x = net.conv_relu(f"conv{stage}_{i}", f"relu{stage}_{i}", x, net.narrow(outputs), 3,
                              pad=pad if stage == i == 1 else 1)
        ends.append(x)
        if stage <= pools:
            x = net.pool(f"pool{stage}", x, "MAX", 2, 2)
    return ends, x


def mobilenet(net):
    """MobileNet's 27 convolutions (Howard et al. 2017), strides within those of single channels. Ends of all pairs."""
    x = net.conv_bn("conv0", "data", net.narrow(32), 3, 2, 1)
    channels, ends = net.narrow(32), []
    for i, (outputs, stride) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1),
                                           (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)), 1):
        x = net.conv_bn(f"conv{i}/dw", x, channels, 3, stride, 1, channels)
        channels = net.narrow(outputs)
        x = net.conv_bn(f"conv{i}", x, channels, 1)
        ends.append(x)
    return ends


def bottleneck(net, name, x, width, outputs, stride=1, dilation=1, project=False):
    """Three convolutions beside a way around them (He et al. 2015); `project`: which has a convolution of its own."""
    around = net.conv_bn(f"{name}_branch1", x, outputs, 1, stride, act=None) if project else x
    y = net.conv_bn(f"{name}_branch2a", x, width, 1, stride)
    y = net.add(f"{name}_branch2b", "Convolution", [y], [f"{name}_branch2b"], convolution_param={
        "num_output": width, "bias_term": False, "kernel_size": 3, "pad": dilation, "dilation": dilation,
        "weight_filler": net.weight})
    y = net.in_place("ReLU", net.norm(f"{name}_branch2b/bn", f"{name}_branch2b/scale", y))
    y = net.conv_bn(f"{name}_branch2c", y, outputs, 1, act=None)
    return net.in_place("ReLU", net.sum(name, [around, y]))


def resnet50(net):
    """ResNet-50 whose last stage keeps the stride of 16 and is dilated; ends of stages 4 and 5."""
    x = net.pool("pool1", net.conv_bn("conv1", "data", net.narrow(64), 7, 2, 3), "MAX", 3, 2)
    ends = []
    for stage, depth, width, stride, dilation in ((2, 3, 64, 1, 1), (3, 4, 128, 2, 1), (4, 6, 256, 2, 1),
                                                  (5, 3, 512, 1, 2)):
        for i in range(depth):
            x = bottleneck(net, f"res{stage}{'abcdef'[i]}", x, net.narrow(width), net.narrow(4 * width),
                           stride if i == 0 else 1, dilation, i == 0)
        ends.append(x)
    return ends[2:]


def leaky(net, name, x, outputs, kernel, stride=1):
    """Convolution, BatchNorm, Scale and a ReLU with a slope below 0, as of Darknet."""
    x = net.conv_bn(name, x, net.narrow(outputs), kernel, stride, kernel // 2, act=None)
    return net.in_place("ReLU", x, relu_param={"negative_slope": 0.1})


def darknet19(net):
    """Darknet-19 without its classifier (Redmon and Farhadi 2017): what layer 13 sees finely, and the last."""
    x, fine = "data", None
    stages = (((32, 3),), ((64, 3),), ((128, 3), (64, 1), (128, 3)), ((256, 3), (128, 1), (256, 3)),
              ((512, 3), (256, 1), (512, 3), (256, 1), (512, 3)),
              ((1024, 3), (512, 1), (1024, 3), (512, 1), (1024, 3)))
    layer = 0
    for stage, convolutions in enumerate(stages, 1):
        for outputs, kernel in convolutions:
            layer += 1
            x = leaky(net, f"conv{layer}", x, outputs, kernel)
        if stage == 5:
            fine = x
        if stage < 6:
            x = net.add(f"pool{stage}", "Pooling", [x], [f"pool{stage}"],
                        pooling_param={"pool": Word("MAX"), "kernel_size": 2, "stride": 2})
    return fine, x


def darknet53(net):
    """Darknet-53 (Redmon and Farhadi 2018): 52 convolutions in residual units; ends of the strides 8, 16 and 32."""
    x, ends = leaky(net, "conv0", "data", 32, 3), []
    for stage, (units, outputs) in enumerate(((1, 64), (2, 128), (8, 256), (8, 512), (4, 1024)), 1):
        x = leaky(net, f"down{stage}", x, outputs, 3, 2)
        for i in range(units):
            y = leaky(net, f"res{stage}_{i}a", x, outputs // 2, 1)
            x = net.sum(f"res{stage}_{i}", [x, leaky(net, f"res{stage}_{i}b", y, outputs, 3)])
        ends.append(x)
    return ends[2:]

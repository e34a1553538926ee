"""Segmentations: what they know is the share of pixels that are right, those of the background among them."""

from . import trunks
from .builder import MEANS, TEST, Net, Word, constant, gaussian

PIXEL_CLASSES, SIZE, MAPS = 4, 96, 4  # of maps of labels: with the background; pixels a side; of a batch


def known_pixels(net, scores):
    net.add("loss", "SoftmaxWithLoss", [scores, "label"], ["loss"], loss_param={"ignore_label": 255})
    net.add("accuracy", "Accuracy", [scores, "label"], ["accuracy"], include=TEST,
            accuracy_param={"ignore_label": 255})
    return net


def interpolated(net, name, x, kernel, stride, learns=True):
    """Interpolation by a deconvolution; one that learns begins as such, too."""
    p = {"num_output": PIXEL_CLASSES, "kernel_size": kernel, "stride": stride, "bias_term": False,
         "group": PIXEL_CLASSES, "weight_filler": {"type": "bilinear"}}
    return net.add(name, "Deconvolution", [x], [name], param=[{"lr_mult": 1 if learns else 0}], convolution_param=p)


def fcn8s():
    net = Net("FCN_8s", "FCN-8s on VGG-16 (Long et al. 2015, shelhamer/fcn.berkeleyvision.org): padding of 100, Crop",
              SIZE, 16)
    for top, source in (("data", "pixels"), ("label", "labels")):
        net.add(top, "Data", [], [top], **({"transform_param": MEANS} if top == "data" else {}),
                data_param={"source": f"scenes/{source}_lmdb", "batch_size": MAPS, "backend": Word("LMDB")})
    pools, x = [], "data"
    for stage, (outputs, depth) in enumerate(trunks.VGG16, 1):
        for i in range(1, depth + 1):
            x = net.conv_relu(f"conv{stage}_{i}", f"relu{stage}_{i}", x, net.narrow(outputs), 3,
                              pad=100 if stage == i == 1 else 1)
        x = net.pool(f"pool{stage}", x, "MAX", 2, 2)
        pools.append(x)
    x = net.conv_relu("fc6", "relu6", x, net.narrow(4096), 7)
    x = net.conv("score_fr", net.conv_relu("fc7", "relu7", x, net.narrow(4096), 1), PIXEL_CLASSES, 1)
    for name, below, offset in (("pool4", pools[3], 5), ("pool3", pools[2], 9)):
        x = interpolated(net, f"upscore_{name}", x, 4, 2)
        y = net.crop(f"score_{name}c", net.conv(f"score_{name}", below, PIXEL_CLASSES, 1), x, offset)
        x = net.sum(f"fuse_{name}", [x, y])
    x = interpolated(net, "upscore8", x, 16, 8, learns=False)
    return known_pixels(net, net.crop("score", x, "data", 31))


def deeplab_v2():
    net = Net("DeepLab_v2_VGG16", "DeepLab v2 on VGG-16 (Chen et al. 2016): `hole`, four dilations, Interp",
              97, 16)
    net.add("data", "ImageSegData", [], ["data", "label", "size"], transform_param=dict(MEANS, crop_size=97),
            image_data_param={"root_folder": "", "source": "scenes/maps.txt", "batch_size": MAPS,
                              "label_type": Word("PIXEL")})
    net.layers.append(("both", {"name": "silence", "type": "Silence", "bottom": "size"}))
    x = "data"
    for stage, (outputs, depth) in enumerate(trunks.VGG16, 1):
        for i in range(1, depth + 1):
            if stage < 5:
                x = net.conv(f"conv{stage}_{i}", x, net.narrow(outputs), 3, pad=1)
            else:
                x = net.dilated(f"conv{stage}_{i}", x, net.narrow(outputs), 2, "hole")
            x = net.in_place("ReLU", x)
        x = net.pool(f"pool{stage}", x, "MAX", 3, 2 if stage < 4 else 1, 1)
    branches = []
    for i, rate in enumerate((6, 12, 18, 24), 1):
        y = net.in_place("ReLU", net.dilated(f"fc6_{i}", x, net.narrow(1024), rate, "hole"))
        y = net.conv_relu(f"fc7_{i}", f"relu7_{i}", y, net.narrow(1024), 1)
        branches.append(net.conv(f"fc8_{i}", y, PIXEL_CLASSES, 1, weight=gaussian(0.01)))
    x = net.sum("fc8", branches, operation=Word("SUM"))
    return known_pixels(net, net.one("Interp", x, "fc8_interp", interp_param={"height": 97, "width": 97}))


def segnet():
    net = Net("SegNet", "SegNet (Badrinarayanan et al. 2015, alexgkendall/caffe-segnet): 13 layers down and 13 up "
              "again, by the masks of pooling", SIZE, 8)
    net.add("data", "DenseImageData", [], ["data", "label"],
            dense_image_data_param={"source": "scenes/maps.txt", "batch_size": MAPS, "new_height": SIZE,
                                    "new_width": SIZE})
    x = net.add("norm", "LRN", ["data"], ["norm"], lrn_param={"local_size": 5, "alpha": 0.0001, "beta": 0.75})

    def conv_bn(name, x, outputs):
        x = net.conv(name, x, outputs, 3, pad=1)
        # This BN normalises by the batch in TEST, too.
        x = net.add(f"{name}_bn", "BN", [x], [x], bn_param={"scale_filler": constant(1),
                                                            "shift_filler": constant(0.001)})
        return net.in_place("ReLU", x)

    for stage, (outputs, depth) in enumerate(trunks.VGG16, 1):
        for i in range(1, depth + 1):
            x = conv_bn(f"conv{stage}_{i}", x, net.narrow(outputs))
        net.add(f"pool{stage}", "Pooling", [x], [f"pool{stage}", f"pool{stage}_mask"],
                pooling_param={"pool": Word("MAX"), "kernel_size": 2, "stride": 2})
        x = f"pool{stage}"
    for stage in range(5, 0, -1):
        outputs, depth = trunks.VGG16[stage - 1]
        x = net.add(f"upsample{stage}", "Upsample", [x, f"pool{stage}_mask"], [f"upsample{stage}"],
                    upsample_param={"scale": 2})
        for i in range(depth, 1, -1):
            x = conv_bn(f"conv{stage}_{i}_D", x, net.narrow(outputs))
        if stage > 1:
            x = conv_bn(f"conv{stage}_1_D", x, net.narrow(trunks.VGG16[stage - 2][0]))
    return known_pixels(net, net.conv("conv1_1_D", x, PIXEL_CLASSES, 3, pad=1))

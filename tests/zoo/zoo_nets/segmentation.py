"""Nets whose outputs are images: classes, edges, images of another size or style."""

from .builder import IMAGENET_MEAN, MSRA, Net, Word, constant, gaussian, label_maps, rows

CLASSES = 5


def trunk(net, widths=(8, 12, 16), pad=1, data="data"):
    """Stages of two convolutions and a pooling, as of VGG; returns the last pooled blob of each."""
    pools, x = [], data
    for stage, width in enumerate(widths, 1):
        x = net.conv_relu(f"conv{stage}_1", f"relu{stage}_1", x, width, 3, pad=pad if stage == 1 else 1)
        x = net.conv_relu(f"conv{stage}_2", f"relu{stage}_2", x, width, 3, pad=1)
        x = net.pool(f"pool{stage}", x, "MAX", 2, 2)
        pools.append(x)
    return pools


def ends(net, scores):
    """Loss of every pixel, and its classes in the deploy file."""
    net.pixel_loss(scores)
    net.add("accuracy", "Accuracy", [scores, "label"], ["accuracy"], "train", include={"phase": Word("TEST")},
            accuracy_param={"ignore_label": 255})
    net.add("prob", "Softmax", [scores], ["prob"], "deploy")
    net.add("classes", "ArgMax", ["prob"], ["classes"], "deploy", argmax_param={"axis": 1})
    return net


def fcn32s():
    net = Net("FCN_32s", "FCN-32s (Long et al. 2015): wide padding, one deconvolution, Crop", weight=MSRA)
    label_maps(net)
    x = trunk(net, pad=20)[-1]
    x = net.dropout("drop6", net.conv_relu("fc6", "relu6", x, 32, 3), 0.5)
    x = net.dropout("drop7", net.conv_relu("fc7", "relu7", x, 32, 1), 0.5)
    x = net.deconv("upscore", net.conv("score_fr", x, CLASSES, 1), CLASSES, 16, 8, bilinear=False)
    return ends(net, net.crop("score", x, "data", 5))


def fcn8s():
    net = Net("FCN_8s", "FCN-8s (Long et al. 2015): scores of three depths, cropped and added up", weight=MSRA)
    label_maps(net)
    pools = trunk(net, pad=20)
    x = net.dropout("drop6", net.conv_relu("fc6", "relu6", pools[2], 32, 3), 0.5)
    x = net.deconv("upscore2", net.conv("score_fr", x, CLASSES, 1), CLASSES, 4, 2)
    y = net.crop("score_pool2c", net.conv("score_pool2", pools[1], CLASSES, 1), x, 1)
    x = net.deconv("upscore_pool2", net.sum("fuse_pool2", [x, y]), CLASSES, 4, 2)
    y = net.crop("score_pool1c", net.conv("score_pool1", pools[0], CLASSES, 1), x, 1)
    x = net.deconv("upscore8", net.sum("fuse_pool1", [x, y]), CLASSES, 4, 2)
    return ends(net, net.crop("score", x, "data", 19))


def deeplab_largefov():
    net = Net("DeepLab_LargeFOV", "DeepLab-LargeFOV (Chen et al. 2014): `hole`, labels shrunk by Interp", weight=MSRA)
    label_maps(net, "voc49", 49)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1), "MAX", 3, 2, 1)
    x = net.pool("pool2", net.conv_relu("conv2", "relu2", x, 12, 3, pad=1), "MAX", 3, 1, 1)
    x = net.in_place("ReLU", net.dilated("conv3", x, 16, 2, "hole"))
    x = net.pool("pool3a", net.pool("pool3", x, "MAX", 3, 1, 1), "AVE", 3, 1, 1)
    x = net.dropout("drop6", net.in_place("ReLU", net.dilated("fc6", x, 32, 4, "hole")), 0.5)
    x = net.conv("fc8", x, CLASSES, 1, weight=gaussian(0.01))
    net.add("label_shrink", "Interp", ["label"], ["label_shrink"], "train",
            interp_param={"shrink_factor": 2, "pad_beg": 0, "pad_end": 0})
    net.pixel_loss(x, "label_shrink")
    net.add("fc8_interp", "Interp", [x], ["fc8_interp"], "deploy", interp_param={"zoom_factor": 2})
    return net


def deeplab_v2():
    net = Net("DeepLab_v2", "DeepLab v2 (Chen et al. 2016): ASPP, four dilations added up, Interp back to the image",
              weight=MSRA)
    label_maps(net)
    x = trunk(net, (8, 16))[-1]
    branches = [net.dilated(f"fc8_r{rate}", x, CLASSES, rate) for rate in (1, 2, 3, 4)]
    x = net.sum("fc8", branches, operation=Word("SUM"))
    return ends(net, net.one("Interp", x, "fc8_interp", interp_param={"height": 48, "width": 48}))


def pspnet():
    net = Net("PSPNet", "PSPNet (Zhao et al. 2017): BN with slope and bias, a pyramid of means, Interp", weight=MSRA)
    label_maps(net)

    def conv_bn(name, x, outputs, kernel, stride=1, pad=0):
        x = net.conv(name, x, outputs, kernel, stride, pad, bias=False)
        x = net.add(f"{name}/bn", "BN", [x], [x], bn_param={
            "slope_filler": constant(1), "bias_filler": constant(), "frozen": False, "momentum": 0.95})
        return net.in_place("ReLU", x)

    x = conv_bn("conv2", conv_bn("conv1", "data", 8, 3, 2, 1), 12, 3, 2, 1)
    levels = [x]
    for bins in (1, 2, 3):
        y = net.pool(f"conv3_pool{bins}", x, "AVE", 12 // bins, 12 // bins)
        y = conv_bn(f"conv3_pool{bins}_conv", y, 4, 1)
        levels.append(net.one("Interp", y, f"conv3_pool{bins}_interp", interp_param={"height": 12, "width": 12}))
    x = conv_bn("conv4", net.concat("conv3_concat", levels), 12, 3, pad=1)
    x = net.conv("conv6", net.dropout("drop4", x, 0.1), CLASSES, 1)
    return ends(net, net.one("Interp", x, "conv6_interp", interp_param={"height": 48, "width": 48}))


def segnet():
    net = Net("SegNet", "SegNet (Badrinarayanan et al. 2015): BN with shift, pooled places put back by Upsample",
              weight=MSRA)
    label_maps(net)
    return encoded_and_decoded(net)


def dense_images(net, **fields):
    """Images and maps of labels from the files of a list, as of SegNet."""
    net.shape = (1, 3, 48, 48)
    net.add("data", "DenseImageData", [], ["data", "label"], "train",
            dense_image_data_param=dict({"source": "examples/maps/labels.txt", "batch_size": 2, "shuffle": True},
                                        **fields))


def segnet_images():
    net = Net("SegNet_images", "SegNet as it is trained: DenseImageData reads images and maps of labels from files",
              weight=MSRA)
    dense_images(net)
    return encoded_and_decoded(net)


def bayesian_segnet():
    net = Net("Bayesian_SegNet", "Bayesian SegNet (Kendall et al. 2015): Dropout that draws in TEST, too", weight=MSRA)
    dense_images(net, new_height=24, new_width=32)
    x = net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1)
    net.add("pool1", "Pooling", [x], ["pool1", "pool1_mask"],
            pooling_param={"pool": Word("MAX"), "kernel_size": 2, "stride": 2})
    x = net.add("encdrop1", "Dropout", ["pool1"], ["pool1"],
                dropout_param={"dropout_ratio": 0.5, "sample_weights_test": True})
    x = net.add("upsample1", "Upsample", [x, "pool1_mask"], ["upsample1"], upsample_param={"scale": 2})
    return ends(net, net.conv("conv1_D", x, CLASSES, 3, pad=1))


def encoded_and_decoded(net):
    """SegNet's layers."""

    def conv_bn(name, x, outputs):
        x = net.conv(name, x, outputs, 3, pad=1)
        x = net.add(f"{name}_bn", "BN", [x], [x], bn_param={"scale_filler": constant(1),
                                                            "shift_filler": constant(0.001)})
        return net.in_place("ReLU", x)

    x = "data"
    for i, outputs in enumerate((8, 12), 1):
        x = conv_bn(f"conv{i}", x, outputs)
        net.add(f"pool{i}", "Pooling", [x], [f"pool{i}", f"pool{i}_mask"],
                pooling_param={"pool": Word("MAX"), "kernel_size": 2, "stride": 2})
        x = f"pool{i}"
    for i, outputs in ((2, 8), (1, CLASSES)):
        x = net.add(f"upsample{i}", "Upsample", [x, f"pool{i}_mask"], [f"upsample{i}"], upsample_param={"scale": 2})
        x = conv_bn(f"conv{i}_D", x, outputs) if i == 2 else net.conv("conv1_D", x, outputs, 3, pad=1)
    return ends(net, x)


def enet():
    net = Net("ENet",
              "ENet (Paszke et al. 2016): PReLU, SpatialDropout, narrow and dilated windows, Upsample by a mask",
              weight=MSRA)
    label_maps(net)
    x = net.concat("initial", [net.conv("initial_conv", "data", 5, 3, 2, 1), net.pool("initial_pool", "data", "MAX", 2,
                                                                                      2)])
    x = net.in_place("PReLU", net.norm("initial_bn", "initial_scale", x))
    net.add("pool1", "Pooling", [x], ["pool1", "pool1_mask"],
            pooling_param={"pool": Word("MAX"), "kernel_size": 2, "stride": 2})
    x = "pool1"
    for i, dilation in enumerate((1, 2)):
        y = net.in_place("PReLU", net.norm(f"b{i}_bn1", f"b{i}_scale1", net.conv(f"b{i}_reduce", x, 4, 1, bias=False)))
        y = net.in_place("PReLU", net.dilated(f"b{i}_conv", y, 4, dilation))
        y = net.conv(f"b{i}_narrow", y, 4, (1, 5), bias=False)
        y = net.norm(f"b{i}_bn2", f"b{i}_scale2", net.conv(f"b{i}_expand", y, 8, 1, bias=False))
        y = net.in_place("SpatialDropout", y, dropout_param={"dropout_ratio": 0.1})
        x = net.in_place("PReLU", net.sum(f"b{i}", [x, y]))
    x = net.add("upsample1", "Upsample", [x, "pool1_mask"], ["upsample1"], upsample_param={"scale": 2})
    return ends(net, net.deconv("deconv", x, CLASSES, 2, 2))


def hed():
    net = Net("HED", "HED (Xie and Tu 2015): a loss for each side output, and for their fusion", weight=MSRA)
    net.shape = (1, 3, 40, 40)
    rows(net, ["data", "label"], "examples/edges/train.txt", 1)
    sides = []
    for i, x in enumerate(trunk(net, pad=5), 1):
        x = net.deconv(f"upsample_{i}", net.conv(f"score_{i}", x, 1, 1), 1, 2 ** (i + 1), 2**i, bilinear=True)
        sides.append(net.crop(f"upscore_{i}", x, "data", 1))
        net.add(f"loss_{i}", "SigmoidCrossEntropyLoss", [sides[-1], "label"], [f"loss_{i}"], "train", loss_weight=1)
    x = net.conv("upscore_fuse", net.concat("concat", sides), 1, 1, weight=constant(0.333))
    net.add("loss_fuse", "SigmoidCrossEntropyLoss", [x, "label"], ["loss_fuse"], "train", loss_weight=1)
    net.add("sigmoid_fuse", "Sigmoid", [x], ["sigmoid_fuse"], "deploy")
    return net


def rcf():
    net = Net("RCF", "RCF (Liu et al. 2017): all convolutions of a stage are used; AutoCrop finds where they lie",
              weight=MSRA)
    net.shape = (1, 3, 40, 40)
    rows(net, ["data", "label"], "examples/edges/train.txt", 1)
    sides, x = [], "data"
    for stage in (1, 2):
        x = net.conv_relu(f"conv{stage}_1", f"relu{stage}_1", x, 8, 3, pad=5 if stage == 1 else 1)
        y = net.conv_relu(f"conv{stage}_2", f"relu{stage}_2", x, 8, 3, pad=1)
        a, b = net.conv(f"conv{stage}_1_down", x, 4, 1), net.conv(f"conv{stage}_2_down", y, 4, 1)
        s = net.conv(f"score{stage}", net.sum(f"eltwise{stage}", [a, b]), 1, 1)
        if stage == 2:
            s = net.deconv("upsample2", s, 1, 4, 2, bilinear=True)
        sides.append(net.add(f"crop{stage}", "AutoCrop", [s, "data"], [f"crop{stage}"]))
        net.add(f"loss{stage}", "SigmoidCrossEntropyLoss", [sides[-1], "label"], [f"loss{stage}"], "train")
        x = net.pool(f"pool{stage}", y, "MAX", 2, 2)
    x = net.conv("new-score-fusion", net.concat("concat", sides), 1, 1, weight=constant(0.2))
    net.add("loss_fuse", "SigmoidCrossEntropyLoss", [x, "label"], ["loss_fuse"], "train")
    net.add("sigmoid-fuse", "Sigmoid", [x], ["sigmoid-fuse"], "deploy")
    return net


def unet():
    net = Net("U_Net", "U-Net (Ronneberger et al. 2015): no padding, Crop and Concat beside each other", weight=MSRA)
    label_maps(net)
    sides, x = [], "data"
    for i, outputs in enumerate((8, 12)):
        x = net.conv_relu(f"conv_d{i}b", f"relu_d{i}b",
                          net.conv_relu(f"conv_d{i}a", f"relu_d{i}a", x, outputs, 3, pad=1), outputs, 3)
        sides.append(x)
        x = net.pool(f"pool_d{i}", x, "MAX", 2, 2)
    x = net.dropout("dropout", net.conv_relu("conv_d2", "relu_d2", x, 16, 3), 0.5)
    for i in (1, 0):
        x = net.relu(f"relu_u{i}", net.deconv(f"upconv_u{i}", x, (8, 12)[i], 2, 2))
        x = net.concat(f"concat_u{i}", [x, net.crop(f"crop_u{i}", sides[i], x, 2)])
        x = net.conv_relu(f"conv_u{i}", f"relu_u{i}b", x, (8, 12)[i], 3, pad=1)
    x = net.conv("score", x, CLASSES, 1)
    net.add("label_crop", "Crop", ["label", x], ["label_crop"], "train", crop_param={"axis": 2, "offset": 6})
    net.pixel_loss(x, "label_crop")
    net.add("prob", "Softmax", [x], ["prob"], "deploy")
    return net


def unet_merge_crop(operation="STACK"):
    net = Net(f"U_Net_{operation.lower()}", f"A U-shaped net as of naibaf7's Caffe: MergeCrop, {operation}",
              weight=MSRA)
    label_maps(net)
    x = net.conv_relu("conv1b", "relu1b", net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1), 8, 3)
    y = net.conv_relu("conv2", "relu2", net.pool("pool1", x, "MAX", 2, 2), 8, 3)
    y = net.relu("relu_up", net.deconv("upconv", y, 8, 2, 2))
    x = net.add("mergecrop", "MergeCrop", [y, x], ["mergecrop"],
                mergecrop_param={"operation": Word(operation), "backward": [True, True]})
    x = net.conv("score", net.conv_relu("conv3", "relu3", x, 8, 3, pad=1), CLASSES, 1)
    net.add("label_crop", "Crop", ["label", x], ["label_crop"], "train", crop_param={"axis": 2, "offset": 3})
    net.pixel_loss(x, "label_crop")
    return net


def unet_add():
    return unet_merge_crop("ADD")


def parsenet():
    net = Net("ParseNet", "ParseNet (Liu et al. 2015): the image as a whole, normalised, behind each pixel",
              weight=MSRA)
    label_maps(net)
    x = trunk(net, (8, 12))[-1]
    y = net.one("Normalize", net.pool("pool6", x, "AVE"), "pool6_norm", norm_param={
        "across_spatial": False, "scale_filler": constant(10), "channel_shared": False})
    y = net.one("Upsample", y, "unpool6", upsample_param={"scale": 12})
    x = net.one("Normalize", x, "pool2_norm", norm_param={"across_spatial": False, "channel_shared": False})
    x = net.conv("score", net.concat("fusion", [x, y]), CLASSES, 1)
    return ends(net, net.deconv("upscore", x, CLASSES, 8, 4, 2, group=1))


def context():
    net = Net("Dilated_context", "Multi-scale context by dilated convolutions (Yu and Koltun 2015)", weight=MSRA)
    label_maps(net)
    x = net.conv("score", trunk(net, (8, 12))[-1], CLASSES, 1)
    for i, dilation in enumerate((1, 2, 4), 1):
        x = net.in_place("ReLU", net.dilated(f"ctx_conv{i}", x, CLASSES, dilation))
    x = net.conv("ctx_final", x, CLASSES, 1)
    return ends(net, net.deconv("upscore", x, CLASSES, 8, 4, 2, CLASSES, bilinear=True))


def pyramid():
    net = Net("FPN", "A feature pyramid (Lin et al. 2016), as converters write it: resized by nearest pixels",
              weight=MSRA)
    label_maps(net)
    pools = trunk(net, (8, 12, 16))
    x = net.conv("lateral3", pools[2], 8, 1)
    for i in (2, 1):
        x = net.one("ResizeNearestNeighbor", x, f"up{i}", resize_nearest_neighbor_param={
            "output_height": 48 >> i, "output_width": 48 >> i, "data_format": "NCHW"} if i == 2 else {
                "scale_height": 2.0, "scale_width": 2.0, "data_format": "NCHW"})
        x = net.conv(f"smooth{i}", net.sum(f"merge{i}", [net.conv(f"lateral{i}", pools[i - 1], 8, 1), x]), 8, 3, pad=1)
    x = net.conv("score", x, CLASSES, 1)
    return ends(net, net.one("ResizeBilinear", x, "resized", resize_bilinear_param={
        "output_height": 48, "output_width": 48, "data_format": "NCHW", "half_pixel_centers": True}))


def refinement():
    net = Net("Refinement", "Coarse scores resized with aligned corners and refined, as of converters", weight=MSRA)
    label_maps(net)
    x = trunk(net, (8, 12))[-1]
    x = net.one("ResizeBilinear", net.conv("coarse", x, CLASSES, 1), "up", resize_bilinear_param={
        "scale_height": 2.0, "scale_width": 2.0, "align_corners": True, "data_format": "NCHW"})
    x = net.one("ResizeNearestNeighbor", net.conv("refine", x, CLASSES, 3, pad=1), "up2",
                resize_nearest_neighbor_param={"scale_height": 2.0, "scale_width": 2.0, "data_format": "NCHW"})
    return ends(net, x)


def srcnn():
    net = Net("SRCNN", "SRCNN (Dong et al. 2014): a regression of images", (1, 1, 33, 33), weight=gaussian(0.001))
    rows(net, ["data", "label"], "examples/srcnn/train.txt", 4)
    x = net.conv_relu("conv1", "relu1", "data", 16, 9)
    x = net.conv_relu("conv2", "relu2", x, 8, 1)
    x = net.conv("conv3", x, 1, 5)
    net.add("loss", "EuclideanLoss", [x, "label"], ["loss"], "train")
    return net


def style():
    net = Net("Style_transfer", "Style transfer (Johnson et al. 2016): MVN as instance normalisation, Pad, TanH",
              (1, 3, 32, 32), weight=MSRA)
    rows(net, ["data", "target"], "examples/style/train.txt", 1)
    x = net.one("Pad", "data", "pad", pad_param={"paddings": [0, 0, 0, 0, 4, 4, 4, 4]})
    x = net.one("MVN", net.conv("conv1", x, 8, 3, 2, 1), "conv1_norm")
    x = net.in_place("ReLU", net.add("conv1_scale", "Scale", [x], [x], scale_param={"bias_term": True}))
    y = net.one("MVN", net.conv("res1", x, 8, 3, pad=1), "res1_norm")
    x = net.deconv("up", net.sum("res1_sum", [x, y]), 8, 4, 2, 1)
    x = net.one("Padding", x, "cut", padding_param={"pad_beg": -4, "pad_end": -4})
    x = net.one("Power", net.in_place("TanH", net.conv("conv3", x, 3, 3, pad=1)), "out", power_param={"scale": 150.0})
    net.add("loss", "L1Loss", [x, "target"], ["loss"], "train", loss_weight=0.01)
    return net


def deblur():
    net = Net("Deblur", "A net between padded borders, trained by L1: Padding and Pad of one and more pixels",
              (1, 3, 32, 32), weight=MSRA)
    rows(net, ["data", "target"], "examples/style/train.txt", 1)
    x = net.one("Padding", "data", "border", padding_param={"pad_beg": 2, "pad_end": 2})
    x = net.in_place("ELU", net.conv("conv1", x, 8, 5))
    x = net.one("Pad", x, "border2", pad_param={"paddings": [0, 0, 0, 0, 1, 1, 1, 1], "constant_values": 0.5})
    x = net.sum("out", ["data", net.conv("conv2", x, 3, 3)])
    net.add("loss", "L1Loss", [x, "target"], ["loss"], "train")
    return net


def listed_images(net, kind, transform, tops=("data", "label"), listed="labels", **fields):
    """Images and maps from the files of a list whose paths begin below `root_folder`, as of DeepLab and HED."""
    net.shape = (1, 3, 48, 48)
    net.add("data", kind, [], list(tops), "train", transform_param=transform, image_data_param=dict({
        "root_folder": "examples", "source": f"examples/maps/{listed}_in_root.txt", "batch_size": 2, "shuffle": True},
                                                                                                   **fields))


def deeplab_images():
    net = Net("DeepLab_images", "DeepLab as it is trained (Chen et al. 2014): ImageSegData, SegAccuracy", weight=MSRA)
    listed_images(net, "ImageSegData", {"mirror": True, "crop_size": 41, "mean_value": IMAGENET_MEAN},
                  ("data", "label", "data_dim"), label_type=Word("PIXEL"))
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "data_dim"}))
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1), "MAX", 3, 2, 1)
    x = net.pool("pool2", net.conv_relu("conv2", "relu2", x, 12, 3, pad=1), "MAX", 3, 2, 1)
    x = net.in_place("ReLU", net.dilated("fc6", x, 24, 4, "hole"))
    x = net.conv("fc8", net.dropout("drop6", x, 0.5), CLASSES, 1, weight=gaussian(0.01))
    net.add("label_shrink", "Interp", ["label"], ["label_shrink"], "train",
            interp_param={"shrink_factor": 4, "pad_beg": 0, "pad_end": 0})
    net.pixel_loss(x, "label_shrink")
    net.add("accuracy", "SegAccuracy", [x, "label_shrink"], ["accuracy"], "train",
            seg_accuracy_param={"ignore_label": 255})
    return net


def pspnet_images():
    net = Net("PSPNet_images", "PSPNet as it is trained (Zhao et al. 2017): ImageSegData scales and crops images",
              weight=MSRA)
    listed_images(net, "ImageSegData", {
        "mirror": True, "crop_height": 40, "crop_width": 40, "scale_factors": [0.75, 1, 1.5],
        "mean_value": IMAGENET_MEAN}, label_type=Word("PIXEL"))
    x = trunk(net, (8, 12))[-1]
    levels = [x, net.one("Interp", net.pool("pool1x1", x, "AVE"), "pool1x1_interp",
                         interp_param={"height": 10, "width": 10})]
    x = net.one("Interp", net.conv("conv6", net.concat("concat", levels), CLASSES, 1), "conv6_interp",
                interp_param={"height": 40, "width": 40})
    net.pixel_loss(x)
    net.add("accuracy", "SegAccuracy", [x, "label"], ["accuracy"], "train", include={"phase": Word("TEST")},
            seg_accuracy_param={"ignore_label": 255})
    return net


def hed_images():
    net = Net("HED_images", "HED as it is trained (Xie and Tu 2015): ImageLabelmapData, edges from grey images",
              weight=MSRA)
    listed_images(net, "ImageLabelmapData", {"mirror": False, "scale": 0.00390625, "mean_value": IMAGENET_MEAN},
                  listed="edges", batch_size=1)
    sides = []
    for i, x in enumerate(trunk(net, (8, 12), pad=5), 1):
        x = net.deconv(f"upsample_{i}", net.conv(f"score_{i}", x, 1, 1), 1, 2 ** (i + 1), 2**i, bilinear=True)
        sides.append(net.crop(f"upscore_{i}", x, "data", 1))
        net.add(f"loss_{i}", "SigmoidCrossEntropyLoss", [sides[-1], "label"], [f"loss_{i}"], "train", loss_weight=1)
    x = net.conv("upscore_fuse", net.concat("concat", sides), 1, 1, weight=constant(0.5))
    net.add("loss_fuse", "SigmoidCrossEntropyLoss", [x, "label"], ["loss_fuse"], "train", loss_weight=1)
    return net


def skeletons():
    net = Net("Skeletons", "Skeletons of things (Shen et al. 2016), in one map, from images of one size", weight=MSRA)
    listed_images(net, "ImageLabelmapData", {"mirror": True, "scale": 0.00390625}, listed="edges", new_height=32,
                  new_width=32)
    x = net.conv_relu("conv2", "relu2", net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1), 8, 3, pad=1)
    net.add("loss", "SigmoidCrossEntropyLoss", [net.conv("score", x, 1, 1), "label"], ["loss"], "train")
    return net


NETS = [fcn32s, fcn8s, deeplab_largefov, deeplab_v2, pspnet, segnet, enet, hed, rcf, unet, unet_merge_crop, unet_add,
        parsenet, context, pyramid, refinement, srcnn, style, deblur, segnet_images, bayesian_segnet, deeplab_images,
        pspnet_images, hed_images, skeletons]
DEPLOYED = [fcn8s, deeplab_largefov, pspnet, segnet, hed]

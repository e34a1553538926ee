"""Nets for faces and for what compares images."""

from .builder import CIFAR, FROZEN, MNIST, MSRA, Net, Word, constant, gaussian, image_data, rows

PEOPLE = 10


def siamese():
    net = Net("mnist_siamese",
              "Caffe's siamese example: pairs as two channels, parted by Slice; weights shared by name",
              (1, 1, 28, 28))
    net.data("TRAIN", "examples/siamese/train_lmdb", 4, {"scale": 0.00390625})
    net.layers[-1][1]["top"] = ["pair_data", "sim"]
    net.add("slice_pair", "Slice", ["pair_data"], ["data", "data_p"], "train", slice_param={"slice_dim": 1,
                                                                                            "slice_point": 1})
    features = []
    for suffix in ("", "_p"):
        where = "both" if not suffix else "train"
        first = len(net.layers)

        def shared(name):
            return [{"name": f"{name}_w", "lr_mult": 1}, {"name": f"{name}_b", "lr_mult": 2}]

        x = net.pool(f"pool1{suffix}", net.conv(f"conv1{suffix}", f"data{suffix}", 6, 5, params=shared("conv1")),
                     "MAX", 2, 2)
        x = net.pool(f"pool2{suffix}", net.conv(f"conv2{suffix}", x, 12, 5, params=shared("conv2")), "MAX", 2, 2)
        x = net.relu(f"relu1{suffix}", net.fc(f"ip1{suffix}", x, 32, params=shared("ip1")))
        features.append(net.fc(f"feat{suffix}", x, 2, params=shared("feat")))
        if where == "train":
            net.train_only(first)
    net.add("loss", "ContrastiveLoss", [*features, "sim"], ["loss"], "train", contrastive_loss_param={"margin": 1})
    return net


def deepid2():
    net = Net("DeepID2", "DeepID2 (Sun et al. 2014): people told apart and pairs compared at once; the older contrast",
              (2, 3, 32, 32))
    image_data(net, 32, batch=4)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 4), "MAX", 2, 2)
    x = net.fc("deepid", net.conv_relu("conv2", "relu2", x, 12, 3), 16)
    net.add("halves", "Slice", [x], ["deepid_a", "deepid_b"], "train", slice_param={"axis": 0})
    net.add("pairs", "DummyData", [], ["same"], "train", dummy_data_param={
        "num": 2, "channels": 1, "height": 1, "width": 1, "data_filler": constant(1)})
    net.add("verification", "ContrastiveLoss", ["deepid_a", "deepid_b", "same"], ["verification"], "train",
            loss_weight=0.05, contrastive_loss_param={"margin": 2, "legacy_version": True})
    net.head(net.fc("people", x, PEOPLE), top5=False)
    return net


def sphereface():
    net = Net("SphereFace_20", "SphereFace's residual net (Liu et al. 2017): PReLU, no BatchNorm", (1, 3, 32, 32))
    image_data(net, 32, means=None, scale=0.0078125)
    x = net.in_place("PReLU", net.conv("conv1_1", "data", 8, 3, 2, 1))
    y = net.in_place("PReLU", net.conv("conv1_2", x, 8, 3, pad=1, weight=gaussian(0.01)))
    y = net.in_place("PReLU", net.conv("conv1_3", y, 8, 3, pad=1, weight=gaussian(0.01)))
    x = net.fc("fc5", net.sum("res1_3", [x, y]), 16)
    net.head(net.fc("fc6", x, PEOPLE), top5=False)
    return net


def light_cnn():
    net = Net("LightCNN", "LightCNN (Wu et al. 2015): of two halves of the channels the larger value", (1, 3, 32, 32))
    image_data(net, 32)

    def mfm(name, x, outputs, kernel):
        x = net.conv(name, x, 2 * outputs, kernel, pad=kernel // 2)
        net.add(f"slice_{name}", "Slice", [x], [f"{name}_a", f"{name}_b"], slice_param={"slice_dim": 1})
        return net.sum(f"eltwise_{name}", [f"{name}_a", f"{name}_b"], operation=Word("MAX"))

    x = net.pool("pool1", mfm("conv1", "data", 6, 5), "MAX", 2, 2)
    x = net.pool("pool2", mfm("conv2", mfm("conv2a", x, 6, 1), 8, 3), "MAX", 2, 2)
    net.head(net.fc("fc2", net.dropout("drop1", net.fc("fc1", x, 16), 0.7), PEOPLE), top5=False)
    return net


def normface():
    net = Net("NormFace", "NormFace (Wang et al. 2017): vectors of length 1, times a scale, before the classifier")
    image_data(net, 32)
    x = net.pool("pool1", net.in_place("PReLU", net.conv("conv1", "data", 8, 5, 2)), "MAX", 2, 2)
    x = net.one("L2Norm", net.fc("fc5", x, 16), "norm")
    x = net.add("scaled", "Scale", [x], ["scaled"], scale_param={"axis": 0, "num_axes": 0, "filler": constant(8)})
    net.head(net.fc("fc6", x, PEOPLE), top5=False)
    return net


def cosine_maps():
    net = Net("Cosine_maps", "Channels of each pixel divided by their length: Reduction, Power and ChannelScale")
    image_data(net, 32)
    x = net.in_place("PReLU", net.conv("conv1", "data", 8, 5, 2))
    squares = net.one("Reduction", net.permute("channels_last", x, (0, 2, 3, 1)), "squares",
                      reduction_param={"operation": Word("SUMSQ"), "axis": 3})
    inverse = net.one("Power", net.reshape("map", squares, [0, 1, 14, 14]), "inverse",
                      power_param={"power": -0.5, "shift": 0.01})
    x = net.add("unit", "ChannelScale", [x, inverse], ["unit"])
    net.head(net.fc("fc", net.pool("pool", x, "AVE"), PEOPLE), top5=False)
    return net


def attention_map():
    net = Net("Attention_map", "One weight for each pixel, learned, by ChannelScale; unit vectors by L2Norm")
    image_data(net, 32)
    x = net.conv_bn("conv1", "data", 8, 5, 2)
    weights = net.in_place("Sigmoid", net.conv("attention", x, 1, 1))
    x = net.add("attended", "ChannelScale", [x, weights], ["attended"])
    x = net.one("L2Norm", net.fc("fc5", x, 16), "norm")
    net.head(net.fc("fc6", x, PEOPLE), top5=False)
    return net


def mtcnn(net, kernel):
    """What the three nets of MTCNN begin with."""
    x = net.in_place("PReLU", net.conv("conv1", "data", 8, 3))
    return net.in_place("PReLU", net.conv("conv2", net.pool("pool1", x, "MAX", kernel, 2), 12, 3))


def mtcnn_pnet():
    net = Net("MTCNN_PNet", "MTCNN's first net (Zhang et al. 2016): fully convolutional, faces and boxes", (1, 3, 48,
                                                                                                            40))
    x = mtcnn(net, 2)
    net.conv("conv4-2", x, 4, 1)
    net.add("prob1", "Softmax", [net.conv("conv4-1", x, 2, 1)], ["prob1"])
    return net


def mtcnn_onet():
    net = Net("MTCNN_ONet", "MTCNN's last net: faces, boxes and five points at once", (1, 3, 48, 48))
    rows(net, ["data", "label", "roi", "pts"], "examples/mtcnn/train.txt", 4)
    x = net.dropout("drop5", net.in_place("PReLU", net.fc("conv5", net.pool("pool2", mtcnn(net, 3), "MAX", 3, 2), 32)),
                    0.25)
    scores = net.fc("conv6-1", x, 2)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"], ["loss"], "train", loss_param={"ignore_label": -1})
    for name, outputs in (("roi", 4), ("pts", 10)):
        net.add(f"loss_{name}", "EuclideanLoss", [net.fc(f"conv6-{name}", x, outputs), name], [f"loss_{name}"], "train",
                loss_weight=0.5)
    net.add("prob1", "Softmax", [scores], ["prob1"], "deploy")
    return net


def deep_landmark():
    net = Net("deep_landmark_F",
              "deep-landmark (Sun et al. 2013): points of faces; a program gives images by MemoryData",
              (1, 1, 39, 39))
    net.add("mem", "MemoryData", [], ["data", "unused"], "train",
            memory_data_param={"batch_size": 4, "channels": 1, "height": 39, "width": 39})
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "unused"}))
    x = net.pool("pool1", net.in_place("TanH", net.conv("conv1", "data", 8, 4)), "MAX", 2, 2)
    x = net.pool("pool2", net.in_place("TanH", net.conv("conv2", net.one("AbsVal", x, "abs1"), 8, 3)), "MAX", 2, 2)
    net.fc("ip2", net.in_place("TanH", net.fc("ip1", x, 32)), 10)
    return net


def memory_classifier():
    net = Net("memory_classifier", "A classifier whose images and labels a program gives by MemoryData", (1, 3, 24, 24))
    net.add("mem", "MemoryData", [], ["data", "label"], "train",
            memory_data_param={"batch_size": 4, "channels": 3, "height": 24, "width": 24})
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 5), "MAX", 2, 2)
    net.head(net.fc("fc", x, PEOPLE), top5=False)
    return net


def attributes():
    net = Net("Attributes", "Attributes of faces: many yes-or-no labels at once, some of them unknown", (1, 3, 32, 32))
    rows(net, ["data", "attributes"], "examples/attributes/train.txt", 4)
    x = net.pool("pool1", net.conv_bn("conv1", "data", 8, 5, 2), "MAX", 2, 2)
    x = net.fc("scores", net.dropout("drop", net.fc("fc", x, 16), 0.5), 8)
    net.add("loss", "SigmoidCrossEntropyLoss", [x, "attributes"], ["loss"], "train",
            loss_param={"ignore_label": -1, "normalization": Word("VALID")})
    net.add("prob", "Sigmoid", [x], ["prob"], "deploy")
    return net


def face_trunk(net):
    """Features of faces: PReLU, a residual unit."""
    x = net.in_place("PReLU", net.conv("conv1_1", "data", 8, 3, 2, 1))
    y = net.in_place("PReLU", net.conv("conv1_2", x, 8, 3, pad=1, weight=gaussian(0.01)))
    y = net.in_place("PReLU", net.conv("conv1_3", y, 8, 3, pad=1, weight=gaussian(0.01)))
    return net.fc("fc5", net.sum("res1_3", [x, y]), 16)


def with_margin(net, kind, name, x, **fields):
    """Scores of an inner product with a margin, their loss and accuracy; of lambda nobody makes use."""
    net.add(name, kind, [x, "label"], [name, "lambda"], "train", param=[{"lr_mult": 1, "decay_mult": 1}], **fields)
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "lambda"}))
    net.accuracy("accuracy", name)
    net.loss(name, "softmax_loss", "softmax_loss")
    return net


def a_softmax(margin="QUADRUPLE"):
    net = Net(f"SphereFace_{margin.lower()}",
              f"SphereFace as it is trained (Liu et al. 2017): MarginInnerProduct, {margin}, lambda falling",
              (1, 3, 32, 32))
    image_data(net, 32, means=[127.5, 127.5, 127.5], scale=0.0078125)
    return with_margin(net, "MarginInnerProduct", "fc6", face_trunk(net), margin_inner_product_param={
        "num_output": PEOPLE, "type": Word(margin), "weight_filler": {"type": "xavier"}, "base": 1000, "gamma": 0.12,
        "power": 1, "lambda_min": 5, "iteration": 0})


def a_softmax_double():
    return a_softmax("DOUBLE")


def l_softmax_mnist():
    net = Net("L_Softmax_MNIST", "L-Softmax on digits (Liu et al. 2016): LargeMarginInnerProduct, TRIPLE",
              (1, 1, 28, 28), weight=MSRA)
    image_data(net, None, MNIST, means=None, scale=0.00390625, mirror=False)
    x = net.in_place("PReLU", net.norm("bn0", "scale0", net.conv("conv0", "data", 8, 3, pad=1, bias=False)))
    x = net.in_place("PReLU", net.conv("conv1", net.pool("pool1", x, "MAX", 2, 2), 12, 3, pad=1))
    x = net.norm("bn_fc1", "scale_fc1", net.fc("fc1", net.pool("pool2", x, "MAX", 2, 2), 32))
    return with_margin(net, "LargeMarginInnerProduct", "ip2", x, largemargin_inner_product_param={
        "num_output": PEOPLE, "type": Word("TRIPLE"), "weight_filler": MSRA, "base": 1000, "gamma": 0.000025,
        "power": 35, "lambda_min": 0})


def l_softmax_cifar10():
    net = Net("L_Softmax_CIFAR10", "L-Softmax on small images: LargeMarginInnerProduct, QUADRUPLE, at once",
              (1, 3, 32, 32))
    image_data(net, None, CIFAR)
    x = net.pool("pool1", net.in_place("PReLU", net.conv("conv1", "data", 8, 5, 2)), "MAX", 2, 2)
    return with_margin(net, "LargeMarginInnerProduct", "ip2", net.fc("ip1", x, 16), largemargin_inner_product_param={
        "num_output": PEOPLE, "type": Word("QUADRUPLE"), "weight_filler": {"type": "xavier"}, "base": 0})


def cosines(net):
    """Cosines as caffe-windows makes them: vectors of length 1, and weights whose rows are normalised."""
    x = net.one("L2Norm", face_trunk(net), "norm1")
    return net.add("fc6", "InnerProduct", [x], ["fc6"], param=[{"lr_mult": 1}], inner_product_param={
        "num_output": PEOPLE, "bias_term": False, "normalize": True, "weight_filler": gaussian(0.25)})


def scaled_loss(net, x, scale=30):
    """The cosines times a scale, their loss and accuracy."""
    x = net.add("fc6_scale", "Scale", [x], ["fc6_scale"], param=[FROZEN], scale_param={"filler": constant(scale)})
    net.accuracy("accuracy", x)
    net.loss(x, "softmax_loss", "softmax_loss")
    return net


def label_specific(name, title, layers, scale=30):
    """Such a net, with layers that change the score of the label: type, parameter, fields."""
    net = Net(name, title, (1, 3, 32, 32))
    image_data(net, 32, means=[127.5, 127.5, 127.5], scale=0.0078125)
    x = cosines(net)
    for i, (kind, parameter, fields) in enumerate(layers):
        x = net.add(f"fc6_margin{i}", kind, [x, "label"], [f"fc6_margin{i}"], "train", **{parameter: fields})
    return scaled_loss(net, x, scale)


def am_softmax():
    return label_specific(
        "AM_Softmax", "AM-Softmax (Wang et al. 2018): LabelSpecificAdd takes a margin from the cosine of the label",
        [("LabelSpecificAdd", "label_specific_add_param", {"bias": -0.35})])


def am_softmax_annealed():
    return label_specific(
        "AM_Softmax_annealed", "AM-Softmax whose margin grows with the batches, on scores of others lowered before", [
            ("LabelSpecificRescale", "label_specific_rescale_param", {"positive_weight": 0.9, "negative_weight": 1.0}),
            ("LabelSpecificAdd", "label_specific_add_param", {
                "bias_base": -0.1, "bias_gamma": 0.01, "bias_power": 1.0, "bias_min": -0.35, "bias_max": 0})])


def arc_margin():
    return label_specific(
        "Arc_margin", "A margin of the angle (Deng et al. 2018) by LabelSpecificMargin, HARD, of 20 degrees",
        [("LabelSpecificMargin", "label_specific_margin_param", {"type": Word("HARD"), "margin_base": 20.0})])


def soft_margin():
    return label_specific(
        "Soft_margin", "The angle of the label times a number that grows: LabelSpecificMargin, SOFT", [
            ("LabelSpecificMargin", "label_specific_margin_param", {
                "type": Word("SOFT"), "margin_base": 1.0, "gamma": 0.01, "power": 1.0, "margin_max": 1.35})])


def affine_margin():
    return label_specific(
        "Affine_margin", "caffe-windows before 2018: the score of the label scaled and shifted, then weighed", [
            ("LabelSpecificAffine", "label_specific_affine_param", {
                "scale_base": 1.0, "scale_gamma": 0.001, "scale_max": 1.2, "bias_base": -0.1, "bias_max": 0}),
            ("LabelSpecificRescale", "label_specific_rescale_param", {"positive_weight": 1.1, "bias_fix": True})])


def hard_margin():
    return label_specific(
        "Hard_margin", "The score of the label moved to the mean of the others: LabelSpecificHardMargin",
        [("LabelSpecificHardMargin", "label_specific_hard_margin_param", {"positive_weight": 0.7})])


def affine_hard_margin():
    return label_specific(
        "Affine_hard_margin", "LabelSpecificAffine before LabelSpecificHardMargin, weights as they are when left out", [
            ("LabelSpecificAffine", "label_specific_affine_param", {"scale_base": 1.2, "power_base": 1.0}),
            ("LabelSpecificHardMargin", "label_specific_hard_margin_param", {})], 16)


def center_face():
    net = Net("Center_face", "caffe-face (Wen et al. 2016): features pulled to the centres of their classes",
              (1, 3, 32, 32))
    image_data(net, 32, batch=4, means=[127.5, 127.5, 127.5], scale=0.0078125)
    x = face_trunk(net)
    net.add("center_loss", "CenterLoss", [x, "label"], ["center_loss"], "train", loss_weight=0.008,
            param=[{"lr_mult": 1, "decay_mult": 0}],
            center_loss_param={"num_output": PEOPLE, "center_filler": {"type": "xavier"}})
    net.head(net.fc("fc6", x, PEOPLE), top5=False)
    return net


def center_mnist():
    net = Net("Center_MNIST", "caffe-face's example on digits: features of two numbers, centres by L1", (1, 1, 28, 28))
    image_data(net, None, MNIST, batch=4, means=None, scale=0.00390625, mirror=False)
    x = net.pool("pool1", net.in_place("PReLU", net.conv("conv1", "data", 8, 5, pad=2)), "MAX", 2, 2)
    x = net.in_place("PReLU", net.fc("ip1", x, 2))
    net.add("center_loss", "CenterLoss", [x, "label"], ["center_loss"], "train", loss_weight=0.01,
            param=[{"lr_mult": 1, "decay_mult": 2}],
            center_loss_param={"num_output": PEOPLE, "center_filler": {"type": "xavier"}, "distance_type": "L1"})
    net.head(net.fc("ip2", x, PEOPLE), top5=False)
    return net


def facenet():
    net = Net("FaceNet", "FaceNet (Schroff et al. 2015): triplets as channels, one net for all three, unit vectors",
              (1, 3, 32, 32))
    thirds = ["anchor", "positive", "negative"]
    net.add("triplets", "Data", [], ["triplets"], "train", transform_param={"scale": 0.0078125},
            data_param={"source": "examples/triplets/train_lmdb", "batch_size": 4, "backend": Word("LMDB")})
    images = [f"{third}_image" for third in thirds]
    net.add("slice_triplets", "Slice", ["triplets"], images, "train", slice_param={"axis": 1, "slice_point": [3, 6]})
    net.add("data", "Concat", images, ["data"], "train", concat_param={"axis": 0})
    x = net.one("L2Norm", face_trunk(net), "norm")
    net.add("thirds", "Slice", [x], thirds, "train", slice_param={"axis": 0})
    net.add("loss", "TripletLoss", thirds, ["loss"], "train", triplet_loss_param={"margin": 0.2})
    return net


def triplet_branches():
    net = Net("Triplet_branches", "Three branches that share their weights by name, as of caffe-windows: TripletLoss",
              (1, 3, 24, 24))
    branches = ["anchor", "positive", "negative"]
    rows(net, ["triplet"], "examples/triplets/train.txt", 4)
    net.add("slice_triplet", "Slice", ["triplet"], branches, "train", slice_param={"axis": 1, "slice_point": [3, 6]})
    features = []
    for branch in branches:
        x = net.conv(f"conv1_{branch}", branch, 8, 5, 2, params=[{"name": "conv1_w"}, {"name": "conv1_b"}])
        x = net.pool(f"pool1_{branch}", net.in_place("ReLU", x), "MAX", 2, 2)
        features.append(net.fc(f"feature_{branch}", x, 8, params=[{"name": "feature_w"}, {"name": "feature_b"}]))
    net.add("loss", "TripletLoss", features, ["loss"], "train", triplet_loss_param={"margin": 1})
    return net


def focal_faces():
    net = Net("Focal_faces", "People of whom there are few images, by FocalLoss of caffe-windows", (1, 3, 32, 32))
    image_data(net, 32, batch=4)
    scores = net.fc("fc6", face_trunk(net), PEOPLE)
    net.accuracy("accuracy", scores)
    net.add("loss", "FocalLoss", [scores, "label"], ["loss"], "train",
            focal_loss_param={"type": Word("ONEADDP"), "alpha": 0.5, "gamma": 1.0, "beta": 1.0})
    return net


NETS = [siamese, deepid2, sphereface, light_cnn, normface, cosine_maps, attention_map, mtcnn_onet, deep_landmark,
        memory_classifier, attributes, a_softmax, a_softmax_double, l_softmax_mnist, l_softmax_cifar10, am_softmax,
        am_softmax_annealed, arc_margin, soft_margin, affine_margin, hard_margin, affine_hard_margin, center_face,
        center_mnist, facenet, triplet_branches, focal_faces]
DEPLOYED = [siamese, mtcnn_pnet, mtcnn_onet, deep_landmark, facenet]

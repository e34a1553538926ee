"""A captioner, a siamese net and a net of faces, each with a measure besides its loss."""

from .builder import MEANS, TEST, TRAIN, Net, Word, constant, gaussian
from .classifiers import images

STEPS, STREAMS, WORDS = 8, 8, 6  # one word is in no caption
UNIFORM = {"type": "uniform", "min": -0.08, "max": 0.08}


def captioner():
    net = Net("LRCN_captioner", "LRCN (Donahue et al. 2015): CaffeNet, two LSTM layers, of which the second sees the "
              "image", 227, 8)
    net.add("images", "ImageData", [], ["data", "number"], transform_param=MEANS, image_data_param={
        "source": "scenes/images.txt", "batch_size": STREAMS, "new_height": 227, "new_width": 227})
    net.layers.append(("both", {"name": "silence", "type": "Silence", "bottom": "number"}))
    net.add("captions", "HDF5Data", [], ["cont_sentence", "input_sentence", "target_sentence"],
            hdf5_data_param={"source": "scenes/captions.txt", "batch_size": STEPS})
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", net.narrow(96), 11, stride=4), "MAX", 3, 2)
    x = net.conv_relu("conv2", "relu2", net.lrn("norm1", x), net.narrow(256), 5, pad=2, group=2)
    x = net.lrn("norm2", net.pool("pool2", x, "MAX", 3, 2))
    for i, (outputs, group) in enumerate(((384, 1), (384, 2), (256, 2)), 3):
        x = net.conv_relu(f"conv{i}", f"relu{i}", x, net.narrow(outputs), 3, pad=1, group=group)
    x = net.pool("pool5", x, "MAX", 3, 2)
    for i in (6, 7):
        x = net.relu(f"relu{i}", net.fc(f"fc{i}", x, net.narrow(4096)))
    seen = net.fc("fc8", x, net.narrow(1000))
    x = net.add("embedding", "Embed", ["input_sentence"], ["embedded_input_sentence"], embed_param={
        "bias_term": False, "input_dim": WORDS, "num_output": net.narrow(1000), "weight_filler": UNIFORM})
    for i, statics in ((1, []), (2, [seen])):
        x = net.add(f"lstm{i}", "LSTM", [x, "cont_sentence", *statics], [f"lstm{i}"], recurrent_param={
            "num_output": net.narrow(1000), "weight_filler": UNIFORM, "bias_filler": constant()})
    x = net.add("predict", "InnerProduct", [x], ["predict"],
                inner_product_param={"num_output": WORDS, "axis": 2, "weight_filler": UNIFORM})
    net.add("cross_entropy_loss", "SoftmaxWithLoss", [x, "target_sentence"], ["cross_entropy_loss"], loss_weight=20,
            loss_param={"ignore_label": -1}, softmax_param={"axis": 2})
    net.add("accuracy", "Accuracy", [x, "target_sentence"], ["accuracy"], include=TEST,
            accuracy_param={"axis": 2, "ignore_label": -1})
    return net


def siamese():
    net = Net("mnist_siamese", "Caffe's siamese example: two LeNets of the same weights, ContrastiveLoss", 28, 1,
              weight={"type": "xavier"})
    net.add("pair_data", "Data", [], ["pair_data", "sim"], transform_param={"scale": 0.00390625},
            data_param={"source": "scenes/pairs_lmdb", "batch_size": 32, "backend": Word("LMDB")})
    net.add("slice_pair", "Slice", ["pair_data"], ["data", "data_p"], slice_param={"axis": 1, "slice_point": 1})
    features = []
    for suffix in ("", "_p"):
        def shared(name):
            return [{"name": f"{name}_w", "lr_mult": 1}, {"name": f"{name}_b", "lr_mult": 2}]

        x = net.pool(f"pool1{suffix}", net.conv(f"conv1{suffix}", f"data{suffix}", 20, 5, params=shared("conv1")),
                     "MAX", 2, 2)
        x = net.pool(f"pool2{suffix}", net.conv(f"conv2{suffix}", x, 50, 5, params=shared("conv2")), "MAX", 2, 2)
        x = net.relu(f"relu1{suffix}", net.fc(f"ip1{suffix}", x, 500, params=shared("ip1")))
        x = net.fc(f"ip2{suffix}", x, 10, params=shared("ip2"))
        features.append(net.fc(f"feat{suffix}", x, 2, params=shared("feat")))
    net.add("loss", "ContrastiveLoss", [*features, "sim"], ["loss"], contrastive_loss_param={"margin": 1})
    # Two images are alike where they lie nearer to each other than half of the margin: d^2 against 1/4.
    first = len(net.layers)
    x = net.sum("difference", features, coeff=[1, -1])
    x = net.reshape("unlike", net.one("Reduction", x, "square", reduction_param={"operation": Word("SUMSQ"),
                                                                                 "axis": 1}), [-1, 1])
    like = net.one("Power", "unlike", "like", power_param={"scale": 0.0, "shift": 0.25})
    net.add("accuracy", "Accuracy", [net.concat("decision", [x, like]), "sim"], ["accuracy"])
    net.only(first, TEST)
    return net


def sphereface20():
    net = Net("SphereFace_20", "SphereFace-20 (Liu et al. 2017, wy1iu/sphereface): 20 layers, the margin of A-Softmax "
              "quadruple", 96, 8, weight={"type": "xavier"})
    images(net, scale=0.0078125, means=[127.5, 127.5, 127.5])
    x = "data"
    for stage, (outputs, units) in enumerate(((64, 1), (128, 2), (256, 4), (512, 1)), 1):
        x = net.in_place("PReLU", net.conv(f"conv{stage}_1", x, net.narrow(outputs), 3, 2, 1))
        for i in range(units):
            y = x
            for j in (0, 1):
                name = f"conv{stage}_{2 * i + j + 2}"
                y = net.in_place("PReLU", net.conv(name, y, net.narrow(outputs), 3, pad=1, weight=gaussian(0.01)))
            x = net.sum(f"res{stage}_{2 * i + 3}", [x, y])
    x = net.fc("fc5", x, net.narrow(512))
    net.add("fc6", "MarginInnerProduct", [x, "label"], ["fc6", "lambda"], param=[{"name": "fc6_w"}],
            margin_inner_product_param={"num_output": 10, "type": Word("QUADRUPLE"),
                                        "weight_filler": {"type": "xavier"}, "base": 1000, "gamma": 0.12, "power": 1,
                                        "lambda_min": 5, "iteration": 0}, include=TRAIN)
    net.silence(["lambda"], TRAIN)
    # What is asked in the end is which person is nearest by angle: no margin.
    net.add("fc6", "MarginInnerProduct", [x, "label"], ["fc6", "lambda"], param=[{"name": "fc6_w"}],
            margin_inner_product_param={"num_output": 10, "type": Word("SINGLE"), "base": 0, "lambda_min": 0,
                                        "iteration": 0}, include=TEST)
    net.silence(["lambda"], TEST)
    net.layers[-1][1]["name"] = "silence_test"
    return net.known("fc6")

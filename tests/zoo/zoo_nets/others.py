"""What is neither classifier nor detector: codes of images and words, densities, features for other programs."""

from .builder import IMAGES, MNIST, XAVIER, Net, Word, constant, gaussian, image_data, rows

CLASSES = 10


def digits(net, batch=4):
    """Images of digits in 0..1, and their labels."""
    image_data(net, 0, MNIST, batch, None, 0.00390625, mirror=False)
    net.shape = (1, 1, 28, 28)
    return net


def autoencoder():
    net = digits(Net("MNISTAutoencoder", "Caffe's autoencoder of MNIST (Hinton and Salakhutdinov 2006), narrower"))
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "label"}))
    flat = net.flatten("flatdata", "data")
    x = flat
    for i, outputs in enumerate((32, 16, 8), 1):
        x = net.one("Sigmoid", net.fc(f"encode{i}", x, outputs, gaussian(1)), f"encode{i}neuron")
    for i, outputs in enumerate((16, 32, 784), 1):
        x = net.fc(f"decode{i}", x, outputs, gaussian(1))
        x = x if i == 3 else net.one("Sigmoid", x, f"decode{i}neuron")
    net.add("cross_entropy", "SigmoidCrossEntropyLoss", [x, flat], ["cross_entropy_loss"], "train", loss_weight=1)
    y = net.one("Sigmoid", x, "decoded")
    net.add("euclidean", "EuclideanLoss", [y, flat], ["l2_error"], "train", loss_weight=0)
    return net


def variational():
    net = digits(Net("VAE",
                     "A variational autoencoder (Kingma and Welling 2013): noise by DummyData, the divergence by Exp"))
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "label"}))
    flat = net.flatten("flatdata", "data")
    x = net.in_place("ReLU", net.fc("encode", flat, 32))
    mu, log_sd = net.fc("mu", x, 4), net.fc("log_sd", x, 4)
    net.add("noise", "DummyData", [], ["noise"], "train",
            dummy_data_param={"shape": {"dim": [4, 4]}, "data_filler": gaussian(1.0)})
    deviation = net.one("Exp", log_sd, "sd")
    noisy = net.add("noisy", "Eltwise", ["noise", deviation], ["noisy"], "train",
                    eltwise_param={"operation": Word("PROD")})
    z = net.add("sample", "Eltwise", [mu, noisy], ["sample"], "train")
    net.one("Power", deviation, "variance", power_param={"power": 2.0}, where="train")
    net.one("Power", mu, "mean_squared", power_param={"power": 2.0}, where="train")
    net.add("kl", "Eltwise", ["variance", "mean_squared", log_sd], ["kl"], "train",
            eltwise_param={"operation": Word("SUM"), "coeff": [0.5, 0.5, -1.0]})
    net.add("divergence", "Reduction", ["kl"], ["divergence"], "train", loss_weight=0.01,
            reduction_param={"axis": 1, "operation": Word("SUM")})
    x = net.fc("decode2", net.in_place("ReLU", net.fc("decode1", z, 32)), 784)
    net.add("cross_entropy", "SigmoidCrossEntropyLoss", [x, flat], ["cross_entropy_loss"], "train")
    return net


def clustering():
    net = digits(Net("DEC", "Soft clusters (Xie et al. 2015): Student's t by Exp, Log and Power, sharpened targets"))
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "label"}))
    x = net.one("Power", net.fc("distances", net.in_place("ReLU", net.fc("encode", "data", 16)), 5), "squares",
                power_param={"power": 2.0})
    x = net.one("Log", x, "log", log_param={"shift": 1.0})
    q = net.one("Softmax", net.one("Power", x, "negative", power_param={"scale": -1.0}), "q")
    entropy = net.add("entropy", "Eltwise", [q, net.one("Log", q, "log_q", log_param={"shift": 0.00001})], ["entropy"],
                      eltwise_param={"operation": Word("PROD")})
    net.add("loss", "Reduction", [entropy], ["loss"], "train", loss_weight=-1,
            reduction_param={"operation": Word("MEAN")})
    net.one("Exp", "entropy", "perplexity", exp_param={"base": 2.0, "scale": -1.0}, where="train")
    net.layers.append(("train", {"name": "silence2", "type": "Silence", "bottom": "perplexity"}))
    return net


def multinomial():
    net = digits(Net("Multinomial", "A logistic regression by Softmax and MultinomialLogisticLoss, as two layers"))
    net.add("prob", "Softmax", [net.fc("ip", "data", CLASSES)], ["prob"])
    net.accuracy("accuracy", "prob")
    net.add("loss", "MultinomialLogisticLoss", ["prob", "label"], ["loss"], "train")
    return net


def distillation():
    net = digits(Net("Ensemble", "The mean of two classifiers' probabilities, and its loss"))
    a = net.one("Softmax", net.fc("ip_a", "data", CLASSES), "prob_a")
    b = net.one("Softmax", net.fc("ip_b", net.in_place("TanH", net.fc("hidden", "data", 16)), CLASSES), "prob_b")
    net.sum("prob", [a, b], operation=Word("SUM"), coeff=[0.5, 0.5])
    net.add("loss", "MultinomialLogisticLoss", ["prob", "label"], ["loss"], "train")
    return net


def infogain():
    net = digits(Net("Infogain", "Costs that differ by pair of classes: InfogainLoss, its matrix as a third bottom"))
    net.add("H", "DummyData", [], ["H"], "train",
            dummy_data_param={"shape": {"dim": [1, 1, CLASSES, CLASSES]}, "data_filler": constant(0.1)})
    x = net.fc("ip2", net.in_place("ReLU", net.fc("ip1", "data", 16)), CLASSES)
    net.add("loss", "InfogainLoss", [x, "label", "H"], ["loss"], "train")
    return net


def recommender():
    net = Net("Recommender", "Matrix factorisation (Koren et al. 2009): products of two embeddings, and biases")
    rows(net, ["user", "item", "rating"], "examples/ratings/train.txt", 8)
    net.inputs = {"user": [8], "item": [8]}
    tops = []
    for name, count in (("user", 20), ("item", 30)):
        tops.append(net.add(f"{name}_vector", "Embed", [name], [f"{name}_vector"], embed_param={
            "input_dim": count, "num_output": 6, "bias_term": False, "weight_filler": gaussian(0.1)}))
        net.add(f"{name}_bias", "Embed", [name], [f"{name}_bias"], embed_param={
            "input_dim": count, "num_output": 1, "bias_term": False, "weight_filler": constant()})
    x = net.one("Reduction", net.sum("product", tops, operation=Word("PROD")), "dot", reduction_param={"axis": 1})
    x = net.sum("predicted", [net.reshape("dot_column", x, [-1, 1]), "user_bias", "item_bias"])
    net.add("loss", "EuclideanLoss", [x, "rating"], ["loss"], "train")
    return net


def text_cnn():
    net = Net("TextCNN", "Sentences classified by convolutions over words (Kim 2014): Embed, windows of 2 and 3 words")
    rows(net, ["words", "label"], "examples/sentences/train.txt", 4)
    net.inputs = {"words": [1, 7]}
    x = net.add("embedding", "Embed", ["words"], ["embedding"],
                embed_param={"input_dim": 20, "num_output": 8, "weight_filler": XAVIER})
    x = net.add("image", "Reshape", [x], ["image"], reshape_param={"axis": 1, "num_axes": 0, "shape": {"dim": 1}})
    tops = []
    for words in (2, 3):
        p = {"num_output": 6, "kernel_h": words, "kernel_w": 8, "weight_filler": XAVIER}
        y = net.in_place("ReLU", net.add(f"conv{words}", "Convolution", [x], [f"conv{words}"], convolution_param=p))
        tops.append(net.pool(f"pool{words}", y, "MAX"))
    net.head(net.fc("fc", net.dropout("drop", net.concat("joined", tops), 0.5), 2), top5=False)
    return net


def early_exit():
    net = digits(Net("Early_exit", "Items that a first classifier is sure of leave: Threshold and Filter"))
    x = net.in_place("ReLU", net.fc("ip1", "data", 16))
    first = net.one("Softmax", net.fc("first", x, CLASSES), "first_prob")
    sure = net.add("best", "ArgMax", [first], ["best"], "train", argmax_param={"out_max_val": True, "top_k": 1})
    net.add("parts", "Slice", [sure], ["best_class", "best_value"], "train", slice_param={"axis": 1})
    net.add("selector", "Threshold", ["best_value"], ["selector"], "train", propagate_down=[False],
            threshold_param={"threshold": 0.01})
    net.add("filter", "Filter", [x, "label", "selector"], ["hard_x", "hard_label"], "train")
    net.add("second", "InnerProduct", ["hard_x"], ["second"], "train",
            inner_product_param={"num_output": CLASSES, "weight_filler": XAVIER})
    net.add("loss", "SoftmaxWithLoss", ["second", "hard_label"], ["loss"], "train")
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "best_class"}))
    return net


def two_paths():
    net = digits(Net("Two_paths", "Items take one of two paths by a threshold on their brightness, by Filter"))
    mean = net.one("Reduction", "data", "mean", reduction_param={"operation": Word("MEAN"), "axis": 1})
    bright = net.one("Threshold", net.reshape("column", mean, [0, 1]), "bright", threshold_param={"threshold": -0.5})
    net.add("filter", "Filter", ["data", "label", bright], ["bright_data", "bright_label"], "train")
    net.add("fc", "InnerProduct", ["bright_data"], ["fc"], "train",
            inner_product_param={"num_output": CLASSES, "weight_filler": XAVIER})
    net.add("loss", "SoftmaxWithLoss", ["fc", "bright_label"], ["loss"], "train")
    return net


def triplets():
    net = digits(Net("Reindexed_pairs",
                     "Pairs within a batch, made by BatchReindex of features, compared by their contrast"))
    x = net.fc("feat", net.in_place("ReLU", net.fc("ip1", "data", 16)), 4)
    net.add("order", "DummyData", [], ["order"], "train",
            dummy_data_param={"shape": {"dim": [4]}, "data_filler": {"type": "uniform", "min": 0.0, "max": 3.99}})
    net.add("partner", "BatchReindex", [x, "order"], ["partner"], "train")
    net.add("same", "DummyData", [], ["same"], "train",
            dummy_data_param={"num": 4, "channels": 1, "height": 1, "width": 1, "data_filler": constant(1)})
    net.add("contrast", "ContrastiveLoss", [x, "partner", "same"], ["contrast"], "train")
    net.head(net.fc("scores", x, CLASSES), top5=False)
    return net


def resampled():
    net = digits(Net("Resampled_batch", "A batch drawn again from itself by BatchReindex, data and labels alike"))
    net.add("draw", "DummyData", [], ["draw"], "train",
            dummy_data_param={"shape": {"dim": [6]}, "data_filler": {"type": "uniform", "min": 0.0, "max": 3.99}})
    net.add("data_again", "BatchReindex", ["data", "draw"], ["data_again"], "train")
    net.add("label_again", "BatchReindex", ["label", "draw"], ["label_again"], "train")
    x = net.fc("ip", "data_again", CLASSES)
    net.add("loss", "InfogainLoss", [x, "label_again", "H"], ["loss"], "train")
    net.layers.insert(0, ("train", {"name": "H", "type": "DummyData", "top": "H", "dummy_data_param": {
        "shape": {"dim": [1, 1, CLASSES, CLASSES]}, "data_filler": constant(0.1)}}))
    return net


def templates():
    net = digits(Net("Templates", "Images compared with learned templates: Parameter, Tile, and a difference"))
    net.add("template", "Parameter", [], ["template"], parameter_param={"shape": {"dim": [1, 4, 28, 28]}})
    net.add("templates", "Tile", ["template"], ["templates"], tile_param={"axis": 0, "tiles": 4})
    net.add("images", "Tile", ["data"], ["images"], tile_param={"axis": 1, "tiles": 4})
    x = net.sum("difference", ["images", "templates"], operation=Word("SUM"), coeff=[1.0, -1.0])
    x = net.one("Reduction", net.one("AbsVal", x, "distance"), "distances", reduction_param={"axis": 2})
    net.head(net.fc("ip", x, CLASSES), top5=False)
    return net


def conditional():
    net = digits(Net("Conditional", "A learned code at every pixel beside the image: Parameter, Tile, Concat"))
    net.add("code", "Parameter", [], ["code"], parameter_param={"shape": {"dim": [1, 2, 1, 1]}})
    for axis, tiles, bottom, top in ((0, 4, "code", "codes"), (2, 28, "codes", "column"), (3, 28, "column", "plane")):
        net.add(f"tile_{top}", "Tile", [bottom], [top], tile_param={"axis": axis, "tiles": tiles})
    x = net.conv_relu("conv", "relu", net.concat("joined", ["data", "plane"]), 6, 5, stride=2)
    net.head(net.fc("ip", x, CLASSES), top5=False)
    return net


def gates():
    net = digits(Net("Gates", "Vectors multiplied by learned gates, as of converters: Mul, Squeeze, Bias"))
    x = net.pool("pool", net.conv_relu("conv", "relu", "data", 8, 5), "AVE")
    x = net.one("Squeeze", x, "squeezed", squeeze_param={"axis": [2, 3]})
    x = net.add("gated", "Mul", [x, net.in_place("Sigmoid", net.fc("gate", x, 8))], ["gated"])
    x = net.one("Bias", x, "shifted", bias_param={"axis": 1, "filler": constant(0.1)})
    net.head(net.fc("ip", x, CLASSES), top5=False)
    return net


def weighed_channels():
    net = digits(Net("Weighed_channels", "Channels weighed by Mul of [N, C, 1, 1], means and scores squeezed"))
    x = net.conv_relu("conv", "relu", "data", 8, 5)
    weights = net.in_place("Sigmoid", net.conv("weights", net.pool("pool", x, "AVE"), 8, 1))
    x = net.pool("pool2", net.add("weighed", "Mul", [x, weights], ["weighed"]), "AVE")
    net.head(net.fc("ip", net.one("Squeeze", x, "squeezed", squeeze_param={"axis": [-1, -2]}), CLASSES), top5=False)
    return net


def patches():
    net = digits(Net("Patches", "A convolution by hand: Im2col, then a product over the rows of patches"))
    p = {"kernel_size": 7, "stride": 7}
    x = net.one("Im2col", "data", "columns", convolution_param=p)
    x = net.conv_relu("filters", "relu", x, 8, 1)
    net.head(net.fc("ip", x, CLASSES), top5=False)
    return net


def self_similarity():
    net = digits(Net("Local_contrast", "Patches around each pixel by Im2col, normalised by MVN across channels"))
    x = net.one("Im2col", "data", "columns", convolution_param={"kernel_size": 3, "pad": 1, "stride": 2})
    x = net.one("MVN", x, "contrast", mvn_param={"across_channels": True, "normalize_variance": False})
    net.head(net.fc("ip", net.conv_relu("filters", "relu", x, 6, 1), CLASSES), top5=False)
    return net


def features():
    net = Net("Features", "Features of images and their labels written to an HDF5 file")
    image_data(net, 32, batch=2)
    x = net.pool("pool", net.conv_relu("conv", "relu", "data", 8, 5, stride=2), "AVE")
    net.layers.append(("train", {"name": "out", "type": "HDF5Output", "bottom": [x, "label"],
                                 "include": {"phase": Word("TRAIN")},
                                 "hdf5_output_param": {"file_name": "features.h5"}}))
    return net


def written_while_training():
    net = digits(Net("Written_while_training",
                     "A classifier whose scores are written to an HDF5 file as it is trained"))
    x = net.fc("ip", "data", CLASSES)
    net.head(x, top5=False)
    net.layers.append(("train", {"name": "out", "type": "HDF5Output", "bottom": [x, "label"],
                                 "include": {"phase": Word("TRAIN")},
                                 "hdf5_output_param": {"file_name": "scores.h5"}}))
    return net


def split_by_hand():
    net = digits(Net("Split_by_hand", "A net saved after Caffe had inserted its Split layers: they stand in the file"))
    net.add("data_split", "Split", ["data"], ["data_split_0", "data_split_1"])
    x = net.sum("sum", [net.conv("conv_a", "data_split_0", 6, 5), net.conv("conv_b", "data_split_1", 6, 5)])
    net.add("sum_split", "Split", [x], ["sum_0", "sum_1", "sum_2"])
    x = net.concat("joined", [net.one("TanH", "sum_0", "tanh"), net.one("BNLL", "sum_1", "bnll"), "sum_2"])
    net.head(net.fc("ip", x, CLASSES), top5=False)
    return net


def residual_split():
    net = Net("Residual_split", "Residuals with Split layers of the file's own, one top of which nobody reads")
    image_data(net, 32, IMAGES)
    net.add("split", "Split", [net.conv("conv1", "data", 8, 3, pad=1)], ["short", "long", "unused"])
    net.layers.append(("both", {"name": "silence", "type": "Silence", "bottom": "unused"}))
    x = net.sum("sum", ["short", net.conv_bn("conv2", "long", 8, 3, pad=1)])
    net.head(net.fc("ip", net.pool("pool", x, "AVE"), CLASSES), top5=False)
    return net


def espcn():
    net = Net("Squares_to_channels", "Depth to space and back, by Reorg with and without reverse", (1, 3, 32, 32))
    rows(net, ["data", "target"], "examples/style/train.txt", 1)
    x = net.one("Reorg", net.conv("conv1", "data", 4, 3, pad=1), "squares", reorg_param={"stride": 2})
    x = net.conv("conv3", net.in_place("TanH", net.conv("conv2", x, 12, 3, pad=1)), 12, 3, pad=1)
    x = net.one("Reorg", x, "image", reorg_param={"stride": 2, "reverse": True})
    net.add("loss", "EuclideanLoss", [x, "target"], ["loss"], "train", loss_weight=0.001)
    return net


def linear_regression():
    net = Net("Regression", "A regression of rows of numbers, robust by SmoothL1Loss, features dropped and clipped")
    rows(net, ["data", "target"], "examples/numbers/train.txt", 8)
    net.inputs = {"data": [8, 6]}
    x = net.one("Clip", "data", "clipped", clip_param={"min": -3.0, "max": 3.0})
    x = net.one("SpatialDropout", net.reshape("columns", x, [0, 6, 1, 1]), "dropped",
                dropout_param={"dropout_ratio": 0.1})
    x = net.fc("out", net.in_place("HardSwish", net.fc("hidden", x, 12)), 2)
    net.add("loss", "SmoothL1Loss", [x, "target"], ["loss"], "train")
    return net


def color_and_depth():
    net = Net("RGB_D", "Objects of colours and depth (Eitel et al. 2015): two images of a record, a stream for each")
    rows(net, ["color", "depth", "label"], "examples/views/train.txt", 4)
    net.inputs = {"color": [1, 3, 40, 40], "depth": [1, 3, 40, 40]}
    streams = []
    for view in net.inputs:
        x = net.pool(f"pool1_{view}", net.conv_relu(f"conv1_{view}", f"relu1_{view}", view, 8, 5, stride=2),
                     "MAX", 3, 2)
        streams.append(net.relu(f"relu7_{view}", net.fc(f"fc7_{view}", x, 16)))
    x = net.relu("relu_fus", net.fc("fc1-fus", net.concat("fusion", streams), 16))
    net.add("loss", "SoftmaxWithLoss", [net.fc("fc8-fus", x, 5), "label"], ["loss"], "train")
    return net


NETS = [autoencoder, variational, clustering, multinomial, distillation, infogain, recommender, text_cnn, early_exit,
        two_paths, triplets, resampled, templates, conditional, gates, weighed_channels, patches, self_similarity,
        features, written_while_training, split_by_hand, residual_split, espcn, linear_regression,
        color_and_depth]
DEPLOYED = [recommender, text_cnn, gates]

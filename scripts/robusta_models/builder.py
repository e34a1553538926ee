"""Builds a network layer by layer, for training and for inference at once."""

from .prototxt import Word, text

IMAGENET_MEAN = [104, 117, 123]  # blue, green, red

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

    def data(self, phase, source, batch, transform, shuffle=False):
        tops = ["data", "label"]
        parameter = {"source": source, "batch_size": batch, "backend": Word("LMDB")}
        if shuffle:
            parameter["shuffle"] = True
        self.add("data", "Data", [], tops, "train", include={"phase": Word(phase)}, transform_param=transform,
                 data_param=parameter)

    def conv(self, name, bottom, outputs, kernel, stride=1, pad=0, group=1, bias=True, weight=None, fill=None, top=None,
             params=None):
        p = {"num_output": outputs}
        if not bias:
            p["bias_term"] = False
        if pad:
            p["pad"] = pad
        if isinstance(kernel, tuple):  # height and width
            p.update(pad_h=(kernel[0] - 1) // 2, pad_w=(kernel[1] - 1) // 2, kernel_h=kernel[0], kernel_w=kernel[1])
        else:
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


def imagenet_data(net, crop, train_batch, test_batch, means=IMAGENET_MEAN, scale=None, shuffle=False):
    def transform(mirror):
        t = {"mirror": True} if mirror else {}
        if scale:
            t["scale"] = scale
        return dict(t, crop_size=crop, mean_value=means)

    net.data("TRAIN", "data/ilsvrc12/train_lmdb", train_batch, transform(True), shuffle)
    net.data("TEST", "data/ilsvrc12/val_lmdb", test_batch, transform(False))

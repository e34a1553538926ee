"""The builder of scripts/robusta_models with what the families of the zoo have besides.

Widths and images are reduced so far that a pass takes milliseconds; what the layers do to each other is as published.
"""

from robusta_models import builder
from robusta_models.builder import IMAGENET_MEAN, MSRA, XAVIER, constant, gaussian
from robusta_models.prototxt import Word, text

__all__ = ["IMAGENET_MEAN", "MSRA", "XAVIER", "Net", "Word", "constant", "gaussian", "image_data", "label_maps", "rows"]

FROZEN = {"lr_mult": 0, "decay_mult": 0}
IMAGES, MNIST, CIFAR = "examples/images", "examples/mnist/mnist", "examples/cifar10/cifar10"


class Net(builder.Net):
    """A net of the zoo: `title` is the one line that its files open with."""

    def __init__(self, name, title, shape=(1, 3, 32, 32), weight=XAVIER, bias=constant()):
        super().__init__(name, title, shape, weight, bias)
        self.inputs = None  # of the deploy file: name -> shape; None: data alone

    def file(self, which, comment=""):
        del comment
        fields = {"name": self.name}
        inputs = self.inputs or {"data": list(self.shape)}
        parts = [f"# {self.title}", text(fields)]
        if which == "deploy":
            for name, shape in inputs.items():
                parts.append(text({"layer": {"name": name, "type": "Input", "top": name,
                                             "input_param": {"shape": {"dim": list(shape)}}}}))
        parts += [text({"layer": layer}) for where, layer in self.layers if where in ("both", which)]
        return "\n".join(parts) + "\n"

    def one(self, kind, bottom, name=None, **fields):
        """A layer of one bottom (or a list of them) and one top, called like its layer."""
        name = name or f"{kind.lower()}{len(self.layers)}"
        return self.add(name, kind, bottom if isinstance(bottom, list) else [bottom], [name], **fields)

    def in_place(self, kind, bottom, **fields):
        return self.add(f"{bottom}/{kind.lower()}", kind, [bottom], [bottom], **fields)

    def conv_bn(self, name, bottom, outputs, kernel, stride=1, pad=0, group=1, act="ReLU", **fields):
        """Convolution without bias, BatchNorm, Scale, and what follows them."""
        x = self.conv(name, bottom, outputs, kernel, stride, pad, group, bias=False, **fields)
        x = self.norm(f"{name}/bn", f"{name}/scale", x)
        return self.in_place(act, x) if act else x

    def sum(self, name, bottoms, **fields):
        return self.add(name, "Eltwise", bottoms, [name], **({"eltwise_param": fields} if fields else {}))

    def deconv(self, name, bottom, outputs, kernel, stride, pad=0, group=1, bilinear=False):
        p = {"num_output": outputs, "kernel_size": kernel, "stride": stride}
        if pad:
            p["pad"] = pad
        if group > 1:
            p["group"] = group
        p["bias_term"] = False
        p["weight_filler"] = {"type": "bilinear"} if bilinear else self.weight
        return self.add(name, "Deconvolution", [bottom], [name], param=[FROZEN] if bilinear else [{"lr_mult": 1}],
                        convolution_param=p)

    def crop(self, name, bottom, like, offset=0):
        return self.add(name, "Crop", [bottom, like], [name], crop_param={"axis": 2, "offset": offset})

    def dilated(self, name, bottom, outputs, dilation, field="dilation"):
        return self.add(name, "Convolution", [bottom], [name], convolution_param={
            "num_output": outputs, "kernel_size": 3, "pad": dilation, field: dilation, "weight_filler": self.weight})

    def flatten(self, name, bottom):
        return self.add(name, "Flatten", [bottom], [name])

    def permute(self, name, bottom, order):
        return self.add(name, "Permute", [bottom], [name], permute_param={"order": list(order)})

    def reshape(self, name, bottom, dims):
        return self.add(name, "Reshape", [bottom], [name], reshape_param={"shape": {"dim": list(dims)}})

    def pixel_loss(self, scores, label="label", name="loss", ignore=255, **fields):
        self.add(name, "SoftmaxWithLoss", [scores, label], [name], "train", loss_param={"ignore_label": ignore},
                 **fields)


def image_data(net, crop=32, source=IMAGES, batch=2, means=IMAGENET_MEAN, scale=None, mirror=True):
    """Training and validation data of a classifier."""
    def transform(phase):
        t = {"mirror": True} if mirror and phase == "TRAIN" else {}
        if scale:
            t["scale"] = scale
        if crop:
            t["crop_size"] = crop
        if means:
            t["mean_value"] = means
        return t

    joint = "/" if source == IMAGES else "_"
    for phase in ("TRAIN", "TEST"):
        net.data(phase, f"{source}{joint}{phase.lower()}_lmdb", batch, transform(phase))


def label_maps(net, source="voc", size=48):
    """Images and their maps of labels, from two databases whose records go together."""
    net.shape = (1, 3, size, size)
    net.add("data", "Data", [], ["data"], "train", transform_param={"mean_value": IMAGENET_MEAN},
            data_param={"source": f"examples/{source}/images_lmdb", "batch_size": 1, "backend": Word("LMDB")})
    net.add("label", "Data", [], ["label"], "train",
            data_param={"source": f"examples/{source}/labels_lmdb", "batch_size": 1, "backend": Word("LMDB")})


def rows(net, tops, source, batch=2):
    """Arrays from HDF5 files that the list `source` names."""
    net.add("data", "HDF5Data", [], tops, "train", hdf5_data_param={"source": source, "batch_size": batch})

"""The builder of the zoo for nets that are whole: widths are divided, scenes are what they read and are tested on."""

from zoo_nets import builder
from zoo_nets.builder import IMAGENET_MEAN, MSRA, Word, constant, gaussian

__all__ = ["IMAGENET_MEAN", "MEANS", "MSRA", "PHASES", "TEST", "TRAIN", "Net", "Word", "constant", "gaussian"]

OBJECTS = 3  # classes of scenes
CLASSES = OBJECTS + 1
MEANS = {"mean_value": IMAGENET_MEAN, "scale": 0.017}
TRAIN, TEST = PHASES = tuple({"phase": Word(phase)} for phase in ("TRAIN", "TEST"))


class Net(builder.Net):
    """A net of images of `side` pixels; `divisor`: its layers have so many times fewer outputs than the published."""

    def __init__(self, name, title, side, divisor, weight=MSRA):
        super().__init__(name, title, (1, 3, side, side), weight)
        self.side, self.divisor = side, divisor

    def narrow(self, outputs):
        """At least eight, of which vectors are made."""
        return max(8, outputs // self.divisor)

    def norm(self, bn, scale, bottom):
        """What TEST normalises by is forgotten within tens of iterations, as trainings are that short."""
        self.add(bn, "BatchNorm", [bottom], [bottom], batch_norm_param={"moving_average_fraction": 0.9})
        return self.add(scale, "Scale", [bottom], [bottom], param=builder.builder.SCALE_PARAMS,
                        scale_param={"bias_term": True})

    def scenes(self, batch, tests=1, scale=None):
        """Images and boxes from the database that convert_annoset has made, for both phases."""
        transform = {"scale": scale} if scale else {}
        transform["mean_value"] = IMAGENET_MEAN
        transform["resize_param"] = {"prob": 1, "resize_mode": Word("WARP"), "height": self.side, "width": self.side}
        for phase, items in ((TRAIN, batch), (TEST, tests)):
            self.add("data", "AnnotatedData", [], ["data", "label"], include=phase, transform_param=transform,
                     annotated_data_param={"anno_type": Word("BBOX")}, data_param={
                         "source": "scenes/scenes_lmdb", "batch_size": items, "backend": Word("LMDB")})

    def rows(self, tops, source, batch):
        """Arrays of the images that are learned from, in their order."""
        self.add(source, "HDF5Data", [], tops, include=TRAIN, hdf5_data_param={"source": f"scenes/{source}.txt",
                                                                              "batch_size": batch})

    def only(self, first, phase):
        """Marks the layers from index `first` on as of one phase."""
        for _, layer in self.layers[first:]:
            layer["include"] = phase

    def silence(self, bottoms, phase):
        name = f"silence_{bottoms[0]}"
        self.layers.append(("both", {"name": name, "type": "Silence", "bottom": list(bottoms), "include": phase}))

    def known(self, scores):
        """The loss of a classifier, and in TEST how many it knows."""
        self.add("loss", "SoftmaxWithLoss", [scores, "label"], ["loss"])
        self.add("accuracy", "Accuracy", [scores, "label"], ["accuracy"], include=TEST)
        return self

    def evaluated(self, found="detection_out"):
        """What is found in TEST, compared with the boxes that are there."""
        self.add("detection_eval", "DetectionEvaluate", [found, "label"], ["detection_eval"], include=TEST,
                 detection_evaluate_param={"num_classes": CLASSES, "background_label_id": 0, "overlap_threshold": 0.5,
                                           "evaluate_difficult_gt": False})
        return self

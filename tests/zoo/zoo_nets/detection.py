"""Detectors: of regions, of prior boxes, on grids. What proposes regions comes as arrays, where no layer makes it."""

from .builder import IMAGENET_MEAN, MSRA, XAVIER, Net, Word, constant, gaussian, rows

CLASSES = 3
REGIONS = 6  # of an image


def region_data(net, tops, batch=2):
    """Images, regions and what they hold; arrays of an image's regions become those of the batch."""
    rows(net, ["data", *(f"{top}_of_image" for top in tops)], "examples/regions/train.txt", batch)
    sizes = {"rois": [-1, 5], "labels": [-1], "bbox_targets": [-1, 4 * CLASSES],
             "bbox_inside_weights": [-1, 4 * CLASSES]}
    for top in tops:
        net.add(top, "Reshape", [f"{top}_of_image"], [top], "train", reshape_param={"shape": {"dim": sizes[top]}})


def backbone(net, width=16):
    x = net.conv_bn("conv1", "data", 8, 3, 2, 1)
    return net.conv_bn("conv2", x, width, 3, 2, 1)


def region_input(net):
    net.inputs = {"data": [1, 3, 64, 64], "rois": [REGIONS, 5]}


def fast_rcnn():
    net = Net("Fast_R_CNN", "Fast R-CNN (Girshick 2015): ROIPooling, and SmoothL1Loss with two weights")
    region_input(net)
    region_data(net, ["rois", "labels", "bbox_targets", "bbox_inside_weights"])
    x = net.add("roi_pool5", "ROIPooling", [backbone(net), "rois"], ["roi_pool5"],
                roi_pooling_param={"pooled_w": 3, "pooled_h": 3, "spatial_scale": 0.25})
    x = net.dropout("drop6", net.relu("relu6", net.fc("fc6", x, 32)), 0.5)
    scores, boxes = net.fc("cls_score", x, CLASSES, gaussian(0.01)), net.fc("bbox_pred", x, 4 * CLASSES,
                                                                            gaussian(0.001))
    net.add("loss_cls", "SoftmaxWithLoss", [scores, "labels"], ["loss_cls"], "train", loss_weight=1)
    weights = ["bbox_inside_weights", "bbox_inside_weights"]
    net.add("loss_bbox", "SmoothL1Loss", [boxes, "bbox_targets", *weights], ["loss_bbox"], "train", loss_weight=1)
    net.add("cls_prob", "Softmax", [scores], ["cls_prob"], "deploy")
    return net


def faster_rcnn_heads():
    net = Net("Faster_R_CNN",
              "Faster R-CNN (Ren et al. 2015): the proposing head on a Reshape of 2 k maps, and regions")
    region_input(net)
    region_data(net, ["rois", "labels", "bbox_targets", "bbox_inside_weights"])
    x = backbone(net)
    y = net.conv_relu("rpn_conv", "rpn_relu", x, 16, 3, pad=1)
    y = net.reshape("rpn_cls_score_reshape", net.conv("rpn_cls_score", y, 6, 1), [0, 2, -1, 0])
    net.add("rpn_labels", "DummyData", [], ["rpn_labels"], "train",
            dummy_data_param={"shape": {"dim": [2, 1, 48, 16]},
                              "data_filler": constant(1)})
    net.add("rpn_loss", "SoftmaxWithLoss", [y, "rpn_labels"], ["rpn_loss"], "train", propagate_down=[True, False],
            loss_weight=1, loss_param={"ignore_label": -1, "normalize": True})
    net.add("rpn_cls_prob", "Softmax", [y], ["rpn_cls_prob"], "deploy")
    x = net.add("roi_pool", "ROIPooling", [x, "rois"], ["roi_pool"],
                roi_pooling_param={"pooled_w": 2, "pooled_h": 2, "spatial_scale": 0.25})
    x = net.relu("relu6", net.fc("fc6", x, 32))
    net.add("loss_cls", "SoftmaxWithLoss", [net.fc("cls_score", x, CLASSES), "labels"], ["loss_cls"], "train",
            propagate_down=[True, False], loss_weight=1)
    net.add("loss_bbox", "SmoothL1Loss", [net.fc("bbox_pred", x, 4 * CLASSES), "bbox_targets", "bbox_inside_weights",
                                          "bbox_inside_weights"], ["loss_bbox"], "train",
            smooth_l1_loss_param={"sigma": 1.0}, loss_weight=1)
    return net


def position_sensitive(net):
    """Scores and boxes of R-FCN for each region."""
    x = net.relu("conv_new_relu", net.conv("conv_new_1", backbone(net), 16, 1, weight=gaussian(0.01)))
    tops = []
    for name, outputs in (("cls", CLASSES), ("bbox", 4 * CLASSES)):
        maps = net.conv(f"rfcn_{name}", x, outputs * 9, 1, weight=gaussian(0.01))
        y = net.add(f"psroipooled_{name}", "PSROIPooling", [maps, "rois"], [f"psroipooled_{name}"],
                    psroi_pooling_param={"spatial_scale": 0.25, "output_dim": outputs, "group_size": 3})
        tops.append(net.pool(f"ave_{name}", y, "AVE", 3, 3))
    return tops


def rfcn():
    net = Net("R_FCN", "R-FCN (Dai et al. 2016): position-sensitive pooling, means of its 3x3 bins", weight=MSRA)
    region_input(net)
    region_data(net, ["rois", "labels", "bbox_targets", "bbox_inside_weights"])
    scores, boxes = position_sensitive(net)
    net.add("loss_cls", "SoftmaxWithLoss", [scores, "labels"], ["loss_cls"], "train", loss_weight=1)
    flat = net.add("bbox_flat", "Flatten", [boxes], ["bbox_flat"], "train")
    net.add("loss_bbox", "SmoothL1LossOHEM", [flat, "bbox_targets", "bbox_inside_weights"], ["loss_bbox"], "train",
            loss_weight=1, loss_param={"normalization": Word("PRE_FIXED"), "pre_fixed_normalizer": 128})
    net.add("cls_prob", "Softmax", [net.reshape("cls_score", scores, [-1, CLASSES])], ["cls_prob"], "deploy")
    return net


def rfcn_ohem():
    net = Net("R_FCN_OHEM", "R-FCN with online hard examples: BoxAnnotatorOHEM keeps the regions of the largest losses",
              weight=MSRA)
    region_data(net, ["rois", "labels", "bbox_targets", "bbox_inside_weights"])
    scores, boxes = position_sensitive(net)
    scores, boxes = net.flatten("cls_score", scores), net.flatten("bbox_pred", boxes)
    net.add("per_roi_loss_cls", "SoftmaxWithLossOHEM", [scores, "labels"],
            ["temp_loss_cls", "temp_prob_cls", "per_roi_loss_cls"], "train", loss_weight=[0, 0, 0],
            propagate_down=[False, False])
    net.add("per_roi_loss_bbox", "SmoothL1LossOHEM", [boxes, "bbox_targets", "bbox_inside_weights"],
            ["temp_loss_bbox", "per_roi_loss_bbox"], "train", loss_weight=[0, 0],
            propagate_down=[False, False, False])
    net.add("per_roi_cls", "Reshape", ["per_roi_loss_cls"], ["per_roi_cls"], "train",
            reshape_param={"shape": {"dim": [-1, 1]}})
    net.add("per_roi_bbox", "Reshape", ["per_roi_loss_bbox"], ["per_roi_bbox"], "train",
            reshape_param={"shape": {"dim": [-1, 1]}})
    net.add("per_roi_loss", "Eltwise", ["per_roi_cls", "per_roi_bbox"], ["per_roi_loss"], "train")
    net.add("annotator", "BoxAnnotatorOHEM", ["rois", "per_roi_loss", "labels", "bbox_inside_weights"],
            ["labels_ohem", "bbox_loss_weights_ohem"], "train", propagate_down=[False] * 4,
            box_annotator_ohem_param={"roi_per_img": 2, "ignore_label": -1})
    net.layers.append(("train", {"name": "silence", "type": "Silence",
                                 "bottom": ["temp_loss_cls", "temp_prob_cls", "temp_loss_bbox"]}))
    net.add("loss_cls", "SoftmaxWithLoss", [scores, "labels_ohem"], ["loss_cls"], "train", loss_weight=1,
            propagate_down=[True, False], loss_param={"ignore_label": -1})
    net.add("loss_bbox", "SmoothL1LossOHEM", [boxes, "bbox_targets", "bbox_loss_weights_ohem"], ["loss_bbox"], "train",
            loss_weight=1, loss_param={"normalization": Word("PRE_FIXED"), "pre_fixed_normalizer": 128})
    return net


def fast_rcnn_ohem():
    net = Net("Fast_R_CNN_OHEM", "Fast R-CNN with online hard examples (Shrivastava et al. 2016)")
    region_data(net, ["rois", "labels", "bbox_targets", "bbox_inside_weights"])
    x = net.add("roi_pool5", "ROIPooling", [backbone(net), "rois"], ["roi_pool5"],
                roi_pooling_param={"pooled_w": 2, "pooled_h": 2, "spatial_scale": 0.25})
    scores = net.fc("cls_score", net.relu("relu6", net.fc("fc6", x, 32)), CLASSES)
    net.add("each", "SoftmaxWithLossOHEM", [scores, "labels"], ["mean_of_all", "probabilities", "each"], "train",
            loss_weight=[0, 0, 0], propagate_down=[False, False])
    net.add("annotator", "BoxAnnotatorOHEM", ["rois", "each", "labels", "bbox_inside_weights"],
            ["labels_ohem", "weights_ohem"], "train", box_annotator_ohem_param={"roi_per_img": 3, "ignore_label": -1})
    net.layers.append(("train", {"name": "silence", "type": "Silence",
                                 "bottom": ["mean_of_all", "probabilities", "weights_ohem"]}))
    net.add("loss_cls", "SoftmaxWithLoss", [scores, "labels_ohem"], ["loss_cls"], "train",
            loss_param={"ignore_label": -1})
    return net


def rcnn():
    net = Net("R_CNN", "R-CNN (Girshick et al. 2014): windows of images, warped, of which a quarter are objects")
    net.add("data", "WindowData", [], ["data", "label"], "train",
            transform_param={"mirror": True, "crop_size": 35, "mean_value": IMAGENET_MEAN},
            window_data_param={"source": "examples/windows/train.txt", "batch_size": 4, "fg_threshold": 0.5,
                               "bg_threshold": 0.5, "fg_fraction": 0.25, "context_pad": 4, "crop_mode": "warp"})
    x = net.lrn("norm1", net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 7, stride=2), "MAX", 3, 2))
    x = net.dropout("drop7", net.relu("relu7", net.fc("fc7", x, 32)), 0.5)
    net.head(net.fc("fc-rcnn", x, CLASSES, gaussian(0.01)), top5=False)
    return net


def windows_square():
    net = Net("R_CNN_square", "R-CNN on square windows without context, and a HingeLoss as of its SVMs")
    net.add("data", "WindowData", [], ["data", "label"], "train", transform_param={"crop_size": 24},
            window_data_param={"source": "examples/windows/train.txt", "batch_size": 4, "fg_fraction": 0.5,
                               "crop_mode": "square"})
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 5, stride=2), "MAX", 3, 2)
    scores = net.fc("scores", x, CLASSES, gaussian(0.01))
    net.accuracy("accuracy", scores)
    net.add("loss", "HingeLoss", [scores, "label"], ["loss"], "train")
    return net


def prior_boxes(net, name, x, sizes, ratios, normalize=False):
    """Boxes, scores and prior boxes of one map of features, as SSD flattens them."""
    if normalize:
        x = net.one("Normalize", x, f"{name}_norm", norm_param={
            "across_spatial": False, "scale_filler": constant(20), "channel_shared": False})
    priors = 1 + len(sizes) - 1 + 2 * len(ratios)
    flat = []
    for what, outputs in (("loc", 4 * priors), ("conf", CLASSES * priors)):
        y = net.conv(f"{name}_mbox_{what}", x, outputs, 3, pad=1)
        y = net.permute(f"{name}_mbox_{what}_perm", y, (0, 2, 3, 1))
        flat.append(net.flatten(f"{name}_mbox_{what}_flat", y))
    box = {"min_size": sizes[0]}
    if len(sizes) > 1:
        box["max_size"] = sizes[1]
    flat.append(net.add(f"{name}_mbox_priorbox", "PriorBox", [x, "data"], [f"{name}_mbox_priorbox"],
                        prior_box_param=dict(
        box, aspect_ratio=ratios, flip=True, clip=False, variance=[0.1, 0.1, 0.2, 0.2], offset=0.5)))
    return flat


def detections(net, maps, trained=False):
    """What SSD makes of the maps of features; `trained`: with its loss, and a score of what is found."""
    joined = [net.add(f"mbox_{name}", "Concat", [m[i] for m in maps], [f"mbox_{name}"],
                      concat_param={"axis": 2 if name == "priorbox" else 1})
              for i, name in enumerate(("loc", "conf", "priorbox"))]
    if trained:
        net.add("mbox_loss", "MultiBoxLoss", [*joined, "label"], ["mbox_loss"], include={"phase": Word("TRAIN")},
                propagate_down=[True, True, False, False], loss_param={"normalization": Word("VALID")},
                multibox_loss_param={
                    "loc_loss_type": Word("SMOOTH_L1"), "conf_loss_type": Word("SOFTMAX"), "loc_weight": 1,
                    "num_classes": CLASSES, "share_location": True, "match_type": Word("PER_PREDICTION"),
                    "overlap_threshold": 0.5, "use_prior_for_matching": True, "background_label_id": 0,
                    "neg_pos_ratio": 3, "neg_overlap": 0.5, "code_type": Word("CENTER_SIZE"),
                    "mining_type": Word("MAX_NEGATIVE")})
    first = len(net.layers)
    x = net.reshape("mbox_conf_reshape", joined[1], [0, -1, CLASSES])
    x = net.flatten("mbox_conf_flatten", net.one("Softmax", x, "mbox_conf_softmax", softmax_param={"axis": 2}))
    for _, layer in net.layers[first:] if trained else []:
        layer["include"] = {"phase": Word("TEST")}
    net.add("detection_out", "DetectionOutput", [joined[0], x, joined[2]], ["detection_out"],
            include={"phase": Word("TEST")}, detection_output_param={
                "num_classes": CLASSES, "share_location": True, "background_label_id": 0,
                "nms_param": {"nms_threshold": 0.45, "top_k": 100}, "code_type": Word("CENTER_SIZE"),
                "keep_top_k": 20, "confidence_threshold": 0.01})
    if trained:
        net.add("detection_eval", "DetectionEvaluate", ["detection_out", "label"], ["detection_eval"],
                include={"phase": Word("TEST")}, detection_evaluate_param={
                    "num_classes": CLASSES, "background_label_id": 0, "overlap_threshold": 0.5,
                    "evaluate_difficult_gt": False})
    return net


def annotated_images(net, batch=2, samplers=(), for_yolo=False):
    """Images with boxes from databases of AnnotatedDatum; `samplers`: the overlaps that crops have to have; `for_yolo`:
    rows of each image, and jittered patches, as MobileNet-YOLO reads them."""
    for phase in ("TRAIN", "TEST"):
        transform = {"mirror": True} if phase == "TRAIN" else {}
        transform["mean_value"] = IMAGENET_MEAN
        transform["resize_param"] = {"prob": 1, "resize_mode": Word("WARP"), "height": 64, "width": 64}
        drawn = [{"max_sample": 1, "max_trials": 1}] + [{
            "sampler": {"min_scale": 0.3, "max_scale": 1.0, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0},
            "sample_constraint": {"min_jaccard_overlap": overlap}, "max_sample": 1, "max_trials": 50}
                                                        for overlap in samplers]
        fields = {"batch_sampler": drawn} if phase == "TRAIN" and samplers else {}
        if for_yolo:
            fields = {"yolo_data_type": 1, "yolo_data_jitter": 0.3 if phase == "TRAIN" else 0.0,
                      "train_diffcult": True}
        net.add("data", "AnnotatedData", [], ["data", "label"], "train", include={"phase": Word(phase)},
                transform_param=transform, annotated_data_param=dict(fields, anno_type=Word("BBOX")), data_param={
                    "source": f"examples/things/annotated_{phase.lower()}_lmdb", "batch_size": batch,
                    "backend": Word("LMDB")})
    if for_yolo:
        net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "label",
                                     "include": {"phase": Word("TEST")}}))


def boxed_images(net):
    """Images with boxes, from arrays; those of an image become those of the batch."""
    rows(net, ["data", "boxes_of_image"], "examples/boxes/train.txt", 2)
    net.add("label", "Reshape", ["boxes_of_image"], ["label"], "train",
            reshape_param={"shape": {"dim": [1, 1, -1, 8]}})


def ssd(trained=False, annotated=False):
    net = Net("SSD_VGG",
              "SSD as it is trained (Liu et al. 2016): AnnotatedData, crops by how much of a box is in them"
              if annotated else "SSD (Liu et al. 2016): prior boxes on two maps, the first of them normalised",
              (1, 3, 64, 64))
    if annotated:
        annotated_images(net, samplers=(0.1, 0.5, 0.9))
    elif trained:
        boxed_images(net)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 3, stride=2, pad=1), "MAX", 2, 2)
    x = net.conv_relu("conv4_3", "relu4_3", x, 12, 3, pad=1)
    y = net.in_place("ReLU", net.dilated("fc6", net.pool("pool4", x, "MAX", 2, 2), 16, 6))
    x = prior_boxes(net, "conv4_3", x, [10.0, 20.0], [2.0], True)
    y = prior_boxes(net, "fc7", net.conv_relu("fc7", "relu7", y, 16, 1), [20.0, 40.0], [2.0, 3.0])
    return detections(net, [x, y], trained)


def ssd_train():
    return ssd(trained=True)


def ssd_annotated():
    return ssd(trained=True, annotated=True)


def ssd_mobilenet_train():
    return ssd_mobilenet(trained=True)


def ssd_mobilenet(trained=False):
    net = Net("SSD_MobileNet", "SSD on MobileNet's layers", (1, 3, 64, 64), weight=MSRA)
    if trained:
        boxed_images(net)
    x = net.conv_bn("conv0", "data", 8, 3, 2, 1)
    x = net.conv_bn("conv1/dw", x, 8, 3, 2, 1, 8)
    x = net.conv_bn("conv1", x, 16, 1)
    y = net.conv_bn("conv2_2", net.conv_bn("conv2_1", x, 8, 1), 16, 3, 2, 1)
    x, y = prior_boxes(net, "conv1", x, [12.0], [2.0]), prior_boxes(net, "conv2", y, [24.0, 48.0], [2.0])
    return detections(net, [x, y], trained)


def proposed(net, x):
    """The regions that a region proposal network finds."""
    net.inputs = {"data": [1, 3, 64, 64]}
    for name, numbers, value in (("im_size", 2, 64), ("im_scale", 1, 1)):
        net.add(name, "DummyData", [], [name],
                dummy_data_param={"shape": {"dim": [1, numbers]}, "data_filler": constant(value)})
    net.concat("im_info", ["im_size", "im_scale"])
    y = net.conv_relu("rpn_conv", "rpn_relu", x, 16, 3, pad=1)
    scores = net.reshape("rpn_cls_score_reshape", net.conv("rpn_cls_score", y, 12, 1), [0, 2, -1, 0])
    prob = net.reshape("rpn_cls_prob_reshape", net.one("Softmax", scores, "rpn_cls_prob"), [0, 12, -1, 0])
    return net.add("proposal", "Proposal", [prob, net.conv("rpn_bbox_pred", y, 24, 1), "im_info"], ["rois"],
                   proposal_param={"feat_stride": 4, "base_size": 4, "min_size": 4, "ratio": [0.5, 1.0, 2.0],
                                   "scale": [2.0, 4.0], "pre_nms_topn": 60, "post_nms_topn": 8, "nms_thresh": 0.7})


def faster_rcnn():
    net = Net("Faster_R_CNN_deploy", "Faster R-CNN whole, to be fed: its own proposals, pooled and classified")
    x = backbone(net)
    x = net.add("roi_pool", "ROIPooling", [x, proposed(net, x)], ["roi_pool"],
                roi_pooling_param={"pooled_w": 2, "pooled_h": 2, "spatial_scale": 0.25})
    x = net.relu("relu6", net.fc("fc6", x, 32))
    net.fc("bbox_pred", x, 4 * CLASSES)
    net.one("Softmax", net.fc("cls_score", x, CLASSES), "cls_prob")
    return net


def rfcn_proposals():
    net = Net("R_FCN_deploy", "R-FCN whole, to be fed: its own proposals, pooled by position", weight=MSRA)
    x = backbone(net)
    rois = proposed(net, x)
    y = net.add("psroipooled_cls", "PSROIPooling", [net.conv("rfcn_cls", x, 9 * CLASSES, 1), rois], ["psroipooled_cls"],
                psroi_pooling_param={"spatial_scale": 0.25, "output_dim": CLASSES, "group_size": 3})
    net.one("Softmax", net.pool("ave_cls", y, "AVE", 3, 3), "cls_prob")
    return net


def yolo_evaluated(score="MULTIPLY"):
    net = Net(f"YOLO_eval_{score.lower()}", f"What a YOLO net predicts, scored by EvalDetection, {score}", weight=MSRA)
    net.inputs = {"data": [2, 3, 64, 64]}
    net.add("label", "DummyData", [], ["label"],
            dummy_data_param={"shape": {"dim": [1, 1, 3, 8]}, "data_filler": constant(1)})
    x = net.conv("conv_reg", net.pool("pool", backbone(net), "MAX", 4, 4), 2 * (5 + CLASSES), 1)
    net.add("eval", "EvalDetection", [x, "label"], ["eval"], eval_detection_param={
        "side": 4, "num_class": CLASSES, "num_object": 2, "threshold": 0.5, "score_type": Word(score), "nms": 0.45,
        "biases": [1.0, 1.5, 2.0, 2.0]})
    return net


def yolo_evaluated_by_object():
    return yolo_evaluated("OBJ")


def leaky(net, name, x, outputs, kernel, stride=1):
    """Convolution, BatchNorm, Scale and a ReLU with a slope below 0, as of Darknet."""
    x = net.conv_bn(name, x, outputs, kernel, stride, kernel // 2, act=None)
    return net.in_place("ReLU", x, relu_param={"negative_slope": 0.1})


ANCHORS = [0.6, 0.6, 1.2, 1.4, 2.0, 2.0, 2.5, 3.5, 4.0, 3.0]


def region_outputs(net, x, anchors, num_classes, side, evaluated=False):
    """RegionLoss of the predictions, and what they find."""
    predictions = net.conv("conv_reg", x, len(anchors) // 2 * (5 + num_classes), 1)
    net.add("region_loss", "RegionLoss", [predictions, "label"], ["region_loss"], "train",
            **({"include": {"phase": Word("TRAIN")}} if evaluated else {}), loss_weight=1, region_loss_param={
                "side": side, "num_class": num_classes, "coords": 4, "num": len(anchors) // 2, "softmax": 1,
                "jitter": 0.2, "rescore": 1, "object_scale": 5.0, "noobject_scale": 1.0, "class_scale": 1.0,
                "coord_scale": 1.0, "absolute": 1, "thresh": 0.6, "random": 0, "biases": anchors})
    found = {"num_classes": num_classes, "coords": 4, "confidence_threshold": 0.01, "nms_threshold": 0.45,
             "num_box": len(anchors) // 2, "biases": anchors}
    net.add("detection_out", "YoloDetectionOutput", [predictions], ["detection_out"], "deploy",
            yolo_detection_output_param=found)
    if evaluated:
        net.add("detection_out", "YoloDetectionOutput", [predictions], ["detection_out"], "train",
                include={"phase": Word("TEST")}, yolo_detection_output_param=found)
        net.add("detection_eval", "DetectionEvaluate", ["detection_out", "label"], ["detection_eval"], "train",
                include={"phase": Word("TEST")}, detection_evaluate_param={
                    "num_classes": num_classes + 1, "background_label_id": 0, "overlap_threshold": 0.5,
                    "evaluate_difficult_gt": False})
    return net


def yolo_v2(centred=False):
    net = Net("YOLO_v2", "YOLO v2 of caffe-yolov2: BoxData, whose rows of five RegionLoss takes as they are" if centred else
              "YOLO v2 (Redmon and Farhadi 2017): fine features as channels beside coarse ones, by Reorg",
              (1, 3, 64, 64), weight=MSRA)
    if centred:
        boxes_of_yolo(net, [8])
    else:
        boxed_images(net)
    x = net.pool("pool1", leaky(net, "conv1", "data", 8, 3), "MAX", 2, 2)
    x = net.pool("pool2", leaky(net, "conv2", x, 8, 3), "MAX", 2, 2)
    fine = leaky(net, "conv3", x, 8, 3)
    x = leaky(net, "conv4", net.pool("pool3", fine, "MAX", 2, 2), 16, 3)
    y = net.one("Reorg", fine, "reorg1", reorg_param={"stride": 2})
    x = leaky(net, "conv5", net.concat("concat1", [y, x]), 16, 3)
    return region_outputs(net, x, ANCHORS, 2, 8)


def yolo_v2_centred():
    return yolo_v2(centred=True)


def mobilenet_yolo():
    net = Net("MobileNet_YOLO", "MobileNet-YOLO's first version (eric612): RegionLoss in TRAIN, what it finds in TEST",
              (1, 3, 64, 64), weight=MSRA)
    annotated_images(net)
    return region_outputs(net, mobilenet_trunk(net)[1], ANCHORS, 2, 8, evaluated=True)


def mobilenet_trunk(net):
    """Features of a quarter and of an eighth of the image's size."""
    x = net.conv_bn("conv0", "data", 8, 3, 2, 1)
    x = net.conv_bn("conv1", net.conv_bn("conv1/dw", x, 8, 3, 2, 1, 8), 16, 1)
    return x, net.conv_bn("conv2", net.conv_bn("conv2/dw", x, 16, 3, 2, 1, 16), 16, 1)


PIXEL_ANCHORS = [6, 8, 10, 12, 14, 16, 20, 24, 30, 30, 40, 44]


def yolo_v3_outputs(net, maps, labels, num_classes=2):
    """Yolov3's losses and findings on maps, from the coarsest on: predictions, pixels of the image in a cell."""
    each = len(PIXEL_ANCHORS) // 2 // len(maps)
    masks = [[each * (len(maps) - 1 - i) + n for n in range(each)] for i in range(len(maps))]
    predictions = []
    for i, ((x, pixels), mask) in enumerate(zip(maps, masks), 1):
        predictions.append(net.conv(f"conv{i}_pred", x, each * (5 + num_classes), 1))
        net.add(f"yolo{i}_loss", "Yolov3", [predictions[-1], labels[i - 1]], [f"yolo{i}_loss"], "train",
                include={"phase": Word("TRAIN")}, loss_weight=1, yolov3_param={
                    "side": 64 // pixels, "num_class": num_classes, "num": each, "object_scale": 5.0,
                    "noobject_scale": 1.0, "class_scale": 1.0, "coord_scale": 1.0, "thresh": 0.6,
                    "anchors_scale": pixels, "use_logic_gradient": i == 1, "biases": PIXEL_ANCHORS, "mask": mask})
    found = {"confidence_threshold": 0.01, "nms_threshold": 0.45, "num_classes": num_classes, "num_box": each,
             "biases": PIXEL_ANCHORS, "mask": sum(masks, []), "mask_group_num": len(maps),
             "anchors_scale": [pixels for _, pixels in maps]}
    for where, fields in (("train", {"include": {"phase": Word("TEST")}}), ("deploy", {})):
        net.add("detection_out", "Yolov3DetectionOutput", predictions, ["detection_out"], where, **fields,
                yolov3_detection_output_param=found)
    return net


def boxes_of_yolo(net, sides):
    """Images and boxes from databases as Intel's Caffe has them for YOLO, the boxes once for each side."""
    labels = [f"label{side}" if len(sides) > 1 else "label" for side in sides]
    for phase in ("TRAIN", "TEST"):
        transform = {"mirror": True} if phase == "TRAIN" else {}
        transform["resize_param"] = {"prob": 1, "resize_mode": Word("WARP"), "height": 64, "width": 64}
        net.add("data", "BoxData", [], ["data", *labels], "train", include={"phase": Word(phase)},
                transform_param=dict(transform, mean_value=IMAGENET_MEAN), data_param={
                    "source": f"examples/things/centred_{phase.lower()}_lmdb", "batch_size": 2, "side": sides,
                    "backend": Word("LMDB")})
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": labels,
                                 "include": {"phase": Word("TEST")}}))
    return labels


def mobilenet_yolo_v3(annotated=False):
    net = Net("MobileNet_YOLO_v3", "MobileNet-YOLOv3 (eric612) as it is trained: AnnotatedData with yolo_data_type"
              if annotated else
              "MobileNet-YOLOv3 (eric612): losses at two scales, coarse features on fine ones",
              (1, 3, 64, 64), weight=MSRA)
    if annotated:
        annotated_images(net, for_yolo=True)
    labels = ["label"] * 2 if annotated else boxes_of_yolo(net, [8, 16])
    fine, coarse = mobilenet_trunk(net)
    x = net.one("Upsample", net.conv_bn("upsample_conv", coarse, 16, 1), "upsample", upsample_param={"scale": 2})
    return yolo_v3_outputs(net, [(coarse, 8), (net.sum("upsample_sum", [fine, x]), 4)], labels)


def mobilenet_yolo_v3_annotated():
    return mobilenet_yolo_v3(annotated=True)


def tiny_yolo_v3():
    net = Net("Tiny_YOLO_v3", "YOLOv3-tiny (Redmon and Farhadi 2018) from Darknet: poolings, and UpsampleDarknet",
              (1, 3, 64, 64), weight=MSRA)
    labels = boxes_of_yolo(net, [4]) * 2
    x = net.pool("pool1", leaky(net, "layer1-conv", "data", 8, 3), "MAX", 2, 2)
    x = net.pool("pool2", leaky(net, "layer3-conv", x, 8, 3), "MAX", 2, 2)
    fine = leaky(net, "layer5-conv", x, 12, 3)
    coarse = leaky(net, "layer7-conv", net.pool("pool3", fine, "MAX", 2, 2), 16, 3)
    x = net.one("UpsampleDarknet", leaky(net, "layer9-conv", coarse, 8, 1), "layer10-upsample",
                upsample_darknet_param={"stride": 2})
    x = leaky(net, "layer12-conv", net.concat("layer11-route", [x, fine]), 16, 3)
    return yolo_v3_outputs(net, [(coarse, 8), (x, 4)], labels)


def yolo_v3():
    net = Net("YOLO_v3", "YOLOv3 (Redmon and Farhadi 2018): Darknet's residual units, three scales, UpsampleDarknet",
              (1, 3, 64, 64), weight=MSRA)
    rows(net, ["data", "boxes_of_image"], "examples/centred/train.txt", 2)
    net.add("label", "Reshape", ["boxes_of_image"], ["label"], "train",
            reshape_param={"shape": {"dim": [0, 30, 5]}})
    net.layers.append(("train", {"name": "silence", "type": "Silence", "bottom": "label",
                                 "include": {"phase": Word("TEST")}}))
    stages, x = [], "data"
    for i, outputs in enumerate((8, 8, 12, 16), 1):
        x = leaky(net, f"down{i}", x, outputs, 3, 2)
        y = leaky(net, f"res{i}_b", leaky(net, f"res{i}_a", x, outputs // 2, 1), outputs, 3)
        x = net.sum(f"res{i}", [x, y])
        stages.append(x)
    maps = [(leaky(net, "head1", x, 16, 3), 16)]
    for i, pixels in ((2, 8), (3, 4)):
        y = net.one("UpsampleDarknet", leaky(net, f"reduce{i}", maps[-1][0], 8, 1), f"up{i}",
                    upsample_darknet_param={"stride": 2})
        maps.append((leaky(net, f"head{i}", net.concat(f"route{i}", [y, stages[4 - i]]), 16, 3), pixels))
    return yolo_v3_outputs(net, maps, ["label"] * 3)


CODES = {"bbox_mean": [0, 0, 0, 0], "bbox_std": [0.1, 0.1, 0.2, 0.2]}


def mscnn_proposals(net):
    """What MS-CNN's maps of two depths propose, and the features below them."""
    net.inputs = {"data": [1, 3, 64, 64]}
    x = backbone(net)
    y = net.conv_relu("conv3", "relu3", net.pool("pool2", x, "MAX", 2, 2), 16, 3, pad=1)
    maps = [net.conv(f"LFCN_{i}", z, CLASSES + 4, kernel, pad=kernel // 2)
            for i, (z, kernel) in enumerate(((x, 3), (x, 5), (y, 3)), 1)]
    rois = net.add("proposals", "BoxOutput", maps, ["proposals"], bbox_reg_param=CODES, box_output_param={
        "fg_thr": -5, "iou_thr": 0.65, "nms_type": "IOU", "field_h": [12, 18, 24], "field_w": [12, 18, 24],
        "downsample_rate": [4, 4, 8], "field_whr": 2, "field_xyr": 2, "max_nms_num": 40, "max_post_nms_num": 8,
        "min_size": 6})
    return x, rois


def aligned(net, name, x, rois, pad_ratio=0):
    """Means between the corners of 3 x 3 bins."""
    p = {"pooled_w": 3, "pooled_h": 3, "spatial_scale": 0.25}
    if pad_ratio:
        p["pad_ratio"] = pad_ratio
    return net.pool(f"{name}_pool", net.add(name, "ROIAlign", [x, rois], [name], roi_pooling_param=p), "AVE", 2, 1)


def mscnn():
    net = Net("MS_CNN", "MS-CNN (Cai et al. 2016): proposals of several depths, pooled with what is around them",
              weight=MSRA)
    x, rois = mscnn_proposals(net)
    x = net.concat("roi_pool", [aligned(net, "roi_object", x, rois), aligned(net, "roi_context", x, rois, 0.25)])
    x = net.in_place("ReLU", net.fc("fc6", net.conv_relu("roi_c1", "roi_relu1", x, 16, 1), 32))
    net.one("Softmax", net.fc("cls_pred", x, CLASSES), "cls_prob")
    net.add("output_bbox", "DecodeBBox", [net.fc("bbox_pred", x, 8, gaussian(0.001)), rois], ["output_bbox"],
            bbox_reg_param=CODES)
    return net


def cascade_rcnn():
    net = Net("Cascade_R_CNN", "Cascade R-CNN (Cai and Vasconcelos 2018): each head moves the boxes for the next",
              weight=MSRA)
    x, rois = mscnn_proposals(net)
    scores = []
    for stage in ("1st", "2nd", "3rd"):
        y = net.in_place("ReLU", net.fc(f"fc6_{stage}", aligned(net, f"roi_{stage}", x, rois), 32))
        scores.append(net.one("Softmax", net.fc(f"cls_pred_{stage}", y, CLASSES), f"cls_prob_{stage}"))
        rois = net.add(f"proposals_{stage}", "DecodeBBox", [net.fc(f"bbox_pred_{stage}", y, 8, gaussian(0.001)), rois],
                       [f"proposals_{stage}"], bbox_reg_param=CODES)
    net.sum("cls_prob_cascade", scores, coeff=[0.333] * 3)
    return net


def masks_of(net, name, x):
    """A mask of 14 x 14 pixels for each region."""
    x = net.fc(f"{name}_fc2", net.in_place("ReLU", net.fc(f"{name}_fc1", x, 16)), 49)
    x = net.reshape(f"{name}_square", net.one("Sigmoid", x, f"{name}_probability"), [-1, 1, 7, 7])
    return net.one("MaskResize", x, f"{name}_resized", mask_resize_param={"output_height": 14, "output_width": 14})


def masked(net, name, x, mask):
    """Boxes and classes of regions, from their features within masks."""
    x = net.add(f"{name}_masked", "MaskPooling", [x, mask], [f"{name}_masked"])
    x = net.in_place("ReLU", net.fc(f"{name}_fc6", net.pool(f"{name}_pool", x, "MAX", 2, 2), 32))
    net.one("Softmax", net.fc(f"{name}_seg_cls_score", x, CLASSES), f"{name}_seg_cls_prob")
    return net.fc(f"{name}_bbox_pred", x, 4 * CLASSES)


def warped(net, name, x, rois):
    return net.add(name, "ROIWarping", [x, rois], [name],
                   roi_warping_param={"pooled_w": 14, "pooled_h": 14, "spatial_scale": 0.25})


def mnc():
    net = Net("MNC", "MNC (Dai et al. 2016): a cascade of boxes, masks within them, and classes of what is masked",
              weight=MSRA)
    x = backbone(net)
    regions = warped(net, "roi_interpolate_conv5", x, proposed(net, x))
    masked(net, "stage3", regions, masks_of(net, "mask", net.pool("roi_mask_conv5", regions, "MAX", 2, 2)))
    return net


def mnc_5stage():
    net = Net("MNC_5_stages", "MNC's five stages, the masks and classes twice, on regions that are given", weight=MSRA)
    region_input(net)
    x = backbone(net)
    regions = warped(net, "roi_warped", x, "rois")
    masked(net, "stage3", regions, masks_of(net, "stage2", net.pool("stage2_pool", regions, "MAX", 2, 2)))
    net.inputs["rois_ext"] = [REGIONS, 5]
    regions = warped(net, "roi_warped_ext", x, "rois_ext")
    masked(net, "stage5", regions, masks_of(net, "stage4", net.pool("stage4_pool", regions, "MAX", 2, 2)))
    return net


def focal_grid():
    net = Net("Focal_grid", "A detector on a grid whose cells are nearly all background: FocalLoss (Lin et al. 2017)",
              (1, 3, 64, 64), weight=MSRA)
    rows(net, ["data", "coverage-label"], "examples/grid/train.txt", 2)
    x = net.conv("cls_score", backbone(net), 2, 1)
    net.add("loss", "FocalLoss", [x, "coverage-label"], ["loss"], "train", loss_weight=1,
            focal_loss_param={"alpha": 1.0, "gamma": 2.0})
    net.add("prob", "Softmax", [x], ["prob"], "deploy")
    return net


def detectnet():
    net = Net("DetectNet",
              "DetectNet (NVIDIA 2016): a grid of coverage by EuclideanLoss, of boxes by L1Loss where it is",
              (1, 3, 64, 64), weight=XAVIER)
    rows(net, ["data", "coverage-label", "bbox-label", "coverage-block"], "examples/grid/train.txt", 2)
    x = backbone(net)
    coverage = net.in_place("Sigmoid", net.conv("cvg/classifier", x, 1, 1))
    boxes = net.conv("bbox/regressor", x, 4, 1)
    masked = net.add("bbox_mask", "Eltwise", [boxes, "coverage-block"], ["bboxes-masked"], "train",
                     eltwise_param={"operation": Word("PROD")})
    net.add("bbox_loss", "L1Loss", [masked, "bbox-label"], ["loss_bbox"], "train", loss_weight=2)
    net.add("coverage_loss", "EuclideanLoss", [coverage, "coverage-label"], ["loss_coverage"], "train")
    return net


NETS = [fast_rcnn, faster_rcnn_heads, rfcn, rfcn_ohem, fast_rcnn_ohem, rcnn, windows_square, detectnet, ssd_train,
        ssd_mobilenet_train, ssd_annotated, yolo_v2, yolo_v2_centred, mobilenet_yolo, mobilenet_yolo_v3,
        mobilenet_yolo_v3_annotated, tiny_yolo_v3, yolo_v3, focal_grid]
DEPLOYED = [fast_rcnn, faster_rcnn_heads, rfcn, ssd, ssd_mobilenet, yolo_v2, detectnet, faster_rcnn, rfcn_proposals,
            yolo_evaluated, yolo_evaluated_by_object, mobilenet_yolo, mobilenet_yolo_v3, tiny_yolo_v3, mscnn,
            cascade_rcnn, mnc, mnc_5stage]

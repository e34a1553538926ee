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
    x = net.reshape("mbox_conf_reshape", joined[1], [0, -1, CLASSES])
    x = net.flatten("mbox_conf_flatten", net.one("Softmax", x, "mbox_conf_softmax", softmax_param={"axis": 2}))
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


def boxed_images(net):
    """Images with boxes, from arrays; those of an image become those of the batch."""
    rows(net, ["data", "boxes_of_image"], "examples/boxes/train.txt", 2)
    net.reshape("label", "boxes_of_image", [1, 1, -1, 8])


def ssd(trained=False):
    net = Net("SSD_VGG", "SSD (Liu et al. 2016): prior boxes on two maps, the first of them normalised", (1, 3, 64, 64))
    if trained:
        boxed_images(net)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 3, stride=2, pad=1), "MAX", 2, 2)
    x = net.conv_relu("conv4_3", "relu4_3", x, 12, 3, pad=1)
    y = net.in_place("ReLU", net.dilated("fc6", net.pool("pool4", x, "MAX", 2, 2), 16, 6))
    x = prior_boxes(net, "conv4_3", x, [10.0, 20.0], [2.0], True)
    y = prior_boxes(net, "fc7", net.conv_relu("fc7", "relu7", y, 16, 1), [20.0, 40.0], [2.0, 3.0])
    return detections(net, [x, y], trained)


def ssd_train():
    return ssd(trained=True)


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


def yolo_v2():
    net = Net("YOLO_v2", "YOLO v2 (Redmon and Farhadi 2017): fine features as channels beside coarse ones, by Reorg",
              (1, 3, 64, 64), weight=MSRA)

    def conv(name, x, outputs, kernel):
        x = net.conv_bn(name, x, outputs, kernel, pad=kernel // 2, act=None)
        return net.in_place("ReLU", x, relu_param={"negative_slope": 0.1})

    x = net.pool("pool2", conv("conv2", net.pool("pool1", conv("conv1", "data", 8, 3), "MAX", 2, 2), 8, 3), "MAX", 2, 2)
    fine = conv("conv3", x, 8, 3)
    x = conv("conv4", net.pool("pool3", fine, "MAX", 2, 2), 16, 3)
    y = net.one("Reorg", fine, "reorg1", reorg_param={"stride": 2})
    x = conv("conv5", net.concat("concat1", [y, x]), 16, 3)
    net.conv("conv_reg", x, 5 * (5 + CLASSES), 1)
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
        ssd_mobilenet_train]
DEPLOYED = [fast_rcnn, faster_rcnn_heads, rfcn, ssd, ssd_mobilenet, yolo_v2, detectnet, faster_rcnn, rfcn_proposals,
            yolo_evaluated, yolo_evaluated_by_object]

"""Detectors, trained on scenes and tested on them: by prior boxes, by regions, on grids.

Nets with regions learn both their heads at once, from anchors and regions that are worked out beforehand (scenes.py);
in TEST their regions are what layer Proposal finds, as in the published deploy files, and what they say of these is
brought into the form of DetectionOutput: regions are its prior boxes.
"""

from . import scenes, trunks
from .builder import CLASSES, OBJECTS, TEST, TRAIN, Net, Word, constant, gaussian

# --- prior boxes ----------------------------------------------------------------------------------------------------


def prior_boxes(net, name, x, sizes, ratios, kernel, step=None):
    """Codes, scores and prior boxes of one map of features."""
    priors = len(sizes) + 2 * len(ratios)
    flat = []
    for what, outputs in (("loc", 4 * priors), ("conf", CLASSES * priors)):
        y = net.conv(f"{name}_mbox_{what}", x, outputs, kernel, pad=kernel // 2)
        flat.append(net.flatten(f"{name}_mbox_{what}_flat", net.permute(f"{name}_mbox_{what}_perm", y, (0, 2, 3, 1))))
    boxes = {"min_size": float(sizes[0])}
    if len(sizes) > 1:
        boxes["max_size"] = float(sizes[1])
    boxes.update(aspect_ratio=ratios, flip=True, clip=False, variance=[0.1, 0.1, 0.2, 0.2], offset=0.5)
    if step:
        boxes["step"] = step
    flat.append(net.add(f"{name}_mbox_priorbox", "PriorBox", [x, "data"], [f"{name}_mbox_priorbox"],
                        prior_box_param=boxes))
    return flat


def multi_box(net, maps):
    """SSD's loss, and what it finds."""
    codes, scores, priors = (net.add(f"mbox_{name}", "Concat", [m[i] for m in maps], [f"mbox_{name}"],
                                     concat_param={"axis": 2 if name == "priorbox" else 1})
                             for i, name in enumerate(("loc", "conf", "priorbox")))
    net.add("mbox_loss", "MultiBoxLoss", [codes, scores, priors, "label"], ["mbox_loss"], include=TRAIN,
            propagate_down=[True, True, False, False], loss_param={"normalization": Word("VALID")},
            multibox_loss_param={
                "loc_loss_type": Word("SMOOTH_L1"), "conf_loss_type": Word("SOFTMAX"), "loc_weight": 1,
                "num_classes": CLASSES, "share_location": True, "match_type": Word("PER_PREDICTION"),
                "overlap_threshold": 0.5, "use_prior_for_matching": True, "background_label_id": 0,
                "neg_pos_ratio": 3, "neg_overlap": 0.5, "code_type": Word("CENTER_SIZE"),
                "ignore_cross_boundary_bbox": False, "mining_type": Word("MAX_NEGATIVE")})
    first = len(net.layers)
    x = net.one("Softmax", net.reshape("mbox_conf_reshape", scores, [0, -1, CLASSES]), "mbox_conf_softmax",
                softmax_param={"axis": 2})
    found(net, codes, net.flatten("mbox_conf_flatten", x), priors, 0.45)
    net.only(first, TEST)
    return net.evaluated()


def found(net, codes, scores, priors, suppression, shared=True):
    return net.add("detection_out", "DetectionOutput", [codes, scores, priors], ["detection_out"],
                   detection_output_param={
                       "num_classes": CLASSES, "share_location": shared, "background_label_id": 0,
                       "nms_param": {"nms_threshold": suppression, "top_k": 400},
                       "code_type": Word("CENTER_SIZE"), "keep_top_k": 200, "confidence_threshold": 0.01})


def ssd_vgg():
    net = Net("SSD_300_VGG", "SSD-300 on VGG-16 (Liu et al. 2016, weiliu89/caffe): six maps of prior boxes", 300, 16)
    net.scenes(batch=4)
    ends, x = trunks.vgg16(net, pools=4)
    x = net.pool("pool5", x, "MAX", 3, 1, 1)
    x = net.in_place("ReLU", net.dilated("fc6", x, net.narrow(1024), 6))
    x = net.conv_relu("fc7", "relu7", x, net.narrow(1024), 1)
    maps = [("conv4_3_norm", net.one("Normalize", ends[3], "conv4_3_norm", norm_param={
        "across_spatial": False, "scale_filler": constant(20), "channel_shared": False})), ("fc7", x)]
    for stage, outputs, stride in ((6, 512, 2), (7, 256, 2), (8, 256, 1), (9, 256, 1)):
        x = net.conv_relu(f"conv{stage}_1", f"relu{stage}_1", x, net.narrow(outputs // 2), 1)
        x = net.conv_relu(f"conv{stage}_2", f"relu{stage}_2", x, net.narrow(outputs), 3, stride=stride, pad=stride - 1)
        maps.append((f"conv{stage}_2", x))
    limits, steps, ratios = (30, 60, 111, 162, 213, 264, 315), (8, 16, 32, 64, 100, 300), ([2], [2, 3], [2, 3], [2, 3],
                                                                                         [2], [2])
    return multi_box(net, [prior_boxes(net, name, x, limits[i:i + 2], ratios[i], 3, steps[i])
                           for i, (name, x) in enumerate(maps)])


def ssd_mobilenet():
    net = Net("SSD_300_MobileNet", "SSD-300 on MobileNet (chuanqi305/MobileNet-SSD): six maps of prior boxes", 300, 8)
    net.scenes(batch=8, scale=0.007843)
    ends = trunks.mobilenet(net)
    x, maps = ends[-1], [("conv11", ends[10]), ("conv13", ends[12])]
    for stage, outputs in ((14, 512), (15, 256), (16, 256), (17, 128)):
        x = net.conv_bn(f"conv{stage}_1", x, net.narrow(outputs // 2), 1)
        x = net.conv_bn(f"conv{stage}_2", x, net.narrow(outputs), 3, 2, 1)
        maps.append((f"conv{stage}_2", x))
    sizes = ((60,), (105, 150), (150, 195), (195, 240), (240, 285), (285, 300))
    return multi_box(net, [prior_boxes(net, name, x, sizes[i], [2] if i == 0 else [2, 3], 1)
                           for i, (name, x) in enumerate(maps)])


# --- regions --------------------------------------------------------------------------------------------------------

TARGETS = ("rpn_labels", "rpn_targets", "rpn_inside", "rpn_outside")
OF_IMAGE = {"rois": [-1, 5], "labels": [-1], "targets": [-1, 0], "inside": [-1, 0]}


def region_targets(net, source, batch, width):
    """What anchors and regions shall say; arrays of an image's regions become those of the batch."""
    net.rows([*TARGETS, *(f"{top}_of_image" for top in OF_IMAGE)], source, batch)
    first = len(net.layers)
    for top, dims in OF_IMAGE.items():
        net.add(top, "Reshape", [f"{top}_of_image"], [top],
                reshape_param={"shape": {"dim": [width if dim == 0 else dim for dim in dims]}})
    net.only(first, TRAIN)


def proposing_head(net, x):
    """A region proposal network, its losses in TRAIN and its regions in TEST."""
    anchors = scenes.ANCHORS
    y = net.conv_relu("rpn_conv/3x3", "rpn_relu/3x3", x, net.narrow(512), 3, pad=1, weight=gaussian(0.01))
    scores = net.reshape("rpn_cls_score_reshape", net.conv("rpn_cls_score", y, 2 * anchors, 1, weight=gaussian(0.01)),
                         [0, 2, -1, 0])
    codes = net.conv("rpn_bbox_pred", y, 4 * anchors, 1, weight=gaussian(0.01))
    net.add("rpn_loss_cls", "SoftmaxWithLoss", [scores, "rpn_labels"], ["rpn_cls_loss"], include=TRAIN,
            propagate_down=[True, False], loss_weight=1, loss_param={"ignore_label": -1, "normalize": True})
    net.add("rpn_loss_bbox", "SmoothL1Loss", [codes, *TARGETS[1:]], ["rpn_loss_bbox"], include=TRAIN, loss_weight=1,
            smooth_l1_loss_param={"sigma": 3.0})
    first = len(net.layers)
    for name, numbers, value in (("im_size", 2, net.side), ("im_scale", 1, 1)):
        net.add(name, "DummyData", [], [name],
                dummy_data_param={"shape": {"dim": [1, numbers]}, "data_filler": constant(value)})
    net.concat("im_info", ["im_size", "im_scale"])
    prob = net.reshape("rpn_cls_prob_reshape", net.one("Softmax", scores, "rpn_cls_prob"), [0, 2 * anchors, -1, 0])
    net.add("proposal", "Proposal", [prob, codes, "im_info"], ["rois"], proposal_param={
        "feat_stride": scenes.STRIDE, "base_size": scenes.BASE, "min_size": scenes.STRIDE,
        "ratio": list(scenes.RATIOS), "scale": list(scenes.SCALES), "pre_nms_topn": 600, "post_nms_topn": 32,
        "nms_thresh": 0.7})
    net.only(first, TEST)


def found_in_regions(net, scores, codes, shared):
    """What is said of regions as DetectionOutput wants it: these are its prior boxes, of parts of the image."""
    first = len(net.layers)
    net.add("corners", "Slice", ["rois"], ["items", "first_corners", "last_corners"],
            slice_param={"axis": 1, "slice_point": [1, 3]})
    net.silence(["items"], TEST)
    part = 1 / net.side
    boxes = [net.one("Power", "first_corners", power_param={"scale": part}),
             net.one("Power", "last_corners", power_param={"scale": part, "shift": part})]
    deviations = [net.one("Power", f"{which}_corners", f"{which}_deviations",
                          power_param={"scale": 0.0, "shift": value})
                  for which, value in (("first", scenes.DEVIATIONS[0]), ("last", scenes.DEVIATIONS[2]))]
    rows = [net.reshape(f"{name}_row", net.concat(name, parts), [1, 1, -1])
            for name, parts in (("boxes", boxes), ("deviations", deviations))]
    if shared:
        net.add("of_objects", "Slice", [codes], ["codes_of_background", "codes_of_objects"],
                slice_param={"axis": 1, "slice_point": 4})
        net.silence(["codes_of_background"], TEST)
        codes = "codes_of_objects"
    found(net, net.reshape("codes_row", codes, [1, -1]),
          net.reshape("scores_row", net.one("Softmax", scores, "cls_prob"), [1, -1]), net.concat("priors", rows), 0.3,
          shared)
    net.only(first, TEST)
    return net.evaluated()


def faster_rcnn():
    net = Net("Faster_RCNN_VGG16", "Faster R-CNN on VGG-16 (Ren et al. 2015): proposals, ROIPooling, two layers, two "
              "heads", scenes.REGION_SIDE, 8)
    net.scenes(batch=2)
    region_targets(net, "regions", 2, 4 * CLASSES)
    net.silence(["label"], TRAIN)
    x = trunks.vgg16(net, pools=4)[0][-1]
    proposing_head(net, x)
    x = net.add("roi_pool5", "ROIPooling", [x, "rois"], ["pool5"],
                roi_pooling_param={"pooled_w": 7, "pooled_h": 7, "spatial_scale": 0.0625})
    for i in (6, 7):
        x = net.relu(f"relu{i}", net.fc(f"fc{i}", x, net.narrow(4096)))
    scores = net.fc("cls_score", x, CLASSES, gaussian(0.01))
    codes = net.fc("bbox_pred", x, 4 * CLASSES, gaussian(0.001))
    net.add("loss_cls", "SoftmaxWithLoss", [scores, "labels"], ["loss_cls"], include=TRAIN,
            propagate_down=[True, False], loss_weight=1)
    net.add("loss_bbox", "SmoothL1Loss", [codes, "targets", "inside", "inside"], ["loss_bbox"], include=TRAIN,
            loss_weight=1)
    return found_in_regions(net, scores, codes, False)


def rfcn():
    net = Net("RFCN_ResNet50_OHEM", "R-FCN on ResNet-50 with online hard examples (Dai et al. 2016): PSROIPooling, "
              "7 x 7 parts", scenes.REGION_SIDE, 8)
    net.scenes(batch=2, scale=0.017)
    region_targets(net, "agnostic", 2, 8)
    net.silence(["label"], TRAIN)
    middle, x = trunks.resnet50(net)
    proposing_head(net, middle)
    x = net.conv_relu("conv_new_1", "conv_new_1_relu", x, net.narrow(1024), 1)
    heads = []
    for name, outputs in (("cls", CLASSES), ("bbox", 8)):
        maps = net.conv(f"rfcn_{name}", x, 49 * outputs, 1, weight=gaussian(0.01))
        y = net.add(f"psroipooled_{name}_rois", "PSROIPooling", [maps, "rois"], [f"psroipooled_{name}_rois"],
                    psroi_pooling_param={"spatial_scale": 0.0625, "output_dim": outputs, "group_size": 7})
        heads.append(net.reshape(f"{name}_of_rois", net.pool(f"ave_{name}_rois", y, "AVE", 7, 7), [-1, outputs]))
    scores, codes = heads
    first = len(net.layers)
    hard_examples(net, scores, codes)
    net.only(first, TRAIN)
    return found_in_regions(net, scores, codes, True)


def hard_examples(net, scores, codes):
    """R-FCN's losses: of all regions those count that are worst."""
    net.add("per_roi_loss_cls", "SoftmaxWithLossOHEM", [scores, "labels"],
            ["temp_loss_cls", "temp_prob_cls", "per_roi_loss_cls"], loss_weight=[0, 0, 0],
            propagate_down=[False, False])
    net.add("per_roi_loss_bbox", "SmoothL1LossOHEM", [codes, "targets", "inside"],
            ["temp_loss_bbox", "per_roi_loss_bbox"], loss_weight=[0, 0], propagate_down=[False] * 3)
    parts = [net.reshape(f"per_roi_{name}", f"per_roi_loss_{name}", [-1, 1]) for name in ("cls", "bbox")]
    net.sum("per_roi_loss", parts)
    net.add("annotator_detector", "BoxAnnotatorOHEM", ["rois", "per_roi_loss", "labels", "inside"],
            ["labels_ohem", "bbox_loss_weights_ohem"], propagate_down=[False] * 4,
            box_annotator_ohem_param={"roi_per_img": 16, "ignore_label": -1})
    net.silence(["temp_loss_cls", "temp_prob_cls", "temp_loss_bbox"], TRAIN)
    net.add("loss", "SoftmaxWithLoss", [scores, "labels_ohem"], ["loss_cls"], loss_weight=1,
            propagate_down=[True, False], loss_param={"ignore_label": -1})
    net.add("accuracy", "Accuracy", [scores, "labels_ohem"], ["accuracy"], propagate_down=[False, False],
            accuracy_param={"ignore_label": -1})
    net.add("loss_bbox", "SmoothL1LossOHEM", [codes, "targets", "bbox_loss_weights_ohem"], ["loss_bbox"],
            loss_weight=1, loss_param={"normalization": Word("PRE_FIXED"), "pre_fixed_normalizer": 32})


# --- grids ----------------------------------------------------------------------------------------------------------

ANCHORS = [1.3221, 1.73145, 3.19275, 4.00944, 5.05587, 8.09892, 9.47112, 4.84053, 11.2364, 10.0071]
PIXEL_ANCHORS = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326]
SUPPRESSION = 0.45


def yolo_v2():
    net = Net("YOLO_v2", "YOLO v2 on Darknet-19 (Redmon and Farhadi 2017): fine features beside coarse ones by Reorg",
              224, 8)
    net.scenes(batch=4, scale=0.007843)
    fine, x = trunks.darknet19(net)
    for layer in (19, 20):
        x = trunks.leaky(net, f"conv{layer}", x, 1024, 3)
    y = net.one("Reorg", trunks.leaky(net, "conv21", fine, 64, 1), "reorg1", reorg_param={"stride": 2})
    x = trunks.leaky(net, "conv22", net.concat("concat1", [y, x]), 1024, 3)
    # Those published are of 13 x 13 cells, and these are 7 x 7.
    anchors = [round(anchor * 7 / 13, 5) for anchor in ANCHORS]
    predictions = net.conv("conv_reg", x, 5 * (5 + OBJECTS), 1)
    net.add("region_loss", "RegionLoss", [predictions, "label"], ["region_loss"], include=TRAIN, loss_weight=1,
            region_loss_param={
                "side": 7, "num_class": OBJECTS, "coords": 4, "num": 5, "softmax": 1, "jitter": 0.2, "rescore": 1,
                "object_scale": 5.0, "noobject_scale": 1.0, "class_scale": 1.0, "coord_scale": 1.0, "absolute": 1,
                "thresh": 0.6, "random": 0, "biases": anchors})
    net.add("detection_out", "YoloDetectionOutput", [predictions], ["detection_out"], include=TEST,
            yolo_detection_output_param={
                "num_classes": OBJECTS, "coords": 4, "confidence_threshold": 0.01, "nms_threshold": SUPPRESSION,
                "num_box": 5, "biases": anchors})
    return net.evaluated()


def yolo_v3():
    net = Net("YOLO_v3", "YOLO v3 on Darknet-53 (Redmon and Farhadi 2018): three scales, coarse features on fine ones",
              160, 16)
    net.scenes(batch=8, scale=0.007843)
    net.rows(["boxes"], "centred", 8)
    net.silence(["label"], TRAIN)
    ends = trunks.darknet53(net)
    x, predictions = ends[2], []
    masks = [6, 7, 8, 3, 4, 5, 0, 1, 2]
    # Those published are of 416 pixels.
    anchors = [max(1, round(anchor * 160 / 416)) for anchor in PIXEL_ANCHORS]
    for scale, (outputs, pixels) in enumerate(((512, 32), (256, 16), (128, 8))):
        if scale > 0:
            x = trunks.leaky(net, f"reduce{scale}", x, outputs, 1)
            x = net.one("UpsampleDarknet", x, f"upsample{scale}", upsample_darknet_param={"stride": 2})
            x = net.concat(f"route{scale}", [x, ends[2 - scale]])
        for i in range(2):
            x = trunks.leaky(net, f"head{scale}_{i}a", x, outputs, 1)
            x = trunks.leaky(net, f"head{scale}_{i}b", x, 2 * outputs, 3)
        x = trunks.leaky(net, f"head{scale}_2a", x, outputs, 1)
        y = trunks.leaky(net, f"head{scale}_2b", x, 2 * outputs, 3)
        predictions.append(net.conv(f"predictions{scale}", y, 3 * (5 + OBJECTS), 1))
        net.add(f"yolo{scale}_loss", "Yolov3", [predictions[-1], "boxes"], [f"yolo{scale}_loss"], include=TRAIN,
                loss_weight=1, yolov3_param={
                    "side": 160 // pixels, "num_class": OBJECTS, "num": 3, "object_scale": 5.0, "noobject_scale": 1.0,
                    "class_scale": 1.0, "coord_scale": 1.0, "thresh": 0.6, "anchors_scale": pixels,
                    "use_logic_gradient": False, "biases": anchors, "mask": masks[3 * scale:3 * scale + 3]})
    net.add("detection_out", "Yolov3DetectionOutput", predictions, ["detection_out"], include=TEST,
            yolov3_detection_output_param={
                "confidence_threshold": 0.01, "nms_threshold": SUPPRESSION, "num_classes": OBJECTS, "num_box": 3,
                "biases": anchors, "mask": masks, "mask_group_num": 3, "anchors_scale": [32, 16, 8]})
    return net.evaluated()

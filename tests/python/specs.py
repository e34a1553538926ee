"""Nets written with NetSpec, of every habit that scripts have: text of the real pycaffe's is in recorded/specs.json.

Written for either caffe: what a function returns is a NetParameter.
"""

import caffe
from caffe import layers as L
from caffe import params as P


def lenet():
    n = caffe.NetSpec()
    n.data, n.label = L.Data(batch_size=64, backend=P.Data.LMDB, source="train_lmdb",
                             transform_param=dict(scale=1. / 255), ntop=2)
    n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20, weight_filler=dict(type="xavier"))
    n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.ip1 = L.InnerProduct(n.pool1, num_output=500, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.ip1, in_place=True)
    n.ip2 = L.InnerProduct(n.relu1, num_output=10, weight_filler=dict(type="xavier"))
    n.loss = L.SoftmaxWithLoss(n.ip2, n.label)
    return n.to_proto()


def anonymous():
    data = L.DummyData(shape=[dict(dim=[2, 3]), dict(dim=[2])], data_filler=[dict(type="gaussian", std=0.5)], ntop=2)
    ip = L.InnerProduct(data[0], num_output=3)
    return caffe.to_proto(L.EuclideanLoss(L.ReLU(ip, in_place=True), L.Power(ip, power=2)), L.Flatten(data[1]))


def of_one_top():
    return L.Softmax(L.Input(input_param=dict(shape=dict(dim=[1, 10]))), axis=1).to_proto()


def learning_rates():
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 3, 8, 8]))
    learned = [dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, decay_mult=0)]
    n.conv = L.Convolution(n.data, kernel_size=[3, 1], stride=2, pad=[1, 0], num_output=4, group=1, param=learned,
                           weight_filler=dict(type="gaussian", std=0.01), bias_filler=dict(type="constant", value=1))
    n.up = L.Deconvolution(n.conv, convolution_param=dict(num_output=4, kernel_size=4, stride=2, bias_term=False),
                           param=[dict(lr_mult=0)])
    n.score = L.Crop(n.up, n.data, crop_param=dict(axis=2, offset=[1, 1]))
    return n.to_proto()


def stages():
    n = caffe.NetSpec()
    n.data = L.Data(include=[dict(phase=caffe.TRAIN, stage=["deploy", "big"])], exclude=dict(min_level=2), ntop=1,
                    name="records", data_param=dict(source="x", batch_size=4))
    n.fc = L.InnerProduct(n.data, name="fc_of_mine", inner_product_param=dict(num_output=2), loss_weight=[0.5, 0.25],
                          propagate_down=[True])
    n.loss = L.EuclideanLoss(n.fc, n.fc, loss_weight=2, loss_param=dict(normalization=P.Loss.NONE))
    return n.to_proto()


def python_layer():
    n = caffe.NetSpec()
    n.data, n.rois = L.Python(module="roi_data.layer", layer="RoIDataLayer", param_str="'num_classes': 21", ntop=2)
    n["a/b"] = L.Python(n.data, n.rois, python_param=dict(module="m", layer="l", share_in_parallel=True))
    n.accuracy = L.Accuracy(n["a/b"], n.rois, top_k=5, include=dict(phase=caffe.TEST))
    return n.to_proto()


def shared_and_external():
    n = caffe.NetSpec()
    n.left = L.InnerProduct(bottom="data", num_output=2, param=[dict(name="w"), dict(name="b")])
    n.right = L.InnerProduct(bottom="data_p", num_output=2, param=[dict(name="w"), dict(name="b")])
    n.loss = L.ContrastiveLoss(n.left, n.right, margin=1, bottom="sim")
    n.quiet = L.Silence(n.left, n.right, ntop=0)
    return n.to_proto()


def many_layers():
    n = caffe.NetSpec()
    n.data = L.MemoryData(batch_size=2, channels=1, height=4, width=4, ntop=2)[0]
    n.bn = L.BatchNorm(n.data, use_global_stats=False, moving_average_fraction=0.9)
    n.scale = L.Scale(n.bn, bias_term=True, in_place=True)
    n.sum = L.Eltwise(n.scale, n.data, operation=P.Eltwise.SUM, coeff=[1, -1])
    n.cat = L.Concat(n.sum, n.data, axis=1)
    n.a, n.b = L.Slice(n.cat, slice_point=[1], ntop=2)
    n.lrn = L.LRN(n.a, local_size=3, alpha=0.5, beta=0.75, norm_region=P.LRN.WITHIN_CHANNEL)
    n.prelu = L.PReLU(n.b, filler=dict(value=0.1), channel_shared=True)
    n.flat = L.Reshape(n.prelu, reshape_param=dict(shape=dict(dim=[0, -1])))
    n.embed = L.Embed(n.flat, input_dim=10, num_output=3, bias_term=False)
    n.lstm = L.LSTM(n.embed, n.flat, recurrent_param=dict(num_output=5, weight_filler=dict(type="uniform")))
    n.window = L.WindowData(source="w", batch_size=1, fg_threshold=0.6, crop_mode="square", ntop=2)[1]
    return n.to_proto()


SPECS = {make.__name__: make for make in (lenet, anonymous, of_one_top, learning_rates, stages, python_layer,
                                          shared_and_external, many_layers)}


def fcn(pad):
    """The skeleton of a fully convolutional net with three strides."""
    top = data = L.Input()
    pooled = []
    for padding, pools in ((pad, 3), (1, 1), (1, 1)):
        top = L.ReLU(L.Convolution(top, kernel_size=3, pad=padding, num_output=2), in_place=True)
        for _ in range(pools):
            top = L.Pooling(top, kernel_size=2, stride=2)
        pooled.append(top)
    top = L.Convolution(top, convolution_param=dict(kernel_size=[7, 7], num_output=2))
    up2 = L.Deconvolution(top, convolution_param=dict(kernel_size=4, stride=2, num_output=2))
    return data, pooled[0], pooled[1], top, up2


def maps():
    """name -> (from, to) for caffe.coord_map.coord_map_from_to."""
    data, at8, at16, top, up2 = fcn(100)
    up = L.Deconvolution(top, convolution_param=dict(kernel_size=64, stride=32, num_output=2))
    shifted = L.Crop(data, up, crop_param=dict(axis=2, offset=[3, 4]))
    dilated = L.Convolution(data, kernel_size=3, dilation=[2, 4], stride=1, pad=[2, 0])
    return {"up_to_data": (up, data), "up2_to_at16": (up2, at16), "at8_to_data": (at8, data),
            "at16_to_at8": (at16, at8), "data_to_up2": (data, up2), "cropped": (shifted, data),
            "dilated": (dilated, data), "dilated_to_cropped": (L.TanH(dilated), L.Power(shifted))}


def numbers_of(mapped):
    """(axis, scale, shift) as lists of numbers."""
    import numpy as np

    return [mapped[0], *([float(x) for x in np.atleast_1d(part)] for part in mapped[1:])]

"""caffe.coord_map: the maps of the real pycaffe (record_pycaffe.py), and crops of nets that are known."""

import json

import numpy as np
import pytest
from specs import fcn, maps, numbers_of

from caffe import coord_map
from caffe import layers as L
from caffe.coord_map import coord_map_from_to, crop


def test_maps_are_the_real_ones(recorded):
    real = json.loads((recorded / "maps.json").read_text())
    assert real == {name: numbers_of(coord_map_from_to(*tops)) for name, tops in maps().items()}


def crop_of(top):
    param = top.to_proto().layer[-1].crop_param
    return param.axis, list(param.offset)


def test_crops_of_fully_convolutional_nets():
    """Offsets that the published nets of stride 32 and 16 have in their files: 19; 5 and 27."""
    data, _, at16, top, up2 = fcn(100)
    up = L.Deconvolution(top, convolution_param=dict(num_output=2, kernel_size=64, stride=32))
    assert crop_of(crop(up, data)) == (2, [19, 19])
    finer = crop(at16, up2)
    assert crop_of(finer) == (2, [5, 5])
    up16 = L.Deconvolution(L.Eltwise(up2, finer), convolution_param=dict(num_output=2, kernel_size=32, stride=16))
    assert crop_of(crop(up16, data)) == (2, [27, 27])


def test_a_whole_way_and_back():
    data = L.Input()
    down = L.Pooling(L.Convolution(data, kernel_size=3, pad=1, num_output=1), kernel_size=2, stride=2)
    up = L.Deconvolution(down, convolution_param=dict(kernel_size=2, stride=2, num_output=1))
    axis, scale, shift = coord_map_from_to(up, data)
    assert axis == 1 and scale == 1 and shift == 0
    there, back = coord_map_from_to(down, data), coord_map_from_to(data, down)
    assert back == coord_map.inverse(there)
    assert crop_of(crop(up, data)) == (2, [0])


@pytest.mark.parametrize("make, error, words", [
    (lambda x: crop(L.Pooling(x, kernel_size=2, stride=2), x), AssertionError, "scale mismatch on crop"),
    (lambda x: crop(L.Convolution(x, kernel_size=3), x), AssertionError, "cannot crop negative offset"),
    (lambda x: crop(L.Convolution(x, kernel_size=2, pad=1), x), AssertionError, "noninteger offset"),
    (lambda x: crop(L.ReLU(x), x), AssertionError, "spatial axes"),
    (lambda x: crop(L.Convolution(x, kernel_h=3, kernel_w=3), x), AssertionError, "legacy _h/_w params: .*kernel_h"),
    (lambda x: coord_map_from_to(L.Input(), x), RuntimeError, "Could not compute map"),
    (lambda x: coord_map_from_to(L.InnerProduct(x), x), RuntimeError, "connected by spatial layers"),
    (lambda x: coord_map_from_to(L.Crop(L.Input(), x), x), RuntimeError, "Could not compute map"),
    (lambda x: coord_map_from_to(L.Convolution(L.Pooling(x, kernel_size=2), kernel_size=1, axis=2), x),
     coord_map.AxisMismatchException, "axis 2, the other at 1"),
    (lambda x: coord_map.coord_map(L.InnerProduct(x).fn), coord_map.UndefinedMapException, "InnerProduct"),
])
def test_mistakes(make, error, words):
    with pytest.raises(error, match=words):
        make(L.Input())


def test_parameters_of_layers():
    convolution = L.Convolution(L.Input(), kernel_size=[3, 5], dilation=2, pad=1)
    axis, stride, kernel, pad = coord_map.conv_params(convolution.fn)
    assert (axis, stride.tolist(), kernel.tolist(), pad.tolist()) == (1, [1], [5, 9], [1])
    axis, offset = coord_map.crop_params(L.Crop(L.Input(), L.Input(), axis=1, offset=[2, 3]).fn)
    assert axis == 1 and np.array_equal(offset, [2, 3])

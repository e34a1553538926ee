"""caffe.NetSpec: what it prints is what the real one prints, and mistakes are named."""

import copy
import json
import pickle

import numpy as np
import pytest
from google.protobuf import text_format
from specs import SPECS

import caffe
from caffe import layers as L
from caffe import net_spec
from caffe import params as P
from caffe.proto import caffe_pb2


@pytest.mark.parametrize("name", SPECS)
def test_as_the_real_one(name, recorded):
    real = json.loads((recorded / "specs.json").read_text())[name]
    assert SPECS[name]() == text_format.Parse(real, caffe_pb2.NetParameter())


def test_layers_come_in_the_order_they_were_named():
    n = caffe.NetSpec()
    late, early = L.Input(shape=dict(dim=[1])), L.Input(shape=dict(dim=[2]))
    n.early, n.late = early, late
    n.sum = L.Eltwise(n.late, n.early)
    assert [layer.name for layer in n.to_proto().layer] == ["early", "late", "sum"]


def test_items_and_attributes_are_the_same():
    n = caffe.NetSpec()
    n["conv/1"] = L.Input()
    n.other = L.Input()
    assert n["other"] is n.other and "conv/1" in n and "none" not in n
    del n.other
    del n["conv/1"]
    assert list(n.tops) == []
    with pytest.raises(KeyError, match="no top other"):
        n["other"]
    assert not hasattr(n, "other")
    with pytest.raises(AttributeError, match="it has none"):
        del n.other


def test_keys_vals_and_update_of_ssd():
    n = caffe.NetSpec()
    n.data, n.label = L.Data(batch_size=2, ntop=2)
    n.ip = L.InnerProduct(n.data, num_output=3)
    assert n.keys() == ["data", "label", "ip"] and n.vals() == [n.data, n.label, n.ip]
    n.update("ip", dict(num_output=4, param=[dict(lr_mult=0)]))
    n.update("label", dict(batch_size=5))
    n.quiet = L.Silence(n.ip, ntop=0)
    n.update("quiet", dict(name="hush"))
    data, ip, quiet = n.to_proto().layer
    assert ip.inner_product_param.num_output == 4 and ip.param[0].lr_mult == 0
    assert data.data_param.batch_size == 5 and quiet.name == "hush"
    n.ip._update(dict(axis=2))
    n.ip.fn._update(dict(bias_term=False))
    assert n.to_proto().layer[1].inner_product_param.axis == 2
    assert not n.to_proto().layer[1].inner_product_param.bias_term
    with pytest.raises(KeyError, match="no top absent; it has data, label, ip, quiet"):
        n.update("absent", dict(axis=1))


def test_tops_may_be_called_as_methods_are():
    """BVLC's NetSpec has no such methods: its scripts may call a gate `update`."""
    n = caffe.NetSpec()
    n.update = L.Sigmoid(L.Input(shape=dict(dim=[1])))
    n.keys = L.ReLU(n.update)
    assert [layer.name for layer in n.to_proto().layer] == ["Input1", "update", "keys"]
    assert n.keys.fn.inputs == (n["update"],) and callable(n.vals)


def test_values_of_every_kind():
    shape = caffe_pb2.BlobShape(dim=[3, 4])
    net = L.Input(shape=[shape, dict(dim=np.array([5, 6]))]).to_proto()
    assert [list(shape.dim) for shape in net.layer[0].input_param.shape] == [[3, 4], [5, 6]]
    pool = L.Pooling(L.Input(), pool="AVE", kernel_size=np.int64(3)).to_proto().layer[1].pooling_param
    assert pool.pool == P.Pooling.AVE and pool.kernel_size == 3
    assert L.ReLU(bottom="x", negative_slope=np.array(0.5)).to_proto().layer[0].relu_param.negative_slope == 0.5
    layer = L.Convolution(bottom="x", kernel_size=(3, 1)).to_proto().layer[0]
    assert list(layer.convolution_param.kernel_size) == [3, 1] and list(layer.bottom) == ["x"]


def test_types_whose_settings_lie_elsewhere():
    assert L.Deconvolution(bottom="x", num_output=3).to_proto().layer[0].convolution_param.num_output == 3
    assert L.LSTM(bottom="x", num_output=3).to_proto().layer[0].recurrent_param.num_output == 3
    assert L.ReLU6(bottom="x", negative_slope=1).to_proto().layer[0].HasField("relu6_param")
    assert L.OfMyPlugin(bottom="x", loss_weight=2).to_proto().layer[0].type == "OfMyPlugin"


def test_names_of_fields():
    names = net_spec.param_name_dict()
    assert names["InnerProduct"] == "inner_product" and names["ReLU"] == "relu" and names["HDF5Data"] == "hdf5_data"
    assert P.Pooling.MAX == 0 and P.Data.LMDB == 1 and P.Loss.NONE == caffe_pb2.LossParameter.NONE
    assert P.Pooling.PoolMethod.Value("AVE") == 1 and P.PriorBox.CodeType.Name(2) == "CENTER_SIZE"


@pytest.mark.parametrize("make, error, words", [
    (lambda: L.ReLU(L.Data(ntop=2)), TypeError, r"ReLU input 0 is not a Top \(type is <class 'tuple'>\)"),
    (lambda: L.Convolution(L.Input(), num_outputs=3).to_proto(), AttributeError,
     "layer Convolution1: type Convolution has no setting num_outputs; is num_output meant"),
    (lambda: L.Convolution(L.Input(), weight_filler=dict(kind="xavier")).to_proto(), AttributeError,
     "layer Convolution1: FillerParameter has no field kind"),
    (lambda: L.Convolution(L.Input(), num_output="3").to_proto(), TypeError,
     "ConvolutionParameter does not take num_output='3'"),
    (lambda: L.Convolution(L.Input(), num_output=-3).to_proto(), ValueError, "num_output=-3"),
    (lambda: L.Pooling(L.Input(), pool="MIN").to_proto(), ValueError, "MIN is none of MAX, AVE"),
    (lambda: L.Convolution(L.Input(), weight_filler="xavier").to_proto(), TypeError, "no FillerParameter; give dict"),
    (lambda: L.Input(name="\udcff").to_proto(), ValueError, "layer Input1: "),
    (lambda: L.ReLU(L.Input(), in_place=True, ntop=2)[0].to_proto(), ValueError, "in place on 1 bottoms and has 2"),
    (lambda: P.Pooling.MIN, AttributeError, "PoolingParameter has no constant MIN; it has MAX"),
    (lambda: P.Nothing.MIN, AttributeError, "no message NothingParameter"),
    (lambda: L._private, AttributeError, "_private"),
])
def test_mistakes(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("bottom, words", [("data", "bottom='data'"), (L.Data(ntop=2), "unpack it"),
                                           (L.Silence(ntop=0), "no output to read"), (3, "what a layer function")])
def test_what_to_give_in_place_of_no_top(bottom, words):
    """BVLC's own tests know the whole message: the way out is a note below it."""
    with pytest.raises(TypeError) as caught:
        L.ReLU(L.Input(), bottom)
    assert str(caught.value) == f"ReLU input 1 is not a Top (type is {type(bottom)})"
    if hasattr(caught.value, "add_note"):  # Python 3.11
        assert words in caught.value.__notes__[0]


def test_what_is_no_top_is_refused_by_name():
    n = caffe.NetSpec()
    with pytest.raises(TypeError, match="data is set to a tuple, .*unpack it"):
        n.data = L.Data(ntop=2)


def deep_net(depth):
    n = caffe.NetSpec()
    top = n.data = L.Input(shape=dict(dim=[1, 2]))
    for _ in range(depth):
        top = L.Eltwise(L.ReLU(top, in_place=True), n.data)
    n.end = top
    n.quiet = L.Silence(top, ntop=0)
    return n


def test_deep_nets_are_written_and_pickled():
    n = deep_net(3000)
    net = n.to_proto()
    assert len(net.layer) == 6002
    again = pickle.loads(pickle.dumps(n))
    assert again.to_proto() == net and copy.deepcopy(n).to_proto() == net
    assert again.end is again.quiet.inputs[0]
    again.end = L.Input()
    assert n.to_proto() == net


def test_tops_are_pickled():
    top = L.Softmax(L.Input(shape=dict(dim=[1])))
    assert pickle.loads(pickle.dumps(top)).to_proto() == top.to_proto()


def test_generated_names_avoid_given_ones():
    n = caffe.NetSpec()
    n.ReLU1 = L.Input()
    n.end = L.Softmax(L.ReLU(n.ReLU1))
    assert [layer.name for layer in n.to_proto().layer] == ["ReLU1", "ReLU2", "end"]


def test_no_setting_of_a_layer_is_hidden_by_another():
    """What a keyword means for every layer must not depend on the type: name, top, loss_weight, param and so on."""
    ours = set("name top bottom phase loss_weight param include exclude propagate_down blobs".split())
    for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields:
        if field.name.endswith("_param"):
            assert not ours & set(field.message_type.fields_by_name), field.name

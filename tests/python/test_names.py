"""Names of BVLC's pycaffe 1.0 that scripts may use, of the module and its classes, and what those below pycaffe say."""

import importlib
import pathlib
import types

import numpy as np
import pytest

NET = """name: "small"
layer { name: "data" type: "Input" top: "data" top: "label" input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }
layer { name: "left" type: "InnerProduct" bottom: "data" top: "left" inner_product_param { num_output: 2 } }
layer { name: "relu" type: "ReLU" bottom: "left" top: "left" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "left" bottom: "label" top: "loss" loss_weight: 3 }
layer { name: "most" type: "ArgMax" bottom: "data" top: "most" }
"""
SOLVER = 'net: "net.prototxt" test_iter: 1 test_interval: 9 base_lr: 0.1 lr_policy: "fixed" max_iter: 10\n'
RULES = ("Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")
# What dir() of the real one shows, but for names that docs/python.md says are not here.
NAMES = {
    "caffe": """AdaDeltaSolver AdaGradSolver AdamSolver Classifier Detector Layer NCCL Net NesterovSolver NetSpec
        RMSPropSolver SGDSolver TEST TRAIN Timer __version__ classifier detector get_solver has_nccl init_log io
        layer_type_list layers log net_spec params proto pycaffe set_device set_mode_cpu set_mode_gpu set_multiprocess
        set_random_seed set_solver_count set_solver_rank solver_count solver_rank to_proto""",
    "caffe.pycaffe": "AdaDeltaSolver AdaGradSolver AdamSolver NCCL Net NesterovSolver RMSPropSolver SGDSolver Timer",
    "caffe._caffe": "Blob Net Solver init_log layer_type_list log set_device set_mode_cpu set_mode_gpu set_random_seed",
    "caffe.io": """Transformer array_to_blobproto array_to_datum arraylist_to_blobprotovector_str blobproto_to_array
        blobprotovector_str_to_arraylist caffe_pb2 datum_to_array load_image oversample resize_image""",
    "caffe.net_spec": "Function Layers NetSpec Parameters Top assign_proto layers param_name_dict params to_proto",
    "caffe.coord_map": """AxisMismatchException PASS_THROUGH_LAYERS UndefinedMapException compose conv_params coord_map
        coord_map_from_to crop crop_params inverse""",
    "caffe.draw": """choose_color_by_layertype draw_net draw_net_to_file get_edge_label get_layer_label
        get_layer_lr_mult get_pooling_types_dict get_pydot_graph""",
}
NET_NAMES = """_backward _batch _blob_loss_weights _blob_names _blobs _bottom_ids _forward _inputs _layer_names _outputs
    _set_input_arrays _top_ids backward blob_loss_weights blobs bottom_names clear_param_diffs copy_from forward
    forward_all forward_backward_all inputs layer_dict layers load_hdf5 outputs params reshape save save_hdf5
    set_input_arrays share_with top_names"""
SOLVER_NAMES = "add_callback iter lr net param restore share_weights snapshot solve step test_nets"
BLOB_NAMES = "channels count data diff height num reshape shape width"


@pytest.fixture
def net(running_caffe):
    pathlib.Path("net.prototxt").write_text(NET)
    return running_caffe.Net("net.prototxt", running_caffe.TRAIN)


@pytest.fixture
def solver(running_caffe):
    pathlib.Path("net.prototxt").write_text(NET)
    pathlib.Path("solver.prototxt").write_text(SOLVER)
    return running_caffe.SGDSolver("solver.prototxt")


@pytest.mark.parametrize("module", NAMES)
def test_modules(running_caffe, module):
    assert [name for name in NAMES[module].split() if not hasattr(importlib.import_module(module), name)] == []


def test_objects(net, solver):
    for one, names in ((net, NET_NAMES), (solver, SOLVER_NAMES), (net.blobs["data"], BLOB_NAMES),
                       (solver.net, NET_NAMES)):
        assert [name for name in names.split() if name not in dir(one)] == []


def test_blobs_and_layers_by_number(net):
    names = list(net.blobs)
    assert names == list(net._blob_names) and len(net._blobs) == len(names)
    assert [net._blobs[number].data.shape for number in range(len(names))] == [net.blobs[name].shape for name in names]
    net._blobs[names.index("data")].data[...] = 5
    assert (net.blobs["data"].data == 5).all()
    for number, layer in enumerate(net._layer_names):
        assert [names[blob] for blob in net._bottom_ids(number)] == net.bottom_names[layer]
        assert [names[blob] for blob in net._top_ids(number)] == net.top_names[layer]
    assert [names[blob] for blob in net._inputs] == net.inputs == ["data", "label"]
    assert [names[blob] for blob in net._outputs] == net.outputs
    assert set(net.outputs) == {"loss", "most"}
    assert list(net._blob_loss_weights) == list(net.blob_loss_weights.values())
    assert net._blob_loss_weights[names.index("loss")] == 3
    for ids in (net._bottom_ids, net._top_ids):
        with pytest.raises(IndexError, match=f"no layer 77; the net has {len(net.layers)}"):
            ids(77)


def test_every_solver_is_one_of_sgd(running_caffe):
    for rule in RULES:
        assert issubclass(getattr(running_caffe, rule + "Solver"), running_caffe.SGDSolver)
    pathlib.Path("net.prototxt").write_text(NET)
    for rule in RULES:
        pathlib.Path("solver.prototxt").write_text(SOLVER + f'type: "{rule}"')
        made = running_caffe.get_solver("solver.prototxt")
        assert type(made) is getattr(running_caffe, rule + "Solver") and isinstance(made, running_caffe.SGDSolver)
        assert made.param.type == rule


def test_weights_of_a_solver_are_shared(solver, net):
    solver.share_weights(net)
    solver.net.params["left"][0].data[...] = 7
    assert (net.params["left"][0].data == 7).all()


def test_settings_that_are_changed_are_not_passed_over(solver):
    assert solver.param is solver.param and solver.param.base_lr == pytest.approx(0.1)
    solver.net.blobs["label"].data[...] = 1
    solver.step(1)
    solver.param.base_lr = 0.5
    for work in (lambda: solver.step(1), solver.solve, lambda: solver.fit(1, progress=False)):
        with pytest.raises(ValueError, match="solver.param: base_lr is changed.* make a solver of it"):
            work()
    assert solver.iter == 1
    solver.param.base_lr = 0.1
    solver.step(1)
    solver.param.test_state.add(level=3)
    with pytest.raises(ValueError, match="solver.param: test_state is changed"):
        solver.step(1)


def test_unknown_layers_are_errors_of_either_kind(net):
    for error in (KeyError, ValueError):
        for work in (net.forward, net.backward):
            for where in ("start", "end"):
                with pytest.raises(error, match="^the net has no layer nothing; it has data, "):
                    work(**{where: "nothing"})


def test_a_stopwatch(running_caffe, monkeypatch):
    seconds = [5.0]
    monkeypatch.setattr("caffe.timer.time", types.SimpleNamespace(perf_counter=lambda: seconds[0]))
    timer = running_caffe.Timer()
    assert timer.ms == 0
    timer.start()
    seconds[0] += 0.25
    timer.start()  # it runs already
    seconds[0] += 0.25
    timer.stop()
    seconds[0] += 1
    timer.stop()
    assert timer.ms == 500
    timer.start()
    seconds[0] += 0.125
    assert timer.ms == 125  # anew
    seconds[0] += 1
    assert timer.ms == 125  # asking has stopped it


def test_batches_of_names_that_are_no_blobs(net):
    """By the net's first input, as BVLC has it."""
    batches = list(net._batch({"features": np.ones((6, 2))}))
    assert [batch["features"].shape for batch in batches] == [(4, 2)] * 2
    assert batches[1]["features"].sum() == 4


def test_hdf5_beside_a_file_of_a_similar_name(net):
    pathlib.Path("weights.hdf5.h5").write_text("somebody's")
    before = set(pathlib.Path().iterdir())
    net.params["left"][0].data[...] = 2
    net.save_hdf5("weights.hdf5")
    assert pathlib.Path("weights.hdf5.h5").read_text() == "somebody's"
    assert set(pathlib.Path().iterdir()) - before == {pathlib.Path("weights.hdf5")}
    net.params["left"][0].data[...] = 0
    net.load_hdf5("weights.hdf5")
    assert (net.params["left"][0].data == 2).all()
    with pytest.raises(Exception, match="absent"):
        net.save_hdf5("absent/weights.hdf5")

"""What nets keep: parameters of their own beside shared ones, inputs, samples, and what scripts have written."""

import gc
import pathlib
import threading
import weakref

import numpy as np
import pytest

NET = """
layer { name: "in" type: "Input" top: "data" top: "label" input_param { shape { dim: 4 dim: 6 } shape { dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "HEAD" type: "InnerProduct" bottom: "ip" top: "out"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "out" bottom: "label" top: "loss" }
"""
SOLVER = 'train_net: "solved.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 100 snapshot_prefix: "s"\n'


@pytest.fixture
def make(running_caffe):
    """make(head): a net whose last layer has this name."""
    pathlib.Path("solved.prototxt").write_text(NET.replace("HEAD", "solved"))
    pathlib.Path("solver.prototxt").write_text(SOLVER)

    def made(head):
        pathlib.Path(f"{head}.prototxt").write_text(NET.replace("HEAD", head))
        return running_caffe.Net(f"{head}.prototxt", running_caffe.TRAIN)
    return made


def test_parameters_that_are_not_shared_stay(make):
    one, other = make("one"), make("other")
    other.params["other"][0].data[...] = 7
    other.params["other"][0].diff[...] = 5
    other.blobs["data"].data[...] = 3
    other.share_with(one)
    assert (other.params["other"][0].data == 7).all() and (other.params["other"][0].diff == 5).all()
    assert (other.blobs["data"].data == 3).all()
    one.params["ip"][0].data[...] = 2
    assert (other.params["ip"][0].data == 2).all()
    other.forward()
    assert np.allclose(other.blobs["ip"].data, 36)


def test_sharers_outlive_a_restore(make, running_caffe):
    solver = running_caffe.get_solver("solver.prototxt")
    solver.net.params["ip"][0].data[...] = 4
    state = solver.snapshot()[1]
    sharer, second = make("one"), make("other")
    sharer.share_with(solver.net)
    second.share_with(sharer)
    sharer.params["one"][0].data[...] = 7
    sharer.blobs["data"].reshape(2, 6)
    sharer.blobs["label"].reshape(2)
    sharer.reshape()
    sharer.blobs["data"].data[...] = 1
    solver.net.params["ip"][0].data[...] = 9
    with pytest.raises(running_caffe.Error):
        solver.restore("nowhere.solverstate")
    assert (sharer.params["ip"][0].data == 9).all() and (sharer.params["one"][0].data == 7).all()
    solver.restore(state)
    for net in (solver.net, sharer, second):
        assert (net.params["ip"][0].data == 4).all()
    assert (sharer.params["one"][0].data == 7).all() and sharer.blobs["data"].data.shape == (2, 6)
    sharer.forward()
    assert np.allclose(sharer.blobs["ip"].data, 24)
    solver.net.params["ip"][0].data[...] = 5
    assert (second.params["ip"][0].data == 5).all()


def test_who_shared_with_a_net_that_shares_with_another_one_now(make):
    first, second, third = make("first"), make("second"), make("third")
    third.share_with(second)
    second.params["ip"][0].data[...] = 1
    second.share_with(first)
    first.params["ip"][0].data[...] = 2
    assert (second.params["ip"][0].data == 2).all() and (third.params["ip"][0].data == 1).all()
    del second, first
    gc.collect()
    third.forward()
    assert (third.params["ip"][0].data == 1).all()


def test_a_refused_reshape_changes_nothing(make, running_caffe, tmp_path):
    net = make("one")
    net.blobs["data"].data[...] = 3
    wanted = net.forward()["loss"].copy()
    net.blobs["data"].reshape(4, 7)
    net.blobs["data"].data[...] = 1
    with pytest.raises(running_caffe.Error):
        net.forward()
    assert net.blobs["data"].shape == (4, 6)
    net.save(str(tmp_path / "saved.caffemodel"))
    net.blobs["data"].data[...] = 3
    assert net.forward()["loss"] == wanted


def test_copies_are_sent_before_anything_reads_the_net(running_caffe):
    """An input on which a layer works in place is a copy in Python."""
    pathlib.Path("net.prototxt").write_text(
        'layer { name: "in" type: "Input" top: "x" top: "z" input_param { shape { dim: 2 } shape { dim: 2 } } }\n'
        'layer { name: "p" type: "Power" bottom: "x" top: "x" power_param { scale: 2 } }\n'
        'layer { name: "q" type: "Power" bottom: "x" top: "y" }\nlayer { name: "r" type: "Power" bottom: "z" top: "w" }')
    net = running_caffe.Net("net.prototxt", running_caffe.TRAIN)
    x = net.blobs["x"].data
    x[...] = 5
    net.clear_param_diffs()
    net.forward()
    assert net.blobs["y"].data.tolist() == [10, 10]
    net.blobs["x"].data[...] = 6
    net.blobs["z"].reshape(3)
    net.blobs["z"].data[...] = 1
    net.forward()
    assert net.blobs["y"].data.tolist() == [12, 12] and net.blobs["w"].data.tolist() == [1, 1, 1]


def test_arrays_are_views(make):
    """What is done in place to the array that a script has got is done to it alone."""
    net = make("one")
    array = net.blobs["data"].data
    array.shape = (24,)
    array.dtype = np.uint8
    frozen = net.blobs["ip"].data
    frozen.flags.writeable = False
    assert net.blobs["data"].data.shape == (4, 6) and net.blobs["data"].data.dtype == np.float32
    assert net.blobs["ip"].data.flags.writeable
    with pytest.raises(ValueError):
        net.blobs["data"].data.resize((100,), refcheck=False)
    net.forward()


def test_a_weak_reference_that_closes_the_net(make):
    net = make("one")
    for name in ("data", "ip"):
        weakref.finalize(net.blobs[name].data.base, net.close)
    net.close()
    gc.collect()
    assert net.closed


def test_callbacks_that_know_their_solver_keep_nothing(make, running_caffe):
    solver = running_caffe.get_solver("solver.prototxt")
    solver.add_callback(lambda: solver.iter, lambda: solver.lr)
    solver.step(1)
    gone = weakref.ref(solver)
    del solver
    gc.collect()
    assert gone() is None


def test_a_callback_that_adds_one(make, running_caffe):
    solver, called = running_caffe.get_solver("solver.prototxt"), []

    def first():
        if not called:
            solver.add_callback(lambda: called.append("second"), lambda: called.append("gradients"))
        called.append("first")

    solver.add_callback(first, lambda: None)
    solver.step(2)
    assert called.count("first") == 2 and called.count("second") >= 1 and called.count("gradients") >= 1


@pytest.mark.parametrize("made", ["Net", "SGDSolver"])
def test_objects_without_init(running_caffe, made):
    thing = getattr(running_caffe, made).__new__(getattr(running_caffe, made))
    for name in ("name", "iter", "net", "inputs", "closed", "_layer_names", "lr"):
        if hasattr(type(thing), name):
            with pytest.raises((RuntimeError, TypeError)):
                getattr(thing, name)


def test_names_are_read_while_another_thread_restores(make, running_caffe):
    solver = running_caffe.get_solver("solver.prototxt")
    state = solver.snapshot()[1]
    net, stop, read, wrong = solver.net, threading.Event(), [], []

    def look():
        while not stop.is_set():
            try:
                read.append(len(net.layers) + len(net._layer_names) + len(net.outputs))
            except running_caffe.Error:
                pass
            except Exception as error:  # pylint: disable=broad-except
                wrong.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(40):
        try:
            solver.restore(state)
        except running_caffe.Error as error:
            assert "another thread" in str(error)
    stop.set()
    thread.join(60)
    assert not wrong and len(set(read)) <= 1


def test_samples_stay_when_a_part_of_a_pass_wants_a_net_of_another_making(running_caffe):
    pathlib.Path("net.prototxt").write_text(
        'layer { name: "m" type: "MemoryData" top: "data" top: "label" '
        'memory_data_param { batch_size: 2 channels: 3 height: 8 width: 8 } }\n'
        'layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 8 kernel_size: 3 '
        'weight_filler { type: "xavier" } } }\nlayer { name: "r" type: "ReLU" bottom: "c" top: "c" }\n'
        'layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 2 stride: 2 } }\n')
    net = running_caffe.Net("net.prototxt", running_caffe.TEST)
    net.set_input_arrays(np.random.RandomState(1).rand(2, 3, 8, 8).astype("f4"), np.zeros(2, "f4"))
    wanted = net.forward()["p"].copy()
    net.forward(end="c")
    assert np.array_equal(net.forward()["p"], wanted)


def test_backward_before_any_forward(make, running_caffe):
    pathlib.Path("net.prototxt").write_text(
        "force_backward: true\n"
        'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }\n'
        'layer { name: "p" type: "Power" bottom: "x" top: "y" power_param { scale: 3 } }\n')
    net = running_caffe.Net("net.prototxt", running_caffe.TRAIN)
    for size in (2, 5):
        net.blobs["x"].reshape(size)
        net.reshape()
        net.blobs["y"].diff[...] = 2
        net.backward()
        assert net.blobs["x"].diff.tolist() == [6] * size


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_nets_give_their_memory_back(running_caffe):
    pathlib.Path("net.prototxt").write_text(
        'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 64 dim: 2000 } } }\n'
        'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1000 } }\n')
    one = 4 * 2000 * 1000  # bytes of the weights alone

    def use():
        net = running_caffe.Net("net.prototxt", running_caffe.TRAIN)
        other = running_caffe.Net("net.prototxt", running_caffe.TRAIN)
        other.share_with(net)
        other.forward(x=np.ones((64, 2000)))
        other.backward()
        assert other.params["ip"][0].diff.shape == (1000, 2000)

    use()
    use()
    gc.collect()
    before = resident()
    for _ in range(10):
        use()
    gc.collect()
    assert resident() - before < 3 * one

"""What a script may do wrong, or at a bad moment: it gets an exception, and the interpreter lives.

Whatever could end the interpreter runs in one of its own (`alone`), whose exit code is looked at.
"""

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

NET = """
name: "perceptron"
layer { name: "in" type: "Input" top: "data" top: "label" input_param { shape { dim: 8 dim: 20 } shape { dim: 8 } } }
layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
        inner_product_param { num_output: 64 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""
SOLVER = 'train_net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1000000000 snapshot_prefix: "s"\n'
START = """
import os, signal, sys, threading, time
import numpy as np
import caffe
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell's background jobs ignore
"""


@pytest.fixture
def files(running_caffe):
    pathlib.Path("net.prototxt").write_text(NET)
    pathlib.Path("solver.prototxt").write_text(SOLVER)
    return running_caffe


def alone(text, **options):
    """Runs a script in an interpreter of its own, with faulthandler so that a crash says where."""
    return subprocess.run([sys.executable, "-X", "faulthandler", "-c", START + textwrap.dedent(text)], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)


def ends_well(text):
    done = alone(text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def filled(caffe, seed):
    """A net whose input and weights are numbers of that seed."""
    numbers = np.random.RandomState(seed)
    net = caffe.Net("net.prototxt", caffe.TRAIN)
    for blobs in net.params.values():
        for blob in blobs:
            blob.data[...] = numbers.normal(0, 0.3, blob.data.shape)
    net.blobs["data"].data[...] = numbers.normal(size=(8, 20))
    net.blobs["label"].data[...] = numbers.randint(0, 5, 8)
    return net


@pytest.mark.parametrize("what", [
    "net.blobs['data'].data[...] = np.zeros((3, 3))",
    "net.blobs['data'].reshape(-4)",
    "net.blobs['data'].reshape(*[1 << 31] * 3)",
    "net.blobs['data'].reshape(*[1] * 40)",
    "net.blobs['data'].reshape(0, 20); net.forward()",
    "net.blobs['data'].reshape(8, 21); net.forward()",
    "net.forward(data=np.zeros((8, 3)))",
    "net.forward(nothing=np.zeros(1))",
    "net.forward(data=object())",
    "net.forward(start='nowhere')",
    "net.forward(end='nowhere')",
    "net._forward(3, 99)",
    "net._backward(-1, 0)",
    "net.blobs['nowhere']",
    "net.params['ip1'][2]",
    "net.copy_from('nowhere.caffemodel')",
    "net.share_with(caffe.Net('other.prototxt', caffe.TEST))",
    "net.set_input_arrays(np.zeros((2, 1, 1, 1), 'f4'), np.zeros(2, 'f4'))",
    "net.save('/nowhere/at/all')",
    "net.close(); net.forward()",
    "net.close(); net.blobs['data'].data",
    "caffe.Net('nowhere.prototxt', caffe.TEST)",
    "caffe.Net('net.prototxt', 7)",
    "caffe.Net(None, None)",
    "caffe.SGDSolver('net.prototxt')",
    "caffe.get_solver(3)",
    "caffe.get_solver('solver.prototxt').step(-1)",
    "caffe.get_solver('solver.prototxt').restore('nowhere.solverstate')",
    "caffe.set_device(-5)",
])
def test_what_is_wrong_raises(files, what):
    net = filled(files, 1)
    pathlib.Path("other.prototxt").write_text(NET.replace('num_output: 5', 'num_output: 6'))
    with pytest.raises(Exception) as raised:
        exec(what, {"net": net, "caffe": files, "np": np})
    assert not isinstance(raised.value, (SystemError, MemoryError)) and str(raised.value)
    if "close" not in what:
        net.blobs["data"].reshape(8, 20)
        assert np.isfinite(filled(files, 1).forward()["loss"]).all()


@pytest.mark.parametrize("path", ["/dev/zero", ".", "none.prototxt"])
def test_nets_are_read_of_files_alone(files, path):
    with pytest.raises(files.Error, match="zero" if path == "/dev/zero" else None):
        files.Net(path, files.TEST)


def test_arrays_outlive_their_net(files):
    net = filled(files, 2)
    data, weights = net.blobs["data"].data, net.params["ip1"][0].data
    before = data.copy(), weights.copy()
    blob = net.blobs["ip1"]
    del net
    assert (data == before[0]).all() and (weights == before[1]).all()
    data[...] = 1
    assert blob.data.shape == (8, 64)
    solver = files.get_solver("solver.prototxt")
    of_solver = solver.net.params["ip1"][0].data
    del solver
    of_solver[...] = 3


def test_eight_threads_with_a_net_each(files):
    wanted = [[filled(files, seed).forward()["loss"].item() for _ in range(1)][0] for seed in range(8)]
    found, wrong = {}, []

    def run(seed):
        try:
            net = filled(files, seed)
            losses = set()
            for _ in range(50):
                losses.add(net.forward()["loss"].item())
                net.backward()
            found[seed] = losses
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and found == {seed: {loss} for seed, loss in enumerate(wanted)}


def test_two_threads_in_one_net(files):
    """The second gets an exception or its turn; the numbers stay whole."""
    net = filled(files, 3)
    wanted, others, stop = net.forward()["loss"].item(), [], threading.Event()

    def disturb():
        while not stop.is_set():
            try:
                others.append(net.forward()["loss"].item())
            except files.Error as error:
                others.append(str(error))

    thread = threading.Thread(target=disturb)
    thread.start()
    found = []
    for _ in range(200):
        try:
            found.append(net.forward()["loss"].item())
        except files.Error as error:
            assert "another thread" in str(error)
    stop.set()
    thread.join(60)
    assert {value for value in found + others if not isinstance(value, str)} <= {wanted}
    assert all("another thread" in value for value in others if isinstance(value, str))


def test_the_lock_is_free_while_a_solver_runs(files):
    solver = files.get_solver("solver.prototxt")
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    solver.step(3000)
    at_the_end = counted[0]
    stop.set()
    thread.join()
    assert at_the_end > 3


def test_fork(files):
    """A child may not use its parent's net, and may build one of its own, also where the parent's threads have computed."""
    assert ends_well("""
        net = caffe.Net('net.prototxt', caffe.TEST)
        net.forward()
        child = os.fork()
        if child == 0:
            try:
                net.forward()
                os._exit(1)
            except caffe.Error as error:
                if 'process' not in str(error):
                    os._exit(2)
            caffe.Net('net.prototxt', caffe.TEST).forward()
            caffe.get_solver('solver.prototxt').step(2)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        net.forward()
    """) == "0\n"


def loss_in_a_process(seed):
    import caffe
    return filled(caffe, seed).forward()["loss"].item()


def test_spawned_processes(files, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ["PYTHONPATH"]]))
    wanted = [loss_in_a_process(seed) for seed in range(2)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(loss_in_a_process, range(2)) == wanted


@pytest.mark.parametrize("end", ["sys.exit(0)", "pass", "del solver", "os.kill(os.getpid(), signal.SIGINT)"])
def test_the_interpreter_ends_while_a_solver_runs(files, end):
    done = alone(f"""
        solver = caffe.get_solver('solver.prototxt')
        thread = threading.Thread(target=solver.solve, daemon=True)
        thread.start()
        while solver.iter < 5:
            time.sleep(0.01)
        {end}
    """)
    interrupted = "SIGINT" in end
    assert done.returncode in ((1, -signal.SIGINT, 130) if interrupted else (0,)), done.stderr
    assert "Fatal" not in done.stderr and "Segmentation" not in done.stderr


def test_ctrl_c_ends_a_solve_with_a_snapshot(files):
    done = alone("""
        solver = caffe.get_solver('solver.prototxt')
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            solver.solve()
        except KeyboardInterrupt:
            print(solver.iter)
    """)
    iteration = int(done.stdout)
    assert done.returncode == 0 and pathlib.Path(f"s_iter_{iteration}.solverstate").exists(), done.stderr
    files.get_solver("solver.prototxt").restore(f"s_iter_{iteration}.solverstate")


def test_callbacks_that_misbehave(files):
    """An exception in a callback ends the pass; a callback that lets go of its solver, or begins another pass, ends nothing."""
    assert ends_well("""
        class Mine(Exception):
            pass
        solver = caffe.get_solver('solver.prototxt')
        def fails():
            raise Mine('on purpose')
        solver.add_callback(fails, lambda: None)
        try:
            solver.step(3)
            print('no exception')
        except Mine:
            print('mine')
        holder = [caffe.get_solver('solver.prototxt')]
        holder[0].add_callback(holder.clear, lambda: None)
        holder[0].step(2)
        again = caffe.get_solver('solver.prototxt')
        again.add_callback(lambda: again.step(1), lambda: None)
        try:
            again.step(2)
            print('no exception')
        except caffe.Error as error:
            print('under way' in str(error))
    """) == "mine\nTrue\n"


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""),
                    reason="AddressSanitizer's allocator may be locked by another thread in a child, and stays so")
def test_a_child_that_is_forked_within_a_pass_ends_at_once(files):
    assert ends_well("""
        solver = caffe.get_solver('solver.prototxt')
        threading.Thread(target=solver.solve, daemon=True).start()
        while solver.iter < 5:
            time.sleep(0.01)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        begin = time.time()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), time.time() - begin < 20)
    """) == "0 True\n"


def test_the_interpreter_ends_while_nets_are_built(files):
    assert ends_well("""
        def build():
            while True:
                try:
                    caffe.Net('net.prototxt', caffe.TEST)
                except caffe.Error:
                    return
        for _ in range(2):
            threading.Thread(target=build, daemon=True).start()
        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(0.5)
        slow = Slow()
        time.sleep(0.3)
        print('end')
    """) == "end\n"


def test_the_interpreter_ends_while_a_layer_waits_for_ever(files):
    pathlib.Path("waits.py").write_text(
        "import queue, caffe\nclass Waits(caffe.Layer):\n    def reshape(self, bottom, top):\n        top[0].reshape(1)\n"
        "    def forward(self, bottom, top):\n        queue.Queue().get()\n")
    pathlib.Path("waits.prototxt").write_text(
        'layer { name: "w" type: "Python" top: "x" python_param { module: "waits" layer: "Waits" } }')
    begin = time.time()
    assert ends_well("""
        sys.path.insert(0, '.')
        net = caffe.Net('waits.prototxt', caffe.TEST)
        threading.Thread(target=net.forward, daemon=True).start()
        time.sleep(0.3)
        print('end')
    """) == "end\n"
    assert time.time() - begin < 50


SLOW_LAYER = """
import time
import caffe
class Slow(caffe.Layer):
    def setup(self, bottom, top):
        pass
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        time.sleep(0.05)
        top[0].data[...] = bottom[0].data
    def backward(self, top, down, bottom):
        time.sleep(0.05)
        bottom[0].diff[...] = top[0].diff
"""


@pytest.mark.parametrize("gpus", ["1:64M", "1:64M:emulated"])
def test_callbacks_look_at_blobs_that_wait_for_a_layer(files, gpus):
    """On a GPU without hardware a layer in Python runs on the stream's thread; who waits for it lets it run."""
    pathlib.Path("slow.py").write_text(SLOW_LAYER)
    between = 'layer { name: "slow" type: "Python" bottom: "ip1" top: "slow" python_param { module: "slow" layer: "Slow" } }'
    net = NET.replace('type: "InnerProduct" bottom: "ip1"', 'type: "InnerProduct" bottom: "slow"')
    pathlib.Path("net.prototxt").write_text(net.replace('layer { name: "ip2"', between + '\nlayer { name: "ip2"'))
    done = alone("""
        sys.path.insert(0, "")
        caffe.set_mode_gpu()
        solver = caffe.SGDSolver("solver.prototxt")
        seen = []
        def look():
            seen.append(float(solver.net.blobs["slow"].data.sum()) + float(solver.net.params["ip1"][0].diff.sum()))
        solver.add_callback(look, look)
        solver.net.blobs["data"].data[...] = 1
        solver.step(2)
        assert len(seen) == 4 and seen[-1] != 0, seen
        """, env={**os.environ, "ROBUSTA_SIM_GPUS": gpus})
    assert done.returncode == 0, done.stderr[-3000:]

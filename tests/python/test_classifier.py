"""caffe.Classifier and caffe.Detector on a net whose scores are the means of the channels."""

import numpy as np
import pytest

import caffe

NET = """layer {{ name: "data" type: "Input" top: "data"
  input_param {{ shape {{ dim: 1 dim: 3 dim: {0} dim: {0} }} }} }}
layer {{ name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param {{ pool: AVE global_pooling: true }} }}
layer {{ name: "scores" type: "Flatten" bottom: "mean" top: "scores" }}
"""
# A file without a layer is none of weights, and these layers have no weights.
WEIGHTS = caffe.io.caffe_pb2.NetParameter(layer=[dict(name="mean", type="Pooling")])


@pytest.fixture
def files(tmp_path):
    """(net, weights) of the net with inputs of 20 x 20."""
    (tmp_path / "net.prototxt").write_text(NET.format(20))
    (tmp_path / "net.caffemodel").write_bytes(WEIGHTS.SerializeToString())
    return str(tmp_path / "net.prototxt"), str(tmp_path / "net.caffemodel")


@pytest.fixture
def images():
    return [image.astype(np.float32) for image in np.random.RandomState(3).rand(2, 20, 24, 3)]


def test_scores_of_centres_and_of_crops(files, images):
    net = caffe.Classifier(*files, image_dims=(20, 24), channel_swap=(2, 1, 0), raw_scale=255,
                           mean=np.array([10.0, 20, 30]), input_scale=0.5)
    assert net.crop_dims.tolist() == [20, 20] and net.image_dims.tolist() == [20, 24]
    centres = net.predict(images, oversample=False)
    want = [(image[:, 2:22, ::-1].mean((0, 1)) * 255 - [10, 20, 30]) * 0.5 for image in images]
    assert centres.shape == (2, 3) and np.allclose(centres, want, atol=1e-3)
    crops = net.predict(images)
    whole = [np.mean([image[:, left:left + 20, ::-1].mean((0, 1)) for left in (0, 4, 0, 4, 2)], 0) for image in images]
    assert crops.shape == (2, 3)
    assert np.allclose(crops, (np.array(whole) * 255 - [10, 20, 30]) * 0.5, atol=1e-3)


def test_sizes_are_those_of_the_input_by_default(files, images):
    net = caffe.Classifier(*files)
    assert net.image_dims.tolist() == [20, 20]
    assert net.predict(np.array(images)).shape == (2, 3)


def test_classifiers_that_do_not_fit(files, images):
    small = caffe.Classifier(*files, image_dims=[10, 30])  # as with BVLC's: its transformer may be of use
    assert small.image_dims.tolist() == [10, 30]
    for oversample in (True, False):
        with pytest.raises(ValueError, match=r"image_dims \(10, 30\) are smaller than the input data, \(20, 20\)"):
            small.predict(images, oversample)
    with pytest.raises(ValueError, match="Mean channels incompatible"):
        caffe.Classifier(*files, mean=np.zeros(4))
    with pytest.raises(ValueError, match="no images to classify"):
        caffe.Classifier(*files).predict([])
    with pytest.raises(ValueError, match="cannot be resized"):
        caffe.Classifier(*files).predict([images[0][..., 0]])


@pytest.fixture
def real():
    import pathlib
    with np.load(pathlib.Path(__file__).parent / "recorded/io.npz") as file:
        return dict(file)


@pytest.mark.parametrize("name", ("mean", "none"))
def test_windows_are_cut_as_the_real_one_cuts(name, files, real):
    mean = np.array([100.0, 110, 120]) if name == "mean" else None
    net = caffe.Detector(*files, mean=mean, raw_scale=255, channel_swap=(2, 0, 1), context_pad=4)
    for index, window in enumerate(real["windows"]):
        assert np.allclose(net.crop(real["window_image"], window), real[f"window_{name}_{index}"], atol=1e-5), window


def test_detections(files, tmp_path):
    from PIL import Image
    pixels = np.random.RandomState(5).randint(0, 256, (30, 40, 3)).astype(np.uint8)
    for name in ("one.png", "other.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    net = caffe.Detector(*files)
    windows = np.array([[0, 0, 20, 20], [5, 6, 25, 26]])
    found = net.detect_windows([(str(tmp_path / "one.png"), windows), (str(tmp_path / "other.png"), windows[:1])])
    assert [detection["filename"][-9:] for detection in found] == [str(tmp_path / "one.png")[-9:]] * 2 + ["other.png"]
    assert np.array_equal(found[1]["window"], windows[1])
    assert np.allclose(found[1]["prediction"], pixels[5:25, 6:26].mean((0, 1)) / 255, atol=1e-5)
    assert net.detect_windows([]) == []


def test_windows_that_do_not_fit(files):
    net, image = caffe.Detector(*files), np.zeros((30, 40, 3))
    for window in ((5, 5, 5, 9), (9, 5, 5, 9), (30, 0, 35, 9), (0, 41, 9, 50), (-5, 0, 0, 9)):
        with pytest.raises(ValueError, match="holds nothing of an image"):
            net.crop(image, window)
    with pytest.raises(ValueError, match="less than half"):
        caffe.Detector(*files, context_pad=10)
    with pytest.raises(ImportError, match="give them to detect_windows"):
        net.detect_selective_search(["x.png"])


def test_one_score_is_a_row_of_one(tmp_path):
    """Scripts read prediction[0], also of a net with one output."""
    from PIL import Image
    Image.fromarray(np.full((30, 40, 3), 51, np.uint8)).save(tmp_path / "one.png")
    (tmp_path / "net.prototxt").write_text(NET.format(20).replace("dim: 3", "dim: 1"))
    (tmp_path / "net.caffemodel").write_bytes(WEIGHTS.SerializeToString())
    net = caffe.Detector(str(tmp_path / "net.prototxt"), str(tmp_path / "net.caffemodel"))
    net.crop = lambda image, window: image[:20, :20, :1]
    found = net.detect_windows([(str(tmp_path / "one.png"), [[0, 0, 20, 20]])])
    assert found[0]["prediction"].shape == (1,) and found[0]["prediction"][0] == pytest.approx(0.2, abs=1e-5)

"""caffe.io: numbers of the real pycaffe (record_pycaffe.py), and errors that say what to do."""

import io as standard_io
import sys

import numpy as np
import pytest
from record_pycaffe import PICTURES, SIZES

import caffe
from caffe.proto import caffe_pb2

# Of numbers in 0 ... 255: what float32 leaves of them.
LIMIT = 1e-4


@pytest.fixture(scope="module")
def real():
    import pathlib
    with np.load(pathlib.Path(__file__).parent / "recorded/io.npz") as file:
        return dict(file)


def assert_close(ours, theirs, limit=LIMIT):
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= limit


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("color", (True, False))
def test_pictures(name, color, real, recorded):
    path = recorded / (name + (".jpg" if name == "jpeg" else ".png"))
    image = caffe.io.load_image(str(path), color)
    assert image.dtype == np.float32
    # Two decoders of JPEG may differ by one in 255.
    assert_close(image, real[f"picture_{name}_{'color' if color else 'gray'}"], 1.01 / 255 if name == "jpeg" else 1e-6)
    with open(path, "rb") as file:
        assert np.array_equal(caffe.io.load_image(file, color), image)


def test_gray_with_alpha_has_three_channels(recorded):
    image = caffe.io.load_image(recorded / "gray_alpha.png")
    assert image.shape == (6, 5, 3) and np.array_equal(image[..., 0], image[..., 2])


def test_pictures_of_numbers(tmp_path):
    """Modes of Pillow that hold 16 bits, and floating-point numbers, which have no range."""
    from PIL import Image
    Image.fromarray(np.array([[0, 65535, 13107]], np.int32)).save(tmp_path / "integers.tif")
    assert_close(caffe.io.load_image(tmp_path / "integers.tif", color=False)[..., 0], np.array([[0, 1, 0.2]]), 1e-6)
    Image.fromarray(np.array([[-1.5, 300]], np.float32)).save(tmp_path / "numbers.tif")
    assert np.array_equal(caffe.io.load_image(tmp_path / "numbers.tif")[0, :, 2], [-1.5, 300])


def test_what_is_no_picture(tmp_path):
    with pytest.raises(OSError):
        caffe.io.load_image(tmp_path / "absent.png")
    with pytest.raises(ValueError, match="no picture that Pillow knows; give a JPEG or PNG"):
        caffe.io.load_image(standard_io.BytesIO(b"no picture"))


@pytest.mark.parametrize("index", range(len(SIZES)))
@pytest.mark.parametrize("order", (0, 1))
@pytest.mark.parametrize("blurred", (True, False))
def test_sizes(index, order, blurred, real):
    image = real[f"image_{index}"]
    ours = caffe.io.resize_image(image, SIZES[index][1], order, anti_aliasing=blurred)
    assert ours.dtype == np.float32
    assert_close(ours, real[f"{'new' if blurred else 'old'}_{index}_{order}"])


def test_an_image_of_one_value_and_of_bytes():
    flat = caffe.io.resize_image(np.full((3, 4, 3), 7.0), (5, 6))
    assert flat.shape == (5, 6, 3) and (flat == 7).all()
    octets = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert_close(caffe.io.resize_image(octets, (4, 4)), octets.astype(np.float32))


@pytest.mark.parametrize("image, size, order, words", [
    (np.zeros((3, 4)), (2, 2), 1, r"shape \(3, 4\) cannot be resized: give an array \(height, width, channels\)"),
    (np.zeros((3, 0, 3)), (2, 2), 1, "cannot be resized"),
    (np.zeros((3, 4, 3)), (2, 0), 1, "each at least 1"),
    (np.zeros((3, 4, 3)), (2,), 1, "give .height, width."),
    (np.zeros((3, 4, 3)), (2, 2), 6, "interp_order is 6: give 0"),
    (np.zeros((3, 4, 3)), (2, 2), -1, "interp_order is -1"),
    (np.zeros((3, 4, 3)), (2, 2, 1), 1, r"new_dims is \(2, 2, 1\).* the image has 3 channels"),
])
def test_sizes_that_are_none(image, size, order, words):
    with pytest.raises(ValueError, match=words):
        caffe.io.resize_image(image, size, order)


def test_sizes_may_name_the_channels():
    """skimage.transform.resize takes (height, width, channels), and some scripts give that."""
    for channels in (1, 3):
        image = np.random.RandomState(channels).rand(9, 8, channels)
        assert np.array_equal(caffe.io.resize_image(image, (5, 4, channels)), caffe.io.resize_image(image, (5, 4)))


@pytest.mark.parametrize("index", range(len(SIZES)))
@pytest.mark.parametrize("order", (2, 3, 4, 5))
@pytest.mark.parametrize("blurred", (True, False))
def test_splines(index, order, blurred, real):
    pytest.importorskip("scipy", minversion="1.6")
    image = real[f"image_{index}"]
    ours = caffe.io.resize_image(image, SIZES[index][1], order, anti_aliasing=blurred)
    assert ours.dtype == np.float32
    assert_close(ours, real[f"{'new' if blurred else 'old'}_{index}_{order}"])


@pytest.mark.parametrize("channels", (3, 4))
def test_splines_want_scipy(channels, monkeypatch):
    for name in ("scipy", "scipy.ndimage"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="interp_order 3 .* scipy 1.6 .*pip install scipy"):
        caffe.io.resize_image(np.random.RandomState(0).rand(4, 4, channels), (2, 2), 3)


def test_ten_crops(real):
    for name, crop in (("even", (4, 4)), ("odd", (5, 3))):
        crops = caffe.io.oversample(real["oversample_images"], np.array(crop))
        assert np.array_equal(crops, real[f"oversample_{name}"])


@pytest.mark.parametrize("images, crop, words", [
    ([], (1, 1), "no images"), ([np.zeros((3, 3, 1)), np.zeros((4, 3, 1))], (1, 1), "of one shape"),
    ([np.zeros((3, 3, 1))], (4, 1), r"a crop of \(4, 1\) does not lie"), ([np.zeros((3, 3))], (1, 1), "channels"),
    ([np.zeros((3, 3, 1))], (0, 1), "does not lie"),
])
def test_crops_that_do_not_fit(images, crop, words):
    with pytest.raises(ValueError, match=words):
        caffe.io.oversample(images, crop)


def transformer(mean=None):
    made = caffe.io.Transformer({"data": (1, 3, 6, 7)})
    made.set_transpose("data", (2, 0, 1))
    made.set_channel_swap("data", (2, 0, 1))
    made.set_raw_scale("data", 255)
    if mean is not None:
        made.set_mean("data", mean)
    made.set_input_scale("data", 0.017)
    return made


@pytest.mark.parametrize("name", ("values", "pixels", "none"))
def test_preprocessing(name, real):
    mean = {"values": np.array([104.0, 117, 123]), "pixels": real["transformer_mean"], "none": None}[name]
    image = real["transformer_image"]
    before = image.copy()
    ours = transformer(mean).preprocess("data", image)
    assert ours.dtype == np.float32 and np.array_equal(image, before)
    assert_close(ours, real[f"preprocess_{name}"], 1e-5)
    back = transformer(mean).deprocess("data", real[f"preprocess_{name}"][np.newaxis])
    assert back.dtype == np.float32
    assert_close(back, real[f"deprocess_{name}"], 1e-5)
    assert_close(back, caffe.io.resize_image(image, (6, 7)), 1e-5)


def test_means_of_other_shapes():
    made = caffe.io.Transformer({"data": (1, 3, 2, 2)})
    made.set_transpose("data", (2, 0, 1))
    made.set_mean("data", np.array([[1.0, 2], [3, 4]]))
    assert np.array_equal(made.preprocess("data", np.full((2, 2, 3), 5.0)), [[[4, 3], [2, 1]]] * 3)
    made.set_mean("data", np.full((3, 5, 5), 9.0))
    assert made.mean["data"].shape == (3, 2, 2) and (made.mean["data"] == 9).all()


@pytest.mark.parametrize("setting, value, words", [
    ("transpose", (1, 0), "Transpose order .* same number of dimensions"),
    ("transpose", (0, 0, 1), "each of 0 ... 2 once"),
    ("channel_swap", (1, 0), "Channel swap .* same number of dimensions"),
    ("channel_swap", (0, 1, 3), "names a channel that data does not have"),
    ("mean", np.zeros(2), "Mean channels incompatible"),
    ("mean", np.zeros((1, 3, 6, 7)), r"Mean shape invalid.*mean\[0\]"),
    ("mean", np.zeros((2, 6, 7)), "Mean shape invalid"),
    ("mean", np.float64(3), "Mean shape invalid"),
])
def test_settings_that_do_not_fit(setting, value, words):
    with pytest.raises(ValueError, match=words):
        getattr(transformer(), f"set_{setting}")("data", value)


@pytest.mark.parametrize("call", ("preprocess", "deprocess", "set_transpose", "set_channel_swap", "set_raw_scale",
                                  "set_mean", "set_input_scale"))
def test_inputs_that_are_none(call):
    with pytest.raises(ValueError, match="pixels is not one of the net inputs: data; name"):
        getattr(transformer(), call)("pixels", np.zeros(3))


def parsed(kind, octets):
    return kind.FromString(octets.tobytes())


def test_arrays_in_messages(real):
    array, octets = real["array"], real["octets"]
    ours = caffe.io.array_to_blobproto(array, array * 2)
    assert ours == parsed(caffe_pb2.BlobProto, real["blobproto"])
    assert caffe.io.arraylist_to_blobprotovector_str([array, array[0]]) == real["vector"].tobytes()
    assert caffe.io.array_to_datum(array, 7) == parsed(caffe_pb2.Datum, real["datum_floats"])
    assert caffe.io.array_to_datum(octets) == parsed(caffe_pb2.Datum, real["datum_octets"])


def test_arrays_out_of_messages(real):
    array, single = real["array"], real["array"].astype(np.float32)
    blob = parsed(caffe_pb2.BlobProto, real["blobproto"])
    for ours, want in ((caffe.io.blobproto_to_array(blob), single),
                       (caffe.io.blobproto_to_array(blob, True), single * 2)):
        assert ours.dtype == np.float64 and np.array_equal(ours, want)
    whole, part = caffe.io.blobprotovector_str_to_arraylist(real["vector"].tobytes())
    assert np.array_equal(whole, single) and np.array_equal(part, single[0])
    for name, values in (("floats", array), ("octets", real["octets"])):
        back = caffe.io.datum_to_array(caffe.io.array_to_datum(values))
        assert back.dtype == real[f"{name}_back"].dtype and np.array_equal(back, real[f"{name}_back"])


def test_blobs_of_every_age():
    old = caffe_pb2.BlobProto(num=1, channels=2, height=1, width=2, data=[1, 2, 3, 4])
    assert np.array_equal(caffe.io.blobproto_to_array(old), [[[[1, 2]], [[3, 4]]]])
    double = caffe_pb2.BlobProto(shape=dict(dim=[2]), double_data=[1e300, 2])
    assert np.array_equal(caffe.io.blobproto_to_array(double), [1e300, 2])
    half = caffe_pb2.BlobProto(shape=dict(dim=[2]), raw_data_type=caffe_pb2.FLOAT16,
                               raw_data=np.array([1.5, -2], "<f2").tobytes())
    assert np.array_equal(caffe.io.blobproto_to_array(half), [1.5, -2])
    assert caffe.io.blobproto_to_array(caffe_pb2.BlobProto(data=[5.0])).shape == ()
    assert caffe.io.blobproto_to_array(caffe.io.array_to_blobproto(np.zeros((0, 3)))).shape == (0, 3)


@pytest.mark.parametrize("call, words", [
    (lambda: caffe.io.array_to_datum(np.zeros((2, 2))), "Incorrect array shape"),
    (lambda: caffe.io.datum_to_array(caffe_pb2.Datum(channels=1, height=1, width=2, data=b"x")),
     "1 elements; .*cut short"),
    (lambda: caffe.io.datum_to_array(caffe_pb2.Datum(encoded=True, data=b"x")), "encoded picture: read it by"),
    (lambda: caffe.io.blobproto_to_array(caffe_pb2.BlobProto(shape=dict(dim=[3]), data=[1])),
     "holds 1 elements of data"),
    (lambda: caffe.io.blobproto_to_array(caffe_pb2.BlobProto(shape=dict(dim=[1]), data=[1]), True), "of diff"),
    (lambda: caffe.io.blobproto_to_array(caffe_pb2.BlobProto(raw_data=b"x", raw_data_type=caffe_pb2.INT)), "type INT"),
    (lambda: caffe.io.array_to_blobproto(np.zeros(2), np.zeros(3)), r"diff has shape \(3,\) beside data of \(2,\)"),
])
def test_messages_that_do_not_fit(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_schema_comes_along():
    assert caffe.io.caffe_pb2.Datum is caffe_pb2.Datum


def test_arrays_of_data_may_be_changed():
    """A script that fills in a Datum's array must not hit memory of the message's."""
    stored = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    for array in (stored, stored.astype(np.float32)):
        datum = caffe.io.array_to_datum(array)
        read = caffe.io.datum_to_array(datum)
        read[...] = 7
        assert (read == 7).all() and np.array_equal(caffe.io.datum_to_array(datum), array)


def test_labels_are_whole_numbers():
    array = np.zeros((1, 1, 1))
    for label in (3, np.int64(3), np.uint8(3), 3.0, np.float32(3)):
        assert caffe.io.array_to_datum(array, label).label == 3
    assert caffe.io.array_to_datum(array, True).label == 1 and not caffe.io.array_to_datum(array).HasField("label")
    for label in (3.7, np.float32(0.5), float("nan"), float("inf")):
        with pytest.raises(ValueError, match="label is .*; a Datum holds a whole number"):
            caffe.io.array_to_datum(array, label)


def test_pictures_elsewhere_are_not_fetched():
    for url in ("http://example.org/cat.jpg", "https://example.org/cat.jpg", "ftp://example.org/cat.jpg"):
        with pytest.raises(ValueError, match=r"the address of a picture; fetch it first: .*urllib.request.urlopen"):
            caffe.io.load_image(url)


def test_axes_and_channels_counted_from_the_end():
    image = np.random.RandomState(0).rand(4, 5, 3).astype(np.float32)
    results = []
    for order, swap in (((2, 0, 1), (2, 1, 0)), ((-1, 0, 1), (-1, -2, -3))):
        transformer = caffe.io.Transformer({"data": (1, 3, 4, 5)})
        transformer.set_transpose("data", order)
        transformer.set_channel_swap("data", swap)
        results.append(transformer.preprocess("data", image))
        assert np.array_equal(transformer.deprocess("data", results[-1]), image)
    assert np.array_equal(*results)
    for order in ((-1, 2, 0), (3, 0, 1), (-4, 0, 1)):
        with pytest.raises(ValueError, match="each of 0 ... 2 once"):
            transformer.set_transpose("data", order)

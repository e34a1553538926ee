"""Recurrent networks, time-major: their bottoms are steps x streams x values."""

from .builder import XAVIER, Net, constant

STEPS, UNITS, CLASSES = 64, 512, 256


def lstm(streams):
    """For timing: constant input, and no sequence ends."""
    net = Net("LSTM", "Two layers of LSTM (Hochreiter and Schmidhuber 1997), and a classifier at each step.", ())
    shapes = [{"dim": [STEPS, streams, UNITS]}, {"dim": [STEPS, streams]}, {"dim": [STEPS, streams]}]
    net.add("data", "DummyData", [], ["data", "cont", "label"], "train", dummy_data_param={
        "shape": shapes, "data_filler": [constant(0.5), constant(1), constant()]})
    x = "data"
    for name in ("lstm1", "lstm2"):
        x = net.add(name, "LSTM", [x, "cont"], [name],
                    recurrent_param={"num_output": UNITS, "weight_filler": XAVIER, "bias_filler": constant()})
    x = net.add("scores", "InnerProduct", [x], ["scores"], inner_product_param={
        "num_output": CLASSES, "weight_filler": XAVIER, "bias_filler": constant(), "axis": 2})
    net.add("loss", "SoftmaxWithLoss", [x, "label"], ["loss"], "train", softmax_param={"axis": 2})
    return net

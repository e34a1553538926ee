"""Recurrent nets, time-major: their bottoms are steps x streams x values."""

from .builder import MSRA, XAVIER, Net, Word, constant, rows

STEPS, STREAMS, WORDS = 4, 2, 12
UNIFORM = {"type": "uniform", "min": -0.08, "max": 0.08}


def recurrent(net, kind, name, bottoms, outputs, tops=None, **fields):
    p = dict({"num_output": outputs, "weight_filler": UNIFORM, "bias_filler": constant()}, **fields)
    return net.add(name, kind, bottoms, tops or [name], recurrent_param=p)


def words_at_each_step(net, x, target="target_sentence"):
    """Scores of all words at each step, their loss and accuracy; -1 stands behind the end of a sentence."""
    x = net.add("predict", "InnerProduct", [x], ["predict"],
                inner_product_param={"num_output": WORDS, "axis": 2, "weight_filler": UNIFORM})
    net.add("cross_entropy_loss", "SoftmaxWithLoss", [x, target], ["cross_entropy_loss"], "train", loss_weight=20,
            loss_param={"ignore_label": -1}, softmax_param={"axis": 2})
    net.add("accuracy", "Accuracy", [x, target], ["accuracy"], "train", include={"phase": Word("TEST")},
            accuracy_param={"axis": 2, "ignore_label": -1})
    net.add("probs", "Softmax", [x], ["probs"], "deploy", softmax_param={"axis": 2})
    return net


def embedded(net, name="embedding"):
    x = net.add(name, "Embed", ["input_sentence"], [name], embed_param={
        "bias_term": False, "input_dim": WORDS, "num_output": 10, "weight_filler": UNIFORM})
    return net.dropout("embed-drop", x, 0.5)


def sentence_inputs(net):
    net.inputs = {"cont_sentence": [STEPS, STREAMS], "input_sentence": [STEPS, STREAMS]}


def lrcn_captioner():
    net = Net("LRCN_captioner", "LRCN (Donahue et al. 2014): a captioner whose LSTM gets the image at each step")
    sentence_inputs(net)
    net.inputs["image"] = [STREAMS, 3, 16, 16]
    rows(net, ["cont_sentence", "input_sentence", "target_sentence"], "examples/captions/train.txt", STEPS)
    net.add("images", "HDF5Data", [], ["image"], "train",
            hdf5_data_param={"source": "examples/captions/images.txt", "batch_size": STREAMS})
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "image", 8, 3, stride=2), "MAX", 3, 2)
    x = net.fc("image_features", x, 8)
    return words_at_each_step(net, recurrent(net, "LSTM", "lstm1", [embedded(net), "cont_sentence", x], 16))


def language_model():
    net = Net("LSTM_language_model", "A language model of two LSTM layers (Zaremba et al. 2014)")
    sentence_inputs(net)
    rows(net, ["cont_sentence", "input_sentence", "target_sentence"], "examples/captions/train.txt", STEPS)
    x = recurrent(net, "LSTM", "lstm1", [embedded(net), "cont_sentence"], 16)
    return words_at_each_step(net, recurrent(net, "LSTM", "lstm2", [net.dropout("lstm1-drop", x, 0.5),
                                                                    "cont_sentence"], 16))


def rnn_language_model():
    net = Net("RNN_language_model", "A language model by plain recurrence (Mikolov et al. 2010)")
    rows(net, ["cont_sentence", "input_sentence", "target_sentence"], "examples/captions/train.txt", STEPS)
    return words_at_each_step(net, recurrent(net, "RNN", "rnn1", [embedded(net), "cont_sentence"], 16))


def encoder_decoder():
    net = Net("Encoder_decoder",
              "Sequence to sequence (Sutskever et al. 2014): a decoder begins with the encoder's states")
    rows(net, ["cont_sentence", "input_sentence", "target_sentence"], "examples/captions/train.txt", STEPS)
    net.add("zeros", "DummyData", [], ["h0", "c0"], dummy_data_param={"shape": {"dim": [1, STREAMS, 12]}})
    x = embedded(net)
    recurrent(net, "LSTM", "encoder", [x, "cont_sentence", "h0", "c0"], 12, ["encoded", "h1", "c1"], expose_hidden=True)
    recurrent(net, "LSTM", "decoder", [x, "cont_sentence", "h1", "c1"], 12, ["decoded", "h2", "c2"], expose_hidden=True)
    net.layers.append(("both", {"name": "silence", "type": "Silence", "bottom": ["encoded", "h2", "c2"]}))
    return words_at_each_step(net, "decoded")


def crnn():
    net = Net("CRNN", "CRNN (Shi et al. 2015): columns of a text line are the steps of an LSTM; a label at each step",
              weight=MSRA)
    rows(net, ["data", "cont_of_line", "labels_of_line"], "examples/lines/train.txt", STREAMS)
    for name in ("cont", "labels"):
        net.permute(name, f"{name}_of_line", (1, 0))
    x = net.pool("pool1", net.conv_bn("conv1", "data", 8, 3, 1, 1), "MAX", 2, 2)
    x = net.pool("pool2", net.conv_bn("conv2", x, 12, 3, 1, 1), "MAX", 2, 2)
    x = net.reshape("sequence", net.permute("columns", x, (3, 0, 1, 2)), [0, 0, -1])
    return words_at_each_step(net, recurrent(net, "LSTM", "lstm1", [x, "cont"], 16), "labels")


def activity():
    net = Net("LRCN_activity", "LRCN for activities: frames of clips through a CNN, then RNN, the mean of all steps",
              (STEPS * STREAMS, 3, 24, 24))
    net.add("data", "ImageData", [], ["data", "label_of_frame"], "train",
            transform_param={"mirror": True, "crop_size": 24, "mean_value": [104, 117, 123]},
            image_data_param={"source": "examples/frames/train.txt", "batch_size": STEPS * STREAMS, "new_height": 32,
                              "new_width": 32})
    net.add("clip_markers", "DummyData", [], ["cont"], dummy_data_param={"shape": {"dim": [STEPS, STREAMS]},
                                                                         "data_filler": constant(1)})
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 5, stride=2), "AVE", 3, 2)
    x = net.reshape("reshape", net.fc("fc6", x, 12), [STEPS, STREAMS, 12])
    x = recurrent(net, "RNN", "rnn", [x, "cont"], 12)
    x = net.add("scores", "InnerProduct", [x], ["scores"],
                inner_product_param={"num_output": 10, "axis": 2, "weight_filler": XAVIER})
    net.add("label", "Reshape", ["label_of_frame"], ["label"], "train",
            reshape_param={"shape": {"dim": [STEPS, STREAMS]}})
    net.add("loss", "SoftmaxWithLoss", [x, "label"], ["loss"], "train", softmax_param={"axis": 2})
    return net


def lstm_unit():
    net = Net("LSTM_by_units", "An LSTM unrolled by hand over two steps, of LSTMUnit layers that share weights")
    rows(net, ["cont_sentence", "input_sentence", "target_sentence"], "examples/captions/train.txt", 2)
    x = embedded(net)
    net.add("slice_x", "Slice", [x], ["x1", "x2"], slice_param={"axis": 0})
    net.add("slice_cont", "Slice", ["cont_sentence"], ["cont1", "cont2"], slice_param={"axis": 0})
    net.add("zeros", "DummyData", [], ["h0", "c0"], dummy_data_param={"shape": {"dim": [1, STREAMS, 8]}})
    for t in (1, 2):
        joined = net.add(f"joined{t}", "Concat", [f"x{t}", f"h{t - 1}"], [f"joined{t}"], concat_param={"axis": 2})
        gates = net.add(f"gates{t}", "InnerProduct", [joined], [f"gates{t}"], param=[
            {"name": "W", "share_mode": Word("STRICT")}, {"name": "b"}],
                        inner_product_param={"num_output": 32, "axis": 2, "weight_filler": UNIFORM})
        net.add(f"unit{t}", "LSTMUnit", [f"c{t - 1}", gates, f"cont{t}"], [f"c{t}", f"h{t}"])
    net.layers.append(("both", {"name": "silence", "type": "Silence", "bottom": ["c2"]}))
    return words_at_each_step(net, net.add("h", "Concat", ["h1", "h2"], ["h"], concat_param={"axis": 0}))


def lstm_unit_single():
    net = Net("LSTM_step", "One step of an LSTM for a program that keeps its states: inputs are states and a word")
    net.inputs = {"cont": [1, 1], "word": [1, 1], "h_in": [1, 1, 8], "c_in": [1, 1, 8]}
    x = net.add("embedding", "Embed", ["word"], ["embedding"],
                embed_param={"input_dim": WORDS, "num_output": 10, "weight_filler": UNIFORM})
    x = net.add("joined", "Concat", [x, "h_in"], ["joined"], concat_param={"axis": 2})
    x = net.add("gates", "InnerProduct", [x], ["gates"],
                inner_product_param={"num_output": 32, "axis": 2, "weight_filler": UNIFORM})
    net.add("unit", "LSTMUnit", ["c_in", x, "cont"], ["c_out", "h_out"])
    x = net.add("predict", "InnerProduct", ["h_out"], ["predict"], inner_product_param={"num_output": WORDS, "axis": 2})
    net.add("probs", "Softmax", [x], ["probs"], softmax_param={"axis": 2})
    return net


COLUMNS, LETTERS = 6, 7  # of a text line; the blank is letter 0


def both_ways(net, name, x, outputs, reverse):
    """An LSTM from the first step on, and one from the last; `reverse` adds the layer that turns steps round."""
    net.add("indicator", "ContinuationIndicator", [], ["indicator"],
            continuation_indicator_param={"time_step": COLUMNS, "batch_size": STREAMS})
    forward = recurrent(net, "LSTM", name, [x, "indicator"], outputs)
    y = recurrent(net, "LSTM", f"{name}_back", [reverse(f"{name}_turned", x), "indicator"], outputs)
    return net.add(f"{name}_both", "Concat", [forward, reverse(f"{name}_back_turned", y)], [f"{name}_both"],
                   concat_param={"axis": 2})


def letters(net, x, labels):
    """Scores of letters at each step, their CtcLoss, what is read in TEST and how much of it is right."""
    x = net.add("fc1x", "InnerProduct", [x], ["fc1x"],
                inner_product_param={"num_output": LETTERS, "axis": 2, "weight_filler": XAVIER})
    net.add("ctc_loss", "CtcLoss", [x, labels], ["ctc_loss"], "train", loss_weight=1.0, ctc_loss_param={
        "blank_label": 0, "alphabet_size": LETTERS, "time_step": COLUMNS})
    net.add("by_line", "Permute", [x], ["by_line"], "train", include={"phase": Word("TEST")},
            permute_param={"order": [1, 0, 2]})
    net.add("accuracy", "LabelsequenceAccuracy", ["by_line", labels], ["accuracy"], "train",
            include={"phase": Word("TEST")}, labelsequence_accuracy_param={"blank_label": 0})
    net.add("decoded", "CTCGreedyDecoder", [x, "indicator"], ["decoded"], "deploy",
            ctc_decoder_param={"blank_index": 0, "ctc_merge_repeated": True})
    return net


def crnn_ctc():
    net = Net("CRNN_CTC", "CRNN as yalecyu trains it: two ways along the columns of a text line, CtcLoss",
              (STREAMS, 1, 8, 24), weight=MSRA)
    rows(net, ["data", "word"], "examples/words/train.txt", STREAMS)
    x = net.pool("pool1", net.conv_relu("conv1", "relu1", "data", 8, 3, pad=1), "MAX", 2, 2)
    x = net.pool("pool2", net.conv_bn("conv2", x, 12, 3, 1, 1), "MAX", 2, 2)
    x = net.reshape("sequence", net.permute("columns", x, (3, 0, 1, 2)), [0, 0, -1])
    x = both_ways(net, "lstm1", x, 12, lambda name, y: net.add(name, "Reverse", [y], [name],
                                                              reverse_param={"axis": 0}))
    return letters(net, x, "word")


def crnn_captchas():
    net = Net("CRNN_captchas",
              "CRNN as yalecyu trains it on captchas: a Reshape that says how many columns the image's lines have",
              (STREAMS, 1, 32, 112), weight=MSRA)
    rows(net, ["data", "label"], "examples/captchas/train.txt", STREAMS)
    columns = 11
    x = net.conv_bn("conv0", "data", 8, 3, 2, 1)
    x = net.pool("pool1", net.conv_bn("conv1", x, 8, 3, 1, 1), "MAX", 2, 2)
    x = net.pool("pool2", net.conv_bn("conv2", x, 12, 3, 1, 1), "MAX", 2, 2)
    x = net.conv_bn("conv6", net.conv_bn("conv5", x, 12, 3), 12, 2)
    x = net.permute("permuted_data", net.reshape("reshape", x, [STREAMS, 12, columns]), (2, 0, 1))
    net.add("indicator", "ContinuationIndicator", [], ["indicator"],
            continuation_indicator_param={"time_step": columns, "batch_size": STREAMS})
    x = recurrent(net, "LSTM", "lstm2", [recurrent(net, "LSTM", "lstm1", [x, "indicator"], 8), "indicator"], 12)
    x = net.add("fc1", "InnerProduct", [x], ["fc1"],
                inner_product_param={"num_output": LETTERS, "axis": 2, "weight_filler": XAVIER})
    net.add("ctc_loss", "CtcLoss", [x, "label"], ["ctc_loss"], "train", loss_weight=1.0, ctc_loss_param={
        "blank_label": 0, "alphabet_size": LETTERS, "time_step": columns})
    return net


def ctc_speech():
    net = Net("CTC_speech", "Phonemes of utterances of different lengths (Graves et al. 2006): ReverseTime, CtcLoss")
    net.inputs = {"features": [COLUMNS, STREAMS, 10], "length": [STREAMS]}
    rows(net, ["features_of_speaker", "length", "phonemes"], "examples/speech/train.txt", STREAMS)
    net.add("speakers", "Reshape", ["features_of_speaker"], ["speakers"], "train",
            reshape_param={"shape": {"dim": [STREAMS, COLUMNS, 10]}})
    net.add("features", "Permute", ["speakers"], ["features"], "train", permute_param={"order": [1, 0, 2]})
    x = both_ways(net, "lstm1", "features", 12, lambda name, y: net.add(
        name, "ReverseTime", [y, "length"], [name], reverse_time_param={"copy_remaining": True}))
    return letters(net, x, "phonemes")


NETS = [lrcn_captioner, language_model, rnn_language_model, encoder_decoder, crnn, activity, lstm_unit, crnn_ctc,
        crnn_captchas, ctc_speech]
DEPLOYED = [lrcn_captioner, language_model, lstm_unit_single, crnn_ctc, ctc_speech]

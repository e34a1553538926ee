"""Nets without data of their own: what they would read is drawn once."""

import re


def without_data(text, batch, channels, side):
    """A net of models/ with a DummyData layer in place of its Data layers. They stand at the first level of the text."""
    layers, rest = [], text
    while found := re.search(r"(?m)^layer \{", rest):
        layers.append(rest[:found.start()])
        end, depth = found.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        layer = rest[found.start():end]
        if not re.search(r'type: "(Data|ImageData)"', layer):
            layers.append(layer)
        rest = rest[end:]
    dummy = f'''
layer {{ name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {{
  shape {{ dim: {batch} dim: {channels} dim: {side} dim: {side} }} shape {{ dim: {batch} }}
  data_filler {{ type: "gaussian" std: 1 }} data_filler {{ type: "constant" }} }} }}
'''
    return layers[0] + dummy + "".join(layers[1:]) + rest

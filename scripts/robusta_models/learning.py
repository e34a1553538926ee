"""The solver by which scripts/learn_zoo.py and scripts/learn_wholes.py see whether a net learns: Adam, whose rate falls
to 0 in a straight line, and the loss of every iteration in the log.
"""

SOLVER = """net: "{name}.prototxt"
type: "Adam"
base_lr: {rate}
momentum: 0.9
momentum2: 0.999
lr_policy: "poly"
power: 1
max_iter: {iterations}
display: 1
random_seed: 1
snapshot_prefix: "{name}"
"""


def solver(name, rate, iterations):
    """The solver of the net in NAME.prototxt, with snapshots of that name."""
    return SOLVER.format(name=name, rate=rate, iterations=iterations)

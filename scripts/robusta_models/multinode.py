"""Configurations for many hosts, with the hyper-parameters that Intel published for the networks' names.

batch_size counts per rank. The rates are for the global batch: nothing scales them unless asked to.
"""

import dataclasses

from . import inception, networks
from .prototxt import Word, text

FOLDER = "intel_optimized_models/multinode"
IMAGENET_IMAGES = 1281167


@dataclasses.dataclass(frozen=True)
class Config:
    """One row of the table: who trains what, and how the rate runs."""

    folder: str
    net: object  # a function of batch and the options of builder.imagenet_data
    prefix: str  # of the snapshots
    ranks: int
    batch: int
    rate: float
    policy: dict
    iterations: int
    decay: float
    per_host: int = 1  # ranks on a host
    warmup: tuple = ()  # iterations and the rate to start from
    lars: bool = False
    test_batch: int = 50
    seed: int | None = None
    scale: float | None = None
    published: str = ""  # top-1 / top-5 that Intel's files state

    @property
    def global_batch(self):
        return self.ranks * self.batch

    @property
    def path(self):
        return f"{FOLDER}/{self.folder}"

    def epochs(self, iterations):
        return iterations * self.global_batch / IMAGENET_IMAGES


def poly(power):
    return {"lr_policy": "poly", "power": power}


def steps(*values):
    return {"lr_policy": "multistep", "gamma": 0.1, "stepvalue": list(values)}


def inception_v3_with_helper(batch, **data):
    return inception.googlenet_v3(batch, auxiliary=True, **data)


MLPERF = {"net": networks.resnet50, "prefix": "resnet50", "ranks": 32, "batch": 32, "rate": 0.4,
          "policy": steps(37530, 75060, 100080), "iterations": 81315, "decay": 0.0001, "warmup": (5004, 0.1),
          "test_batch": 25, "scale": 0.0078125}
RESNET = {"net": networks.resnet50, "prefix": "resnet50", "batch": 128, "decay": 0.0001, "test_batch": 25,
          "scale": 0.0078125}
GOOGLENET = {"net": networks.googlenet, "prefix": "googlenet", "batch": 64, "policy": poly(0.5), "decay": 0.0002}
INCEPTION_V3 = {"ranks": 32, "batch": 64, "rate": 0.6, "iterations": 62500, "decay": 0.0002, "warmup": (3125, 0.05),
                "seed": 1, "test_batch": 25, "scale": 0.0078125}
VGG = {"net": networks.vgg16, "prefix": "vgg16", "decay": 0.0005, "test_batch": 25}
ALEXNET_BN = {"net": networks.alexnet_bn, "prefix": "alexnet_bn", "policy": poly(2), "iterations": 4000, "decay": 0.0005,
              "warmup": (400, 1), "lars": True}

CONFIGS = [
    Config("alexnet_4nodes", networks.alexnet, "alexnet", 4, 256, 0.06, poly(0.6), 110000, 0.0005,
           published="57.51 / 80.36"),
    Config("alexnet_bn_32nodes", ranks=32, batch=1024, rate=33, **ALEXNET_BN),
    Config("alexnet_bn_64nodes", ranks=64, batch=512, rate=32, **ALEXNET_BN),
    Config("googlenet_4nodes", ranks=4, rate=0.04, iterations=450000, published="68.74 / 89.06", **GOOGLENET),
    Config("googlenet_8nodes", ranks=8, rate=0.06, iterations=182000, published="68.58 / 88.85", **GOOGLENET),
    Config("googlenet_16nodes_1k_batch", ranks=16, rate=0.065, iterations=90000, published="68.39 / 88.77", **GOOGLENET),
    Config("googlenet_v2_8nodes", inception.googlenet_v2, "googlenet_v2", 8, 64, 0.06, poly(0.5), 182000, 0.0002),
    Config("googlenet_v3_32nodes_2k_batch", inception.googlenet_v3, "googlenet_v3", policy=poly(2), **INCEPTION_V3),
    Config("googlenet_v3_aux_32nodes_2k_batch", inception_v3_with_helper, "googlenet_v3_aux", policy=poly(3),
           **INCEPTION_V3),
    Config("default_resnet50_8nodes", ranks=8, rate=0.4, policy=steps(37440, 74880, 99840), iterations=112600, **RESNET),
    Config("default_resnet50_16nodes", ranks=16, rate=0.8, policy=steps(18750, 37500, 50000), iterations=62556,
           warmup=(3125, 0.1), published="75.7 / 92.7", **RESNET),
    Config("default_resnet50_64nodes", ranks=64, rate=3.2, policy=steps(4680, 9360, 12480), iterations=14075,
           warmup=(780, 0.1), **RESNET),
    Config("resnet50_4nodes_4s", per_host=8, **MLPERF),
    Config("resnet50_8nodes_2s", per_host=4, **MLPERF),
    Config("vgg_16_8nodes_512_batch", ranks=8, batch=32, rate=0.01, policy=poly(2), iterations=300000, **VGG),
    Config("vgg_16_16nodes_1k_batch", ranks=16, batch=64, rate=0.06, policy=poly(0.5), iterations=40000,
           warmup=(6255, 0.003), seed=1, **VGG),
    Config("vgg_16_32nodes_2k_batch", ranks=32, batch=64, rate=7, policy=poly(2), iterations=40000, warmup=(3127, 1),
           lars=True, **VGG),
    Config("vgg_16_64nodes_4k_batch", ranks=64, batch=64, rate=14, policy=poly(2), iterations=20000, warmup=(1564, 1),
           lars=True, **VGG),
]


def rounded(number):
    """To two significant digits."""
    return int(float(f"{number:.2g}"))


def train_val(config):
    data = {"shuffle": True} | ({"scale": config.scale} if config.scale else {})
    comment = f"Training and validation. batch_size counts per rank: {config.ranks} ranks make {config.global_batch:,}."
    return config.net(config.batch, **data).file("train", comment)


def solver(config):
    epoch = IMAGENET_IMAGES / config.global_batch
    fields = {"net": f"models/{config.path}/train_val.prototxt", "test_iter": 50000 // config.test_batch,
              "test_interval": rounded(2 * epoch), "test_initialization": False, "base_lr": config.rate} | config.policy
    if config.warmup:
        fields |= {"warmup_iter": config.warmup[0], "warmup_start_lr": config.warmup[1]}
    if config.lars:
        fields |= {"local_lr_auto": True, "local_gw_ratio": 0.001}
    fields |= {"momentum": 0.9, "weight_decay": config.decay, "display": 20, "max_iter": config.iterations,
               "snapshot": rounded(5 * epoch), "snapshot_prefix": f"models/{config.path}/{config.prefix}",
               "solver_mode": Word("CPU")}
    if config.seed is not None:
        fields["random_seed"] = config.seed
    comment = (f"# {config.ranks} ranks x {config.batch} images = {config.global_batch:,} an update; "
               f"{config.iterations:,} iterations are {config.epochs(config.iterations):.0f} epochs.\n"
               f"# test_iter counts batches of {config.test_batch} over all ranks: the whole validation set.\n")
    return comment + text(fields) + "\n"


def schedule(config):
    """The policy in words, for the table."""
    if config.policy["lr_policy"] == "poly":
        return f"poly {config.policy['power']}"
    return "x0.1 at " + ", ".join(f"{value:,}" for value in config.policy["stepvalue"])


def row(config):
    hosts = f"{config.ranks // config.per_host} hosts x {config.per_host}" if config.per_host > 1 else f"{config.ranks}"
    warmup = f"{config.warmup[0]:,} from {config.warmup[1]}" if config.warmup else "-"
    cells = [f"`{config.folder}`", f"{hosts} x {config.batch} = {config.global_batch:,}", config.rate, schedule(config),
             warmup, f"{config.iterations:,} ({config.epochs(config.iterations):.0f})", f"{config.decay:g}",
             "yes" if config.lars else "-", config.published or "-"]
    return "| " + " | ".join(map(str, cells)) + " |"


README = """# Models for many hosts

Written by `scripts/make_models.py`: the networks are our own definitions, the hyper-parameters those that Intel published
under the same names. Momentum is 0.9 throughout, data are shuffled and divided over the ranks without preparation.

| folder | ranks x batch = global | base_lr | schedule | warm-up | max_iter (epochs) | decay | LARS | Intel's top-1 / top-5 |
|---|---|---|---|---|---|---|---|---|
{rows}

The last column is what Intel's files and slides state for their networks. It has not been measured with these.

## Running one

From the root of the repository, with `data/ilsvrc12/train_lmdb` and `val_lmdb` on every host:

```
mpirun -x PATH -x LD_LIBRARY_PATH -n 4 --hostfile hosts --map-by ppr:1:node --bind-to none \\
  caffe train --solver models/intel_optimized_models/multinode/alexnet_4nodes/solver.prototxt
```

`batch_size` counts per rank, and `base_lr` belongs to the global batch in the table. On another number of ranks either
change the rate with the global batch, or keep the global batch with `-batch global`, which divides `batch_size` by
the number of ranks (set it to the global batch first).

## What to know

- `vgg_16_8nodes_512_batch` has 32 images a rank, 256 in all, in Intel's file too: its name says otherwise.
- `vgg_16_16nodes_1k_batch`: 6,255 iterations of warm-up, and poly from there on without a shift, as Intel's Caffe does.
- `resnet50_4nodes_4s` and `_8nodes_2s` (MLPerf 2018) end at 65 epochs, before the last step of the rate.
- LARS (`local_lr_auto`) multiplies each blob's rate by 0.001 |w| / (|g| + decay |w|); the large rates are meant for it.
- Intel trained ResNet-50 and Inception v3 on random areas and aspect ratios of unresized images, with statistics of
  BatchNorm over 32 samples. Here the crops have a fixed size (224 of images of 256, 299 of 320) and the statistics are of the
  rank's batch, so expect a somewhat lower accuracy.
- GoogLeNet v2 is without auxiliary classifiers. Intel's SSD and the variant of VGG-16 with quantised gradients are not
  here; gradients can be sent in 16 bits with `-ddl "... -compress bf16"`.
"""


def files():
    """Path below models/ -> content."""
    found = {}
    for config in CONFIGS:
        found[f"{config.path}/train_val.prototxt"] = train_val(config)
        found[f"{config.path}/solver.prototxt"] = solver(config)
    found[f"{FOLDER}/README.md"] = README.format(rows="\n".join(map(row, CONFIGS)))
    return found

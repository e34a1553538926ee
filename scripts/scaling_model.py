#!/usr/bin/env python3
"""Predicts step time and efficiency of training over many ranks, from the time of each layer on one.

  caffe time -model models/resnet50/train_val.prototxt -batch 16 2> resnet50.log
  scripts/scaling_model.py --log resnet50.log --model models/resnet50/train_val.prototxt \\
      --dims 4x8x8 --gbit 256,90,90 --us 10,5,5
  scripts/scaling_model.py --preset 128-ethernet25 --table

A link is given for each dimension, or once for all further ones: --gbit is its rate in Gbit/s, --us the microseconds of
a message. All ranks of a host share the links of the outer dimensions. A cluster may also come from a file: --cluster
{"dims": [4, 8, 8], "links": [{"gbit": 256, "us": 10, "shared": false}, {"gbit": 90, "us": 5}], "group": 8}
docs/scaling.md tells the model and what it leaves out.
"""

import argparse
import dataclasses
import math
import pathlib
import re
import sys

from robusta_launch.errors import Code, LaunchError, run
from robusta_launch.topology import AXES, parse_dims, show
from robusta_scaling import clusters, profile
from robusta_scaling.model import Cuts, Servers, make_buckets, predict
from robusta_scaling.stages import predict_pipeline

PROFILES = pathlib.Path(__file__).resolve().parent / "robusta_scaling/profiles"
MIB = 1 << 20
MOST_RANKS = 4096


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise LaunchError(message, "see scaling_model.py --help")


def positive(text):
    if not re.fullmatch(r"[0-9]*\.?[0-9]+", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no number above 0')
    return float(text)


def count(text):
    if not re.fullmatch("[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f'"{text}" is no number above 0')
    return int(text)


def at_least_0(text):
    if not re.fullmatch(r"[0-9]*\.?[0-9]+", text):
        raise argparse.ArgumentTypeError(f'"{text}" is no number from 0 on')
    return float(text)


def latencies(text):
    if not re.fullmatch(r"[0-9.]+(,[0-9.]+)*", text):
        raise argparse.ArgumentTypeError(f'"{text}" are no microseconds')
    return [float(part) for part in text.split(",")]


def positives(text):
    return [positive(part) for part in text.split(",")]


SHRINK = {"none": 1, "fp16": 0.5, "bf16": 0.5, "int8": (1 + 4 / 256) / 4}  # of f32


def compression(text):
    """A word of SHRINK, or topk:F, whose elements take six bytes each."""
    if re.fullmatch(r"topk:0?\.[0-9]+", text) and 0 < float(text[5:]) <= 0.5 or text in SHRINK:
        return text
    raise argparse.ArgumentTypeError(f'"{text}" is none of {", ".join(SHRINK)} and topk:F')


def parts(text):
    """Layer -> parts."""
    if not re.fullmatch(r"[^:,]+:[1-9][0-9]*(,[^:,]+:[1-9][0-9]*)*", text):
        raise argparse.ArgumentTypeError(f'"{text}" are no layers with their parts, such as fc6:2,fc7:2')
    return {layer: int(number) for layer, number in (word.rsplit(":", 1) for word in text.split(","))}


def arguments():
    parser = Parser(prog="scaling_model.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what is trained")
    what.add_argument("--log", help="output of `caffe time`")
    what.add_argument("--model", help="the prototxt that was timed")
    what.add_argument("--profile", help="a profile made with --save; resnet50 or alexnet: one that comes along")
    what.add_argument("--save", help="write the profile to this file")
    what.add_argument("--batch", type=count, help="images a rank; the profile's times are scaled")
    what.add_argument("--images_per_second", type=positive, help="speed of one rank alone; the times are scaled")
    where = parser.add_argument_group("on what")
    where.add_argument("--preset", choices=sorted(clusters.PRESETS))
    where.add_argument("--cluster", help="JSON file")
    where.add_argument("--dims", help="XxYxZ")
    where.add_argument("--gbit", type=positives, help="rates of the links")
    where.add_argument("--us", type=latencies, help="latencies of the links")
    where.add_argument("--group", type=count, help="most hosts of a near group (Y), for --table")
    how = parser.add_argument_group("how")
    how.add_argument("--bucket_mb", type=positive, default=4, help="as in -ddl (%(default)s)")
    how.add_argument("--compress", type=compression, nargs="?", const="bf16", default="none", metavar="FORMAT",
                     help="as in -ddl: bf16 (without a word), fp16, int8 or topk:F between hosts")
    how.add_argument("--shard", choices=("states", "gradients"), nargs="?", const="states",
                     help="as in -ddl: the ranks share out the update, or the memory of gradients, too")
    how.add_argument("--sync_every", type=count, default=1, metavar="K",
                     help="as in -ddl: weights are averaged every K iterations, gradients summed within X")
    how.add_argument("--op", choices=("sum", "adasum"), default="sum", help="as in -ddl")
    how.add_argument("--servers", type=count, metavar="N", help="as in -ddl: parameter servers, each on a host of its own; "
                     "--dims are those of a group, and the outermost link goes to the servers")
    how.add_argument("--groups", type=count, default=1, metavar="G", help="as in -ddl: that push to them")
    how.add_argument("--parts", type=parts, default={}, metavar="LAYER:N,...",
                     help="layers that are cut among the ranks, as by model_parts or -fit")
    how.add_argument("--stages", type=lambda text: text.split(","), metavar="LAYER,...",
                     help="a pipeline over ranks (device: N): the layers with which the stages but the first begin")
    how.add_argument("--micro_batches", type=count, default=1, metavar="M", help="as the flag, of a pipeline")
    how.add_argument("--direct", action="store_true", help="pieces straight to their owners instead of rings")
    how.add_argument("--wait", action="store_true", help="wait for all buckets before the next forward")
    how.add_argument("--core", type=at_least_0, default=0,
                     help="seconds of a rank's core for each second of its links, where it has none to spare")
    how.add_argument("--table", action="store_true", help=f"the best grid for 1, 2, 4 ... {MOST_RANKS} ranks")
    how.add_argument("--buckets", action="store_true", help="print the buckets")
    return parser.parse_args()


def cluster_of(options):
    """Preset or file, with what the flags say in place of theirs."""
    if options.preset and options.cluster:
        raise LaunchError("--preset and --cluster are both given", "give one of them")
    if options.preset:
        cluster = clusters.PRESETS[options.preset]
    elif options.cluster:
        cluster = clusters.from_json(options.cluster)
    elif options.dims and options.gbit:
        cluster = clusters.Cluster("links as given", parse_dims(options.dims), ())
    else:
        raise LaunchError("the cluster is not given", "give --preset, --cluster, or --dims and --gbit")
    if options.dims:
        cluster = dataclasses.replace(cluster, dims=parse_dims(options.dims))
    known, links = cluster.links, []
    for axis in range(max(len(options.gbit or []), len(options.us or []), len(known))):
        old = known[min(axis, len(known) - 1)] if known else clusters.Link(0, 0, shared=axis > 0)
        gbit = options.gbit[min(axis, len(options.gbit) - 1)] if options.gbit else old.gbit
        us = options.us[min(axis, len(options.us) - 1)] if options.us else old.us
        links.append(clusters.Link(gbit, us, old.shared, options.direct or old.direct))
    if len(links) == 1 and not cluster.links:
        links.append(dataclasses.replace(links[0], shared=True))  # the same link further out carries a whole host
    cluster = dataclasses.replace(cluster, links=tuple(links), group=options.group or cluster.group)
    clusters.check(cluster, "the cluster")
    return cluster


def profile_of(options, cluster):
    if options.log:
        if not options.model:
            raise LaunchError("--log without --model", "give the prototxt that was timed: it tells the parameters")
        found = profile.from_caffe_time(options.log, options.model)
    else:
        name = options.profile or cluster.profile
        if not name:
            raise LaunchError("there are no times of layers", "give --log and --model, or --profile")
        here = PROFILES / f"{name}.json"
        found = profile.from_json(here if "/" not in name and here.exists() else name)
    if options.save:
        pathlib.Path(options.save).write_text(found.to_json())
    batch = options.batch or cluster.batch or found.batch
    speed = options.images_per_second or cluster.images_per_second
    return found.at_speed(speed or found.batch / found.compute, batch)


def require_layers(what, names):
    known = [layer.name for layer in what.layers]
    for name in names:
        if name not in known:
            raise LaunchError(f'no layer of the profile is called "{name}"', f"known are {', '.join(known)}")


def pipeline(options, cluster, what, dims):
    require_layers(what, options.stages)
    count, ranks = len(options.stages) + 1, math.prod(dims)
    if ranks % count:
        raise LaunchError(f"{ranks} ranks are not a multiple of {count} stages", "give other --dims")
    across = cluster.tiers(dims)[-1]
    alike = ranks // count  # ranks that have the same stage: within a host where a host has so many
    within = dataclasses.replace(cluster.tiers(dims)[0 if alike <= dims[0] else -1], size=alike)
    return predict_pipeline(what, options.stages, options.micro_batches, across, within)


def prediction(options, cluster, what, dims):
    if options.stages:
        return pipeline(options, cluster, what, dims)
    topk = options.compress.startswith("topk:")
    shrink = 1.5 * float(options.compress[5:]) if topk else SHRINK[options.compress]
    if topk or options.compress == "int8":  # straight between all hosts, as what is left is kept once
        dims = (dims[0], math.prod(dims[1:]))
        links = [dataclasses.replace(link, direct=link.direct or axis > 0) for axis, link in enumerate(cluster.links)]
        cluster = dataclasses.replace(cluster, links=(*links[:1], *(links[1:] or [dataclasses.replace(
            links[0], direct=True)])))
    tiers = cluster.tiers(dims, shrink, 1 if options.shard else None)
    if options.op == "adasum" and math.prod(dims[1:]).bit_count() != 1:
        raise LaunchError(f"--op adasum combines in pairs, and {show(dims)} has {math.prod(dims[1:])} groups",
                          "give a power of two")
    require_layers(what, options.parts)
    for layer in what.layers:
        if layer.name in options.parts and not layer.inputs:
            raise LaunchError(f'the profile does not tell how many bytes go into layer "{layer.name}"',
                              "make one from a log of `caffe time` (--log, --save)")
    cuts = Cuts(options.parts, tiers[-1]) if options.parts else None
    servers = options.servers and Servers(options.servers, options.groups, cluster.link_to_servers(shrink))
    return predict(what, tiers, options.bucket_mb * MIB, options.wait, options.core, options.shard, options.sync_every, servers,
                   options.op == "adasum", cuts)


def print_one(options, cluster, what):
    dims = cluster.dims
    ranks = math.prod(dims)
    if ranks > MOST_RANKS:
        raise LaunchError(f"{show(dims)} are {ranks} ranks", f"the model is meant for at most {MOST_RANKS}")
    result = prediction(options, cluster, what, dims)
    ranks = result.ranks
    buckets = make_buckets(what, options.bucket_mb * MIB)
    print(f"{show(dims)}: {ranks} ranks x {what.batch} = {ranks * what.batch} images a step")
    print(f"step            {result.step * 1e3:10.2f} ms   {result.images_per_second:.0f} img/s")
    print(f"compute         {result.compute * 1e3:10.2f} ms")
    print(f"communication   {result.communication * 1e3:10.2f} ms   {what.bytes / MIB:.1f} MiB in {len(buckets)} buckets")
    for axis, size, seconds in zip(AXES, dims, result.dimensions):
        print(f"  {axis} ({size:4d})      {seconds * 1e3:10.2f} ms")
    if options.servers:
        print(f"  servers       {result.dimensions[-1] * 1e3:10.2f} ms")
    print(f"exposed         {result.exposed * 1e3:10.2f} ms   {result.exposed_share:.1%} of the communication")
    print(f"efficiency      {result.efficiency:10.1%}")
    if options.buckets:
        print("buckets in the order of backward:")
        for number, bucket in enumerate(buckets):
            names = [what.layers[i].name for i in bucket.layers]
            print(f"  {number:3d} {bucket.bytes / MIB:8.2f} MiB  {names[0]}" + (f" .. {names[-1]}" if names[1:] else ""))


def print_table(options, cluster, what):
    print("| ranks | hosts | best grid | step ms | communication ms | exposed | efficiency | img/s |")
    print("|---|---|---|---|---|---|---|---|")
    per_host, hosts = cluster.dims[0], 1
    while per_host * hosts <= MOST_RANKS:
        # A group may end up with fewer hosts than it could have, but a grid has to be full.
        found = [(prediction(options, cluster, what, dims), dims)
                 for dims in clusters.grids(per_host, hosts, cluster.group)]
        best, dims = min(found, key=lambda pair: (pair[0].step, pair[0].communication))
        print(f"| {best.ranks} | {hosts} | {show(dims)} | {best.step * 1e3:.1f} | {best.communication * 1e3:.1f} | "
              f"{best.exposed_share:.1%} | {best.efficiency:.1%} | {best.images_per_second:.0f} |")
        hosts *= 2


def main():
    options = arguments()
    cluster = cluster_of(options)
    what = profile_of(options, cluster)
    speed = what.batch / what.compute
    print(f"{cluster.title}\n{what.name}, {what.batch} images a rank, {speed:.1f} img/s alone")
    (print_table if options.table else print_one)(options, cluster, what)
    return Code.OK


if __name__ == "__main__":
    sys.exit(run("scaling_model.py", main))

"""What the whole nets learn by heart: a few images of shapes, each with its box, and what follows from the boxes.

Images and boxes are files as of PASCAL VOC, of which the tool `convert_annoset` makes a database. What other programs
work out in Python while they train is worked out here beforehand, as nothing in these images changes from pass to pass:
the anchors that a region proposal network shall find (Ren et al. 2015, "Faster R-CNN", section 3.1.2; the numbers are
those of rbgirshick/py-faster-rcnn, lib/rpn/anchor_target_layer.py), and regions beside and upon the shapes with their
classes and codes (lib/rpn/proposal_target_layer.py). Everything is the same at each call.
"""

import collections
import math
import random

import sources
from records import datum, write_hdf5, write_lmdb, write_png

SIDE, IMAGES = 300, 8
CLASSES = ("square", "disc", "triangle")  # labels count from 1, as 0 is the background
COLOURS = ((210, 40, 40), (40, 190, 60), (50, 60, 220))
MOST = 3  # shapes of an image

# Corners in pixels, the last ones within the box.
Shape = collections.namedtuple("Shape", "label left top right bottom")


def overlap(a, b):
    """Intersection over union of boxes given by their corner pixels."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (area(a) + area(b) - common)


def area(box):
    return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)


def drawn_shapes(draw, image):
    """One to three shapes that lie apart; each class is in every third place."""
    shapes = []
    while len(shapes) < 1 + image % MOST:
        width, height = draw.randint(70, 130), draw.randint(70, 130)
        left, top = draw.randint(0, SIDE - width), draw.randint(0, SIDE - height)
        shape = Shape(1 + (image + len(shapes)) % len(CLASSES), left, top, left + width - 1, top + height - 1)
        if all(overlap(shape[1:], other[1:]) == 0 for other in shapes):
            shapes.append(shape)
    return shapes


def span(shape, y):
    """First column and number of columns of a shape in row y."""
    width, height = shape.right - shape.left + 1, shape.bottom - shape.top + 1
    part = (y - shape.top + 0.5) / height
    share = {1: 1.0, 2: 2 * math.sqrt(part * (1 - part)), 3: part}[shape.label]
    columns = max(1, round(width * share))
    return shape.left + (width - columns) // 2, columns


def painted(draw, shapes):
    """An image in red, green and blue, on noise."""
    pixels = bytearray(draw.choices(range(100, 140), k=3 * SIDE * SIDE))
    for shape in shapes:
        tone = bytes(COLOURS[shape.label - 1])
        for y in range(shape.top, shape.bottom + 1):
            first, columns = span(shape, y)
            at = 3 * (y * SIDE + first)
            pixels[at:at + 3 * columns] = tone * columns
    return bytes(pixels)


def scenes():
    """Of each image its pixels and its shapes."""
    draw = random.Random("scenes")
    made = []
    for image in range(IMAGES):
        shapes = drawn_shapes(draw, image)
        made.append((painted(draw, shapes), shapes))
    return made


def xml_of(shapes):
    """The annotation of an image, as of PASCAL VOC: corners count from 1."""
    objects = "".join(
        f"  <object><name>{CLASSES[s.label - 1]}</name><difficult>0</difficult><bndbox><xmin>{s.left + 1}</xmin>"
        f"<ymin>{s.top + 1}</ymin><xmax>{s.right + 1}</xmax><ymax>{s.bottom + 1}</ymax></bndbox></object>\n"
        for s in shapes)
    size = f"  <size><width>{SIDE}</width><height>{SIDE}</height><depth>3</depth></size>\n"
    return f"<annotation>\n{size}{objects}</annotation>\n"


def write_files(folder):
    """Images, annotations, a list of both, and a label map: what convert_annoset reads."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ""
    for i, (pixels, shapes) in enumerate(scenes()):
        write_png(folder / f"{i}.png", SIDE, SIDE, pixels)
        (folder / f"{i}.xml").write_text(xml_of(shapes))
        lines += f"{i}.png {i}.xml\n"
    (folder / "list.txt").write_text(lines)
    items = enumerate(("background",) + CLASSES)
    (folder / "labelmap.prototxt").write_text("".join(
        f'item {{ name: "{name}" label: {label} display_name: "{name}" }}\n' for label, name in items))


# --- boxes as rows of a centre and a size ---------------------------------------------------------------------------


def centred_rows(shapes):
    """Class from 0 on, centre and size as parts of the image; zeros end the rows."""
    numbers = []
    for s in shapes:
        numbers += [s.label - 1, (s.left + s.right + 1) / 2 / SIDE, (s.top + s.bottom + 1) / 2 / SIDE,
                    (s.right - s.left + 1) / SIDE, (s.bottom - s.top + 1) / SIDE]
    return numbers + [0.0] * (5 * (MOST + 1 - len(shapes)))


# --- anchors and regions --------------------------------------------------------------------------------------------

REGION_SIDE, STRIDE, BASE = 192, 16, 16
RATIOS, SCALES = (0.5, 1.0, 2.0), (2.0, 4.0, 6.0)
CELLS = REGION_SIDE // STRIDE
ANCHORS = len(RATIOS) * len(SCALES)
SAMPLED, REGIONS = 128, 32  # anchors and regions of an image that count
DEVIATIONS = (0.1, 0.1, 0.2, 0.2)


def anchor_boxes():
    """Those around the first cell, as layer Proposal makes them."""
    middle, boxes = (BASE - 1) / 2, []
    for ratio in RATIOS:
        width = round(math.sqrt(BASE * BASE / ratio))
        height = round(width * ratio)
        for scale in SCALES:
            w, h = (width * scale - 1) / 2, (height * scale - 1) / 2
            boxes.append((middle - w, middle - h, middle + w, middle + h))
    return boxes


def in_region_image(shape):
    """The box of a shape in the image as the nets with regions see it."""
    scale = REGION_SIDE / SIDE
    return (shape.left * scale, shape.top * scale, (shape.right + 1) * scale - 1, (shape.bottom + 1) * scale - 1)


def codes(box, truth):
    """What a regression has to say of `box` to name `truth`."""
    w, h = box[2] - box[0] + 1, box[3] - box[1] + 1
    wanted_w, wanted_h = truth[2] - truth[0] + 1, truth[3] - truth[1] + 1
    return ((truth[0] + wanted_w / 2 - box[0] - w / 2) / w, (truth[1] + wanted_h / 2 - box[1] - h / 2) / h,
            math.log(wanted_w / w), math.log(wanted_h / h))


def nearest(box, truths):
    """Overlap with the truth that is overlapped most, and which."""
    return max((overlap(box, truth), -i) for i, truth in enumerate(truths))


def anchors_to_find(draw, shapes):
    """Of an image: labels of all anchors, 1, 0 or -1 (does not count), codes, and the weights of these."""
    truths = [in_region_image(s) for s in shapes]
    plane = CELLS * CELLS
    labels = [-1.0] * (ANCHORS * plane)
    targets, inside, outside = ([0.0] * (4 * ANCHORS * plane) for _ in range(3))
    inner = {}
    for a, anchor in enumerate(anchor_boxes()):
        for cell in range(plane):
            x, y = STRIDE * (cell % CELLS), STRIDE * (cell // CELLS)
            box = (anchor[0] + x, anchor[1] + y, anchor[2] + x, anchor[3] + y)
            if box[0] >= 0 and box[1] >= 0 and box[2] < REGION_SIDE and box[3] < REGION_SIDE:
                inner[a, cell] = box
    best = [max(overlap(box, truth) for box in inner.values()) for truth in truths]
    found, empty = [], []
    for place, box in inner.items():
        if any(overlap(box, truth) == most for truth, most in zip(truths, best)) or nearest(box, truths)[0] >= 0.7:
            found.append(place)
        elif nearest(box, truths)[0] < 0.3:
            empty.append(place)
    found = draw.sample(found, min(len(found), SAMPLED // 2))
    empty = draw.sample(empty, min(len(empty), SAMPLED - len(found)))
    for a, cell in found + empty:
        is_found = (a, cell) in found
        labels[a * plane + cell] = float(is_found)
        truth = truths[-nearest(inner[a, cell], truths)[1]]
        for k, code in enumerate(codes(inner[a, cell], truth)):
            at = (4 * a + k) * plane + cell
            outside[at] = 1 / (len(found) + len(empty))
            if is_found:
                targets[at], inside[at] = code, 1.0
    return labels, targets, inside, outside


def moved(draw, box, by):
    """The box, its corners moved by up to `by` of its size, within the image."""
    w, h = box[2] - box[0], box[3] - box[1]
    moves = (w, h, w, h)
    corners = [min(REGION_SIDE - 1, max(0, corner + draw.uniform(-by, by) * move)) for corner, move in zip(box, moves)]
    return tuple(corners)


def drawn_region(draw, truths, is_object):
    """A region that overlaps some truth by half, or none."""
    while True:
        if is_object or draw.random() < 0.5:
            box = moved(draw, draw.choice(truths), 0.25 if is_object else 0.8)
        else:
            x, y = (sorted(draw.uniform(0, REGION_SIDE - 1) for _ in range(2)) for _ in range(2))
            box = (x[0], y[0], x[1], y[1])
        large = box[2] - box[0] >= STRIDE and box[3] - box[1] >= STRIDE
        if large and (nearest(box, truths)[0] >= 0.5) == is_object:
            return box


def regions_to_tell(draw, shapes, item, agnostic):
    """Of an image: regions, their labels, codes of each class (`agnostic`: of objects at all), weights of these."""
    truths = [in_region_image(s) for s in shapes]
    rows, labels, targets, weights = [], [], [], []
    for i in range(REGIONS):
        box = drawn_region(draw, truths, i % 2 == 0)
        rows += [float(item), *box]
        which = -nearest(box, truths)[1]
        label = shapes[which].label if i % 2 == 0 else 0
        labels.append(float(label))
        width = 8 if agnostic else 4 * (1 + len(CLASSES))
        target, weight = [0.0] * width, [0.0] * width
        if label:
            at = 4 if agnostic else 4 * label
            target[at:at + 4] = [c / d for c, d in zip(codes(box, truths[which]), DEVIATIONS)]
            weight[at:at + 4] = [1.0] * 4
        targets += target
        weights += weight
    return rows, labels, targets, weights


def write_targets(folder, batch):
    """Lists and HDF5 files of what follows from the boxes, in the order of the images; `batch`: that of the nets."""
    shapes_of = [shapes for _, shapes in scenes()]
    rows = [number for shapes in shapes_of for number in centred_rows(shapes)]
    write_hdf5(folder / "centred.h5", {"boxes": ((IMAGES, MOST + 1, 5), rows)})
    for name, agnostic in (("regions", False), ("agnostic", True)):
        draw = random.Random(name)
        columns = [[] for _ in range(8)]
        for i, shapes in enumerate(shapes_of):
            parts = anchors_to_find(draw, shapes) + regions_to_tell(draw, shapes, i % batch, agnostic)
            for column, part in zip(columns, parts):
                column += part
        planes, width = (CELLS, CELLS), 8 if agnostic else 4 * (1 + len(CLASSES))
        extents = [(1, ANCHORS * CELLS, CELLS), *((4 * ANCHORS, *planes),) * 3, (REGIONS, 5), (REGIONS,),
                   (REGIONS, width), (REGIONS, width)]
        names = ("rpn_labels", "rpn_targets", "rpn_inside", "rpn_outside", "rois_of_image", "labels_of_image",
                 "targets_of_image", "inside_of_image")
        write_hdf5(folder / f"{name}.h5",
                   {top: ((IMAGES, *extent), column) for top, extent, column in zip(names, extents, columns)})
    for name in ("centred", "regions", "agnostic"):
        (folder / f"{name}.txt").write_text(f"{folder.name}/{name}.h5\n")


# --- maps of labels, captions, classes, pairs -----------------------------------------------------------------------

MAP_STEP, MAP_SIDE = 3, 96  # every third pixel, and so many of them
STEPS, PAIRS = 8, 32
# 0 begins a caption and ends it; it is the shapes from the left to the right.
AND = 4


def map_of(pixels, shapes):
    """A smaller image, blue, green and red in planes, and of each pixel its class."""
    labels = bytearray(SIDE * SIDE)
    for s in shapes:
        for y in range(s.top, s.bottom + 1):
            first, columns = span(s, y)
            labels[y * SIDE + first:y * SIDE + first + columns] = bytes([s.label]) * columns
    places = [y * MAP_STEP * SIDE + x * MAP_STEP for y in range(MAP_SIDE) for x in range(MAP_SIDE)]
    return bytes(pixels[3 * at + c] for c in (2, 1, 0) for at in places), bytes(labels[at] for at in places)


def write_maps(folder):
    """Maps of labels as files, and as two databases that go together."""
    maps = [map_of(pixels, shapes) for pixels, shapes in scenes()]
    lines, plane = "", MAP_SIDE * MAP_SIDE
    for i, (planes, labels) in enumerate(maps):
        write_png(folder / f"map{i}.png", MAP_SIDE, MAP_SIDE,
                  bytes(planes[c * plane + at] for at in range(plane) for c in (2, 1, 0)))
        write_png(folder / f"labels{i}.png", MAP_SIDE, MAP_SIDE, labels)
        lines += f"{folder.name}/map{i}.png {folder.name}/labels{i}.png\n"
    (folder / "maps.txt").write_text(lines)
    write_lmdb(folder / "pixels_lmdb", [datum((3, MAP_SIDE, MAP_SIDE), planes, 0) for planes, _ in maps])
    write_lmdb(folder / "labels_lmdb", [datum((1, MAP_SIDE, MAP_SIDE), labels, 0) for _, labels in maps])


def caption(shapes):
    """Of each step whether the sentence goes on, the word before, and the word that is wanted."""
    words = []
    for s in sorted(shapes, key=lambda s: s.left):
        words += [AND, s.label] if words else [s.label]
    words.append(0)
    going = [0] + [1] * (STEPS - 1)
    before = [0] + words[:-1] + [0] * (STEPS - len(words))
    return going, before, words + [-1] * (STEPS - len(words))


def write_captions(folder):
    """A caption of each image, steps first; and a list of the images."""
    captions = [caption(shapes) for _, shapes in scenes()]
    arrays = {name: ((STEPS, IMAGES), [float(one[k][step]) for step in range(STEPS) for one in captions])
              for k, name in enumerate(("cont_sentence", "input_sentence", "target_sentence"))}
    write_hdf5(folder / "captions.h5", arrays)
    (folder / "captions.txt").write_text(f"{folder.name}/captions.h5\n")
    (folder / "images.txt").write_text("".join(f"{folder.name}/{i}.png {i}\n" for i in range(IMAGES)))


def pair(draw, shape, alike):
    """Two images of one channel with stripes of different kinds; alike are two even ones, and two odd ones."""
    one = draw.randrange(10)
    other = (one + (draw.choice((2, 4, 6, 8)) if alike else draw.choice((1, 3, 5, 7, 9)))) % 10
    return b"".join(sources.stripes(draw, (1, *shape[1:]), kind) for kind in (one, other))


def write_classes(folder):
    """An image of each of ten classes, and 32 pairs of images, half of them alike."""
    draw = random.Random("classes")
    shape = (3, 144, 144)
    write_lmdb(folder / "stripes_lmdb", [datum(shape, sources.stripes(draw, shape, kind), kind) for kind in range(10)])
    shape = (2, 28, 28)
    write_lmdb(folder / "pairs_lmdb", [datum(shape, pair(draw, shape, i % 2), i % 2) for i in range(PAIRS)])


def write_all(folder, batch):
    write_files(folder)
    write_targets(folder, batch)
    for write in (write_maps, write_captions, write_classes):
        write(folder)

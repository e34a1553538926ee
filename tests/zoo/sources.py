"""What the nets of the zoo read: all below one folder, as the nets name it, and always the same, each set by itself.

Images are stripes whose direction and colours say the class, with noise, and maps follow from images; so they can be
learned. Other arrays are random numbers, few enough to be learned by heart.

  tests/zoo/sources.py FOLDER
"""

import collections
import math
import pathlib
import random
import sys

from records import annotated_datum, box_datum, datum, list_datum, write_hdf5, write_lmdb, write_png

# Databases: name -> shape of the images, number of classes; 2 are those of pairs, 1 that of triplets.
DATABASES = {
    "mnist/mnist_train_lmdb": ((1, 28, 28), 10),
    "mnist/mnist_test_lmdb": ((1, 28, 28), 10),
    "cifar10/cifar10_train_lmdb": ((3, 32, 32), 10),
    "cifar10/cifar10_test_lmdb": ((3, 32, 32), 10),
    "images/train_lmdb": ((3, 72, 72), 10),
    "images/test_lmdb": ((3, 72, 72), 10),
    "siamese/train_lmdb": ((2, 28, 28), 2),
    "triplets/train_lmdb": ((9, 32, 32), 1),
}
# Images and their maps of labels: name -> size.
LABEL_MAPS = {"voc": 48, "voc49": 49}
LABELS = 5


def uniform(low, high):
    return lambda draw, count: [draw.uniform(low, high) for _ in range(count)]


def integers(low, high):
    return lambda draw, count: [float(draw.randint(low, high)) for _ in range(count)]


def starts(draw, count):
    """For cont of two streams: 0 where a sequence begins, in every fourth row."""
    del draw
    return [0.0 if i // 2 % 4 == 0 else 1.0 for i in range(count)]


def line_starts(draw, count):
    del draw
    return [0.0 if i % 6 == 0 else 1.0 for i in range(count)]


def regions(draw, count):
    """Rows of five: the item of a batch of two, and corners within images of 64 x 64."""
    rows = []
    for i in range(count // 5):
        left, top = draw.uniform(0, 30), draw.uniform(0, 30)
        rows += [float(i // 6 % 2), left, top, left + draw.uniform(8, 30), top + draw.uniform(8, 30)]
    return rows


def squares(draw, count):
    """Images of squares of 8 x 8 pixels, each brighter or darker than 0, with noise; of 40 or of 64 pixels a side."""
    side = 64 if count % (64 * 64) == 0 else 40
    pixels, tone = [], {}
    for i in range(count):
        image, y, x = i // (3 * side * side), i // side % side, i % side
        tone.setdefault((image, y // 8, x // 8), draw.choice((-1, 1)))
        pixels.append(tone[image, y // 8, x // 8] + draw.uniform(-0.3, 0.3))
    return pixels


def bright(side, step, channels=1, values=(1.0,)):
    """Of such images: where they are brighter than 0, at each `step`-th pixel, times a value for each channel."""
    def follow(data):
        rows = [image * 3 * side * side + y * side for image in range(2) for y in range(0, side, step)]
        height = side // step
        places = [[data[row + x] > 0 for row in rows[i * height:(i + 1) * height] for x in range(0, side, step)]
                  for i in range(2)]
        return [values[c % len(values)] * place for image in places for c in range(channels) for place in image]

    return follow


def boxes(draw, count):
    """Rows of eight as SSD has them: item of a batch of two, class 1 or 2, instance, corners, difficult; 3 an image."""
    rows = []
    for i in range(count // 8):
        left, top = draw.uniform(0, 0.6), draw.uniform(0, 0.6)
        rows += [float(i // 3 % 2), float(1 + i % 2), float(i % 3), left, top, left + 0.3, top + 0.35, 0.0]
    return rows


def centred_boxes(draw, count):
    """Of each image 30 rows of five as YOLO has them: class 0 or 1, centre, size; three are boxes, zeros follow."""
    numbers = []
    for _ in range(count // 150):
        for i in range(3):
            numbers += [float(i % 2), draw.uniform(0.2, 0.8), draw.uniform(0.2, 0.8), 0.3, 0.35]
        numbers += [0.0] * 135
    return numbers


def words(draw, count):
    """Of each line 6 steps: a word of three letters, in which none is followed by itself; blanks behind it."""
    return [float(i % 6 + 3 * draw.randint(0, 1) + 1) if i % 6 < 3 else 0.0 for i in range(count)]


def middle(data):
    """The middle 21 x 21 of images of 33 x 33, half as bright."""
    return [0.5 * data[image * 33 * 33 + y * 33 + x] for image in range(8) for y in range(6, 27) for x in range(6, 27)]


# HDF5: name of the list -> dataset -> shape, and its numbers, or what they follow from those of `data` by.
PIXELS = uniform(-1, 1)
Following = collections.namedtuple("Following", "by")
ARRAYS = {
    "edges/train": {"data": ((2, 3, 40, 40), squares), "label": ((2, 1, 40, 40), Following(bright(40, 1)))},
    "srcnn/train": {"data": ((8, 1, 33, 33), PIXELS), "label": ((8, 1, 21, 21), Following(middle))},
    "style/train": {"data": ((2, 3, 32, 32), PIXELS), "target": ((2, 3, 32, 32), PIXELS)},
    "regions/train": {
        "data": ((2, 3, 64, 64), PIXELS), "rois_of_image": ((2, 6, 5), regions),
        "labels_of_image": ((2, 6), integers(0, 2)), "bbox_targets_of_image": ((2, 6, 12), uniform(-1, 1)),
        "bbox_inside_weights_of_image": ((2, 6, 12), integers(0, 1))},
    "grid/train": {
        "data": ((2, 3, 64, 64), squares), "coverage-label": ((2, 1, 16, 16), Following(bright(64, 4))),
        "bbox-label": ((2, 4, 16, 16), Following(bright(64, 4, 4, (1.0, -1.0, 2.0, -2.0)))),
        "coverage-block": ((2, 4, 16, 16), Following(bright(64, 4, 4)))},
    "boxes/train": {"data": ((2, 3, 64, 64), squares), "boxes_of_image": ((2, 1, 3, 8), boxes)},
    "captions/train": {
        "cont_sentence": ((8, 2), starts), "input_sentence": ((8, 2), integers(0, 11)),
        "target_sentence": ((8, 2), integers(-1, 11))},
    "captions/images": {"image": ((2, 3, 16, 16), PIXELS)},
    "lines/train": {
        "data": ((4, 1, 8, 24), PIXELS), "cont_of_line": ((4, 6), line_starts),
        "labels_of_line": ((4, 6), integers(0, 11))},
    "words/train": {"data": ((4, 1, 8, 24), PIXELS), "word": ((4, 6), words)},
    "speech/train": {
        "features_of_speaker": ((4, 6, 10), PIXELS), "length": ((4,), integers(4, 6)), "phonemes": ((4, 6), words)},
    "centred/train": {"data": ((2, 3, 64, 64), squares), "boxes_of_image": ((2, 150), centred_boxes)},
    "captchas/train": {"data": ((2, 1, 32, 112), PIXELS), "label": ((2, 6), words)},
    "views/train": {
        "color": ((8, 3, 40, 40), PIXELS), "depth": ((8, 3, 40, 40), PIXELS), "label": ((8,), integers(0, 4))},
    "triplets/train": {"triplet": ((8, 9, 24, 24), PIXELS)},
    "mtcnn/train": {
        "data": ((8, 3, 48, 48), PIXELS), "label": ((8,), integers(-1, 1)), "roi": ((8, 4), PIXELS),
        "pts": ((8, 10), PIXELS)},
    "attributes/train": {"data": ((8, 3, 32, 32), PIXELS), "attributes": ((8, 8), integers(0, 1))},
    "ratings/train": {
        "user": ((16,), integers(0, 19)), "item": ((16,), integers(0, 29)), "rating": ((16, 1), uniform(1, 5))},
    "sentences/train": {"words": ((8, 7), integers(0, 19)), "label": ((8,), integers(0, 1))},
    "numbers/train": {"data": ((16, 6), PIXELS), "target": ((16, 2), PIXELS)},
}


def count(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


def stripes(draw, shape, kind):
    """An image of one class."""
    channels, height, width = shape
    along, across = 0.15 + 0.07 * (kind % 5), 0.1 + 0.15 * (kind // 5)
    pixels = bytearray()
    for channel in range(channels):
        phase = 2.1 * kind * (channel + 1)
        for y in range(height):
            for x in range(width):
                wave = math.sin(2 * math.pi * (along * x + across * y) + phase) + math.sin(phase)
                pixels.append(round(127 + 45 * wave) + draw.randint(-20, 20))
    return bytes(pixels)


def pair_of(draw, shape, similar):
    """Two images of one channel each: of one class, or of two."""
    one = draw.randrange(10)
    kinds = (one, one if similar else (one + draw.randrange(1, 10)) % 10)
    return b"".join(stripes(draw, (1, *shape[1:]), kind) for kind in kinds)


def triplet_of(draw, shape, label):
    """Three images, two of one class and one of another."""
    del label
    one = draw.randrange(10)
    kinds = (one, one, (one + draw.randrange(1, 10)) % 10)
    return b"".join(stripes(draw, (3, *shape[1:]), kind) for kind in kinds)


def scene(draw, size):
    """Rectangles of classes, one in front of the other, and an image of their colours; 255 on the border of some."""
    labels = [[0] * size for _ in range(size)]
    for kind in range(1, LABELS):
        left, top = draw.randrange(size // 2), draw.randrange(size // 2)
        for y in range(top, top + size // 3):
            for x in range(left, left + size // 3):
                labels[y][x] = 255 if kind == 1 and (x == left or y == top) else kind
    flat = [kind for row in labels for kind in row]
    image = bytes(40 * (kind % 6) + 20 * channel + draw.randint(-10, 10) + 20 for channel in range(3) for kind in flat)
    return bytes(flat), image


def things(draw, side):
    """An image of three rectangles, whose colours say their classes, 1 or 2, and these: class and corners of each."""
    image, boxes = [[[draw.randint(90, 130)] * side for _ in range(side)] for _ in range(3)], []
    for i in range(3):
        left, top, kind = draw.randrange(side // 2), draw.randrange(side // 2), 1 + i % 2
        for plane, tone in zip(image, ((220, 20, 20), (20, 20, 220))[kind - 1]):
            for row in plane[top:top + side // 3]:
                row[left:left + side // 3] = [tone] * (side // 3)
        boxes.append((kind, left / side, top / side, (left + side // 3) / side, (top + side // 3) / side))
    return bytes(pixel for plane in image for row in plane for pixel in row), boxes


def make_boxes(folder):
    """Databases of images with boxes, as SSD reads them, and as YOLO of Intel's Caffe does."""
    for name, record in (("annotated", annotated_datum), ("centred", box_datum)):
        for phase in ("train", "test"):
            draw = random.Random(f"{name} {phase}")
            write_lmdb(folder / f"things/{name}_{phase}_lmdb",
                       [record((3, 72, 72), *things(draw, 72)) for _ in range(4)])


def make_objects(folder):
    """Databases of images and of lists of their objects, as DIGITS makes them: cars are 1, and persons 8."""
    for phase in ("train", "test"):
        draw = random.Random(f"objects {phase}")
        scenes = [things(draw, 72) for _ in range(4)]
        lists = [[((1, 8)[kind - 1], 72 * left, 72 * top, 24, 24) for kind, left, top, _, _ in boxes]
                 for _, boxes in scenes]
        write_lmdb(folder / f"objects/{phase}_images_lmdb", [datum((3, 72, 72), image, 0) for image, _ in scenes])
        write_lmdb(folder / f"objects/{phase}_labels_lmdb", [list_datum(objects, 5) for objects in lists])


def make_label_maps(folder):
    """Files of images and of maps of labels, or of edges, and lists of both."""
    draw = random.Random("label maps")
    (folder / "maps").mkdir(parents=True, exist_ok=True)
    listed = {"labels": "", "edges": ""}
    for i in range(4):
        labels, planes = scene(draw, 48)
        size = len(labels)
        image = bytes(planes[c * size + at] for at in range(size) for c in (2, 1, 0))
        edges = bytes(255 * (labels[at] != labels[max(0, at - 1)]) for at in range(size))
        for name, pixels in (("image", image), ("labels", labels), ("edges", edges)):
            write_png(folder / f"maps/{name}{i}.png", 48, 48, pixels)
        for name in listed:
            listed[name] += f"/maps/image{i}.png /maps/{name}{i}.png\n"
    for name, lines in listed.items():
        (folder / f"maps/{name}_in_root.txt").write_text(lines)
        (folder / f"maps/{name}.txt").write_text(lines.replace("/maps", "examples/maps"))


def make_databases(folder):
    for name, (shape, classes) in DATABASES.items():
        draw = random.Random(name)
        image = {1: triplet_of, 2: pair_of}.get(classes, stripes)
        write_lmdb(folder / name, [datum(shape, image(draw, shape, i % classes), i % classes) for i in range(8)])
    for name, size in LABEL_MAPS.items():
        draw = random.Random(name)
        scenes = [scene(draw, size) for _ in range(4)]
        write_lmdb(folder / name / "labels_lmdb", [datum((1, size, size), labels, 0) for labels, _ in scenes])
        write_lmdb(folder / name / "images_lmdb", [datum((3, size, size), image, 0) for _, image in scenes])


def make_arrays(folder):
    for name, arrays in ARRAYS.items():
        draw = random.Random(name)
        path = folder / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = {}
        for top, (shape, numbers) in arrays.items():
            follows = isinstance(numbers, Following)
            made[top] = (shape, numbers.by(made["data"][1]) if follows else numbers(draw, count(shape)))
            assert len(made[top][1]) == count(shape), (name, top)
        write_hdf5(path, made)
        path.with_suffix(".txt").write_text(f"examples/{name}.h5\n")


def make_images(folder):
    """Image files, a list of them, and windows of them as of R-CNN."""
    draw = random.Random("images")
    (folder / "frames").mkdir(parents=True, exist_ok=True)
    (folder / "windows").mkdir(parents=True, exist_ok=True)
    listed, windows = "", ""
    for i in range(8):
        write_png(folder / f"frames/{i}.png", 40, 48, draw.randbytes(3 * 40 * 48))
        listed += f"examples/frames/{i}.png {i}\n"
        windows += f"# {i}\nexamples/frames/{i}.png\n3\n40\n48\n3\n"
        windows += f"{1 + i % 2} 0.8 4 4 30 30\n1 0.2 0 0 12 20\n2 0.1 10 10 40 39\n"
    (folder / "frames/train.txt").write_text(listed)
    (folder / "windows/train.txt").write_text(windows)


def make_films(folder):
    """Folders of frames, in colours and as motion along both axes, with the lists of both."""
    draw = random.Random("films")
    listed = {"frames": "", "flow": ""}
    for film in range(4):
        frames = folder / f"films/{film}"
        frames.mkdir(parents=True, exist_ok=True)
        for i in range(1, 9):
            write_png(frames / f"{i:06}.jpg", 28, 32, draw.randbytes(3 * 28 * 32))
            for axis in "xy":
                write_png(frames / f"flow_{axis}_{i:05}.jpg", 28, 32, draw.randbytes(28 * 32))
        listed["frames"] += f"examples/films/{film} {1 + film} {film}\n"  # the first frame
        listed["flow"] += f"examples/films/{film} 8 {film}\n"  # how many there are
    for name, lines in listed.items():
        (folder / f"films/{name}.txt").write_text(lines)


def make_object_windows(folder):
    """Image files, and a window file of them as MS-CNN reads it: boxes, and a region that is not looked at."""
    draw, listed = random.Random("objects"), ""
    (folder / "objects").mkdir(parents=True, exist_ok=True)
    for i in range(4):
        planes, boxes = things(draw, 64)
        write_png(folder / f"objects/{i}.png", 64, 64,
                  bytes(planes[c * 64 * 64 + at] for at in range(64 * 64) for c in (2, 1, 0)))
        listed += f"# {i}\nexamples/objects/{i}.png\n3\n64\n64\n{len(boxes)}\n"
        for n, (kind, *corners) in enumerate(boxes):
            listed += f"{kind} {int(i == 3 and n == 2)} {' '.join(str(round(64 * corner)) for corner in corners)}\n"
        listed += "1\n50 50 63 63\n" if i == 0 else "0\n"
    (folder / "objects/train.txt").write_text(listed)


def make_all(folder):
    for make in (make_databases, make_boxes, make_objects, make_label_maps, make_arrays, make_images,
                 make_films, make_object_windows):
        make(folder / "examples")


if __name__ == "__main__":
    make_all(pathlib.Path(sys.argv[1]))

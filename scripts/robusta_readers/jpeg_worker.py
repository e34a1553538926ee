"""Makes JPEGs, and decodes them as other programs do: one task that comes as JSON on stdin (scripts/bench_data.py)."""

import concurrent.futures
import json
import pathlib
import sys
import time


def make(task):
    """Photographs have detail in all sizes: sums of noise, each twice as fine and half as strong as the last."""
    import numpy
    import simplejpeg

    draw, total = numpy.random.RandomState(1), 0
    height, width = task["size"]
    whole = 1 << (max(height, width) - 1).bit_length()
    for index in range(task["count"]):
        image = numpy.full((whole, whole, 3), 128.0)
        for side in (1 << power for power in range(2, whole.bit_length())):
            grain = draw.standard_normal((side, side, 3)) * 120 / side ** 0.5
            image += grain.repeat(whole // side, 0).repeat(whole // side, 1)
        image = image[:height, :width]
        encoded = simplejpeg.encode_jpeg(image.clip(0, 255).astype(numpy.uint8), quality=90, colorsubsampling="420")
        (pathlib.Path(task["folder"]) / f"{index:05d}.jpg").write_bytes(encoded)
        total += len(encoded)
    return {"bytes": total}


def contents(folder):
    return [path.read_bytes() for path in sorted(pathlib.Path(folder).glob("*.jpg"))]


def decode_share(folder, first, step, rounds):
    """Seconds for every step-th image."""
    import simplejpeg

    images = contents(folder)[first::step]
    simplejpeg.decode_jpeg(images[0], colorspace="BGR")
    start = time.monotonic()
    for _ in range(rounds):
        for image in images:
            simplejpeg.decode_jpeg(image, colorspace="BGR")
    return len(images) * rounds, time.monotonic() - start


def decode(task):
    shares = task["processes"]
    with concurrent.futures.ProcessPoolExecutor(shares) as pool:
        done = [pool.submit(decode_share, task["folder"], first, shares, task["rounds"]) for first in range(shares)]
        return {"rate": sum(count / seconds for count, seconds in (share.result() for share in done))}


def loader(task):
    import io

    import torch
    from PIL import Image

    class Images(torch.utils.data.Dataset):
        def __init__(self):
            self.files = contents(task["folder"])

        def __len__(self):
            return len(self.files)

        def __getitem__(self, index):
            image = Image.open(io.BytesIO(self.files[index])).convert("RGB")
            pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(256, 256, 3)
            y, x = (int(torch.randint(33, (1,))) for _ in range(2))
            pixels = pixels[y:y + 224, x:x + 224].permute(2, 0, 1)
            return (pixels.flip(2) if torch.rand(1) < 0.5 else pixels).float() - 110

    batches = torch.utils.data.DataLoader(Images(), batch_size=64, shuffle=True, num_workers=task["processes"],
                                          persistent_workers=True)
    for _ in batches:  # the workers start in the first round
        pass
    start, count = time.monotonic(), 0
    for _ in range(task["rounds"]):
        for batch in batches:
            count += len(batch)
    return {"rate": count / (time.monotonic() - start)}


def torchvision_loader(task):
    import torch
    import torchvision

    step = torchvision.transforms
    images = torchvision.datasets.ImageFolder(task["folder"], step.Compose([
        step.Resize((256, 256)), step.RandomCrop(224), step.RandomHorizontalFlip(), step.ToTensor(),
        step.Normalize([0.4, 0.4, 0.4], [1, 1, 1])]))
    batches = torch.utils.data.DataLoader(images, batch_size=64, shuffle=True, num_workers=task["processes"],
                                          persistent_workers=True)
    for _ in batches:  # the workers start in the first round
        pass
    start, count = time.monotonic(), 0
    for _ in range(task["rounds"]):
        for batch, _ in batches:
            count += len(batch)
    return {"rate": count / (time.monotonic() - start)}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(globals()[asked["do"]](asked), sys.stdout)

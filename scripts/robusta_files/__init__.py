"""What the scripts under Caffe's names share: logs, prototxts, pictures of curves."""

"""caffe.io: pictures, what makes inputs of them, and arrays in Caffe's messages.

Pillow reads the pictures, everything else is numpy; scikit-image and scipy are not needed. An image is an array
(height, width, channels) of RGB in 0 ... 1, a net's input (channels, height, width).
"""

from ._images import load_image, oversample
from ._messages import (
                        array_to_blobproto,
                        array_to_datum,
                        arraylist_to_blobprotovector_str,
                        blobproto_to_array,
                        blobprotovector_str_to_arraylist,
                        datum_to_array,
)
from ._resize import resize_image
from ._transformer import Transformer
from .proto import caffe_pb2

__all__ = ["Transformer", "array_to_blobproto", "array_to_datum", "arraylist_to_blobprotovector_str",
           "blobproto_to_array", "blobprotovector_str_to_arraylist", "caffe_pb2", "datum_to_array", "load_image",
           "oversample", "resize_image"]

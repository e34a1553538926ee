"""The messages of Caffe for Python: `from caffe.proto import caffe_pb2`."""

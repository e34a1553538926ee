"""Other programs that read Caffe's files: their environments, and what runs inside of each."""

"""Layers of type Python that do what is allowed and rare, or wrong: for test_odd_layers.py."""

import caffe


class OneMore(caffe.Layer):
    """In place. param_str: which of its two blobs, that are one, it writes."""

    def reshape(self, bottom, top):
        pass

    def forward(self, bottom, top):
        blob = bottom[0] if self.param_str == "bottom" else top[0]
        blob.data[...] += 1

    def backward(self, top, propagate_down, bottom):
        pass


class Counts(caffe.Layer):
    """Its parameter is the number of passes so far, counted where param_str says."""

    def setup(self, bottom, top):
        self.blobs.add_blob(1).data[...] = 4

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.blobs[0].data[0]
        if self.param_str == "forward":
            self.blobs[0].data[...] += 1

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = 0
        if self.param_str == "backward":
            self.blobs[0].data[...] += 1


class SlopeInForward(caffe.Layer):
    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        top[0].data[...] = 2 * bottom[0].data.sum()
        bottom[0].diff[...] = 2

    def backward(self, top, propagate_down, bottom):
        pass


class Source(caffe.Layer):
    """Batches of `size`, of this class or of the object."""

    size, fails = 3, False

    def setup(self, bottom, top):
        self.kept = top

    def reshape(self, bottom, top):
        top[0].reshape(self.size)

    def forward(self, bottom, top):
        if Source.fails:
            top[0].reshape(1_000_000)
            raise OSError("file caf\udce9.jpg is missing")
        top[0].data[...] = self.size


class Grows(caffe.Layer):
    """Has a parameter, so that its tops' shapes are fixed in a pass, and gives them others."""

    size = 4

    def setup(self, bottom, top):
        self.blobs.add_blob(1)

    def reshape(self, bottom, top):
        top[0].reshape(self.size)

    def forward(self, bottom, top):
        top[0].data[...] = 1


class Peeks(caffe.Layer):
    """Looks at its own net whenever it is called. `net` and `seen` are of the class."""

    net, seen = None, []

    def look(self):
        if Peeks.net is None:
            return
        try:
            Peeks.seen.append([blob.data.sum() + blob.diff.sum() for blob in Peeks.net.blobs.values()])
        except caffe.Error as error:
            Peeks.seen.append(str(error))

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
        self.look()

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data
        self.look()

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = top[0].diff


class Raises(caffe.Layer):
    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        raise ValueError("always the same words")


class Interrupted(caffe.Layer):
    """Ctrl-C in its third pass."""

    passes = 0

    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        Interrupted.passes += 1
        if Interrupted.passes == 3:
            raise KeyboardInterrupt
        top[0].data[...] = bottom[0].data.sum()

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = 1


class Remembers(caffe.Layer):
    """Gives what a script has told it; a layer of another making has told it nothing."""

    value = 0

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.value

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = 0

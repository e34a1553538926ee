/// A net's blobs and parameters seen from the host: by name, in plain order, as floats.
///
/// Every call waits for what the net has enqueued. One thread drives a net, these calls included.
#pragma once

#include <string>
#include <vector>

#include "layers/kit/param.h"
#include "tensor/shape.h"

namespace robusta {

struct NetState;

/// Names are those of the prototxt; where several layers write one name in place, the last write is read, and what is
/// written to an input is what the first of these layers finds. An unknown name throws Error{kUsage} with the nearest
/// one.
class Blobs {
 public:
  /// Of a net, which holds this.
  explicit Blobs(NetState& net) : net_(net) {}

  bool has(const std::string& blob) const;
  Shape shape(const std::string& blob) const;
  /// Net outputs: blobs nobody consumes, in byte-wise alphabetical order.
  std::vector<std::string> outputs() const;
  /// Weight of an output in the loss, 0 when it is none.
  float loss_weight(const std::string& blob) const;

  /// Values, shape(blob).count() of them. Readable: net outputs and inputs; every blob with NetOptions::keep_blobs.
  /// Others throw Error{kUsage}.
  std::vector<float> read(const std::string& blob) const;
  /// Gradient; zeros where backward makes none. Readable as values are.
  std::vector<float> read_diff(const std::string& blob) const;
  /// The memory itself, in the layout and type that its kernels want, until the net is planned again. Readable as
  /// above; null data where backward makes no gradient.
  Tensor memory(const std::string& blob) const;
  Tensor diff_memory(const std::string& blob) const;
  /// Throws Error{kUsage} when the number of values is not the blob's.
  void write(const std::string& blob, const std::vector<float>& values);
  /// For a backward pass that begins there: NetOptions::seed_diffs names the blob, or a part of the net is run and
  /// keep_blobs is set. Others throw Error{kUsage}.
  void write_diff(const std::string& blob, const std::vector<float>& values);

  std::vector<float> read_param(const Param& param) const;
  std::vector<float> read_param_diff(const Param& param) const;
  /// Increments the parameter's version. REQUIRES: as many values as the parameter has.
  void write_param(Param& param, const std::vector<float>& values);
  void write_param_diff(Param& param, const std::vector<float>& values);

 private:
  NetState& net_;
};

}  // namespace robusta

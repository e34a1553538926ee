/// The step of a layer of type "Python": moves arrays between the net and the layer's code, which works on the host.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/host/host_layer.h"
#include "layers/kit/kernel.h"

namespace robusta::v1 {

/// Backward reads no values of the net: the layer's code keeps those of its forward.
class HostKernel : public robusta::Kernel {
 public:
  explicit HostKernel(const robusta::KernelRequest& request);

  std::string describe() const override { return "python"; }
  void forward(const KernelRun& run) override;
  void backward(const KernelRun& run) override;

 protected:
  /// A plain array of the device as floats on the host, and back; each waits until it is done.
  virtual std::vector<float> fetch(Stream* stream, const Tensor& from) const = 0;
  virtual void store(Stream* stream, std::span<const float> numbers, const Tensor& to) const = 0;

 private:
  struct Fetched;
  Fetched fetched_parameters(const KernelRun& run) const;
  void store_changed(const KernelRun& run, const Fetched& now, const std::vector<std::vector<float>>& before) const;

  const HostNode& layer_;
  std::vector<bool> learns_;  ///< per parameter
};

}  // namespace robusta::v1

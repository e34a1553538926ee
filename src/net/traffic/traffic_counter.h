/// Addresses that are no memory, and a stream that counts what would be launched on them.
///
/// A kernel's host code looks at no device memory, as that could not be a GPU's; so the steps of a net that was planned
/// for a DescribedGpu run as far as their launches on addresses alone, whatever the size of the net.
#pragma once

#include <map>

#include "device/described/described_device.h"
#include "net/traffic/kernel_times.h"

namespace robusta {

class TrafficCounter : private KernelCounter {
 public:
  explicit TrafficCounter(const KernelTimes& times) : times_(times) { stream_.set_counter(this); }
  Stream& stream() { return stream_; }
  /// So many bytes that can be told from all others; null for none.
  void* address(size_t bytes);

  /// What work() launches in stream(), whose products are of this type: convolutions and matrix products, then the
  /// rest.
  struct Counted {
    KernelTraffic products, others;
    KernelTraffic all() const { return KernelTraffic(products) += others; }
    Counted& operator+=(const Counted& more) {
      products += more.products;
      others += more.others;
      return *this;
    }
  };
  template <typename Work>
  Counted count_in(DType type, const Work& work) {
    type_ = type;
    counted_ = {};
    work();
    return counted_;
  }

 private:
  bool wants_arrays() const override { return true; }
  bool count(const KernelCall& call) override;
  double bytes_of(const KernelCall::Array& array) const;

  KernelTimes times_;
  CountingStream stream_;
  std::map<uintptr_t, size_t> memory_;  ///< bytes by address
  uintptr_t next_ = 1;
  DType type_ = DType::kF32;
  Counted counted_;
};

}  // namespace robusta

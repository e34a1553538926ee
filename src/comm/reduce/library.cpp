// MPI_Allreduce as it is, timed: for comparison, and for networks that sum in their switches. It chooses its own order
// of sums.

#include "comm/reduce/library.h"

#include <chrono>

#include "base/str.h"

namespace robusta {
namespace {

class LibraryAllReduce : public AllReduce {
 public:
  explicit LibraryAllReduce(Communicator& world) : world_(world) {}

  void sum(void* data, int64_t count, DType type, int64_t /*exact*/) override {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    world_.all_reduce(data, count, type);
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    bytes_ +=
        2.0 * (world_.size() - 1) / world_.size() * static_cast<double>(count) * static_cast<double>(size_of(type));
  }
  std::string describe() const override { return str("the library's own all-reduce over ", world_.size(), " ranks"); }
  std::vector<DimensionTime> take_times() override {
    const DimensionTime time{str("all (", world_.size(), " ranks)"), "library", seconds_, bytes_};
    seconds_ = bytes_ = 0;
    return {time};
  }

 private:
  Communicator& world_;
  double seconds_ = 0, bytes_ = 0;  // since take_times()
};

}  // namespace

std::unique_ptr<AllReduce> make_library_all_reduce(Communicator& world) {
  return std::make_unique<LibraryAllReduce>(world);
}

}  // namespace robusta

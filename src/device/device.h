/// A place with memory of its own, where kernels run in streams.
///
/// The host CPU runs a stream's work at once on the caller's thread. Accelerators run it later, in order, each stream
/// for itself; events order streams among each other. Errors thrown by work come out of Stream::synchronize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace robusta {

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the caller until the point is reached.
  virtual void wait() = 0;
  /// Whether it is; throws what the device has met since.
  virtual bool reached() = 0;
  /// Milliseconds from an earlier point to this one, both reached and made by record_timed(); 0 where nothing is timed.
  virtual double ms_since(const Event& earlier) const { return 0; }
};

/// Work that was recorded once and is launched as a whole, as often as wanted: the host's part of it is then one call.
class Recording {
 public:
  virtual ~Recording() = default;
};

/// A GPU's kernel that is about to run on the host instead (device/gpu/target.h), as whoever counts sees it.
struct KernelCall {
  static constexpr int64_t kToItsEnd = INT64_MAX;
  struct Array {
    const void* data;
    int64_t bytes;  ///< that are read, or written, once; at most, as memory ends somewhere
  };
  std::span<const Array> arrays;
  double flops = 0;  ///< of matrix products and convolutions, a multiply-add counted as two
};

class KernelCounter {
 public:
  virtual ~KernelCounter() = default;
  /// Whether KernelCall::arrays is to be found out.
  virtual bool wants_arrays() const = 0;
  /// Once per launch, copies and zeros in a kernel's work among them. False: it is only counted, and not run.
  virtual bool count(const KernelCall& call) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  /// Of kernels that run on the host instead of a GPU; null: nobody counts.
  virtual KernelCounter* counter() { return nullptr; }
  /// Appends work. It may be run at once or later, never out of order.
  virtual void run(std::function<void()> work) = 0;
  /// Appends a copy between host and device memory. The host range must stay valid until the copy has run.
  virtual void copy_to_device(void* to, const void* from_host, size_t bytes) = 0;
  virtual void copy_to_host(void* to_host, const void* from, size_t bytes) = 0;
  /// Appends a copy within the device's memory.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  /// Appends the writing of zeros.
  virtual void fill_zero(void* to, size_t bytes) = 0;
  virtual std::shared_ptr<Event> record() = 0;
  /// The same for Event::ms_since.
  virtual std::shared_ptr<Event> record_timed() { return record(); }
  /// Work appended from now on runs after `event`.
  virtual void wait(const std::shared_ptr<Event>& event) = 0;
  /// Waits for all work; rethrows the first error of any of it.
  virtual void synchronize() = 0;
  /// What a library takes that appends work of its own: a cudaStream_t on a GPU, elsewhere the stream itself.
  virtual void* native() { return this; }

  /// From here to end_recording what is appended is recorded and not run. What the recorded work reads later - memory,
  /// but no value of the host - it finds as it is at each launch. Meanwhile record() gives an event of the recording: a
  /// stream that waits for one belongs to the recording, too, until that ends; by then this stream has waited for all
  /// that the others were given. Such an event means nothing elsewhere; one of record_timed() is reached by each
  /// launch, and nobody waits for it. That the host waits for a stream, a stream for what is not recorded, or that the
  /// thread takes device memory, throws, and spoils the recording. REQUIRES: Device::records_graphs().
  virtual void begin_recording();
  /// Throws what spoiled the recording; null is never returned.
  virtual std::unique_ptr<Recording> end_recording();
  /// Leaves what was recorded so far.
  virtual void abandon_recording() noexcept {}
  /// Appends what was recorded in this stream. It may be given up before it has run.
  virtual void launch(Recording& recording);
};

/// What kernels may do for speed.
struct MathOptions {
  bool tf32 = true;  ///< round the factors of f32 products to 10 bits of mantissa where there are units for it
  bool deterministic = false;  ///< only what gives the same bits each time
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// Which kernels work on this memory (KernelCandidate::device).
  virtual std::string kernel_kind() const = 0;
  /// True when the host may read and write device memory directly.
  virtual bool is_host() const = 0;
  /// Tells the devices of a host apart, for every process alike (a GPU's PCI id); "" where that is not known.
  virtual std::string place() const { return ""; }
  /// For the calling thread's calls into libraries that work on "the current device".
  virtual void make_current() const {}
  /// Memory aligned to kMemoryAlignment, not initialised. Throws Error{kMemory} saying how much there is.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* memory) = 0;
  /// Asserts, where the device can tell, that the range is the device's own.
  virtual void check(const void* memory, size_t bytes) const {}
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// Host memory that copies to and from this device are fastest with (page-locked), aligned to kMemoryAlignment, not
  /// initialised; null for no bytes. Throws Error{kMemory}.
  virtual std::shared_ptr<void> host_memory(size_t bytes);
  /// Makes host memory that others own as fast for copies as host_memory(), until the handle is gone. Null where that
  /// cannot be had or changes nothing.
  virtual std::shared_ptr<void> pin(void* memory, size_t bytes) { return nullptr; }
  /// Bytes of the device, and those that are free now.
  virtual size_t total_memory() const = 0;
  virtual size_t free_memory() const = 0;

  /// Nothing runs there: what would be launched is counted (described/described_device.h).
  virtual bool only_counts() const { return false; }
  /// Whether streams can record.
  virtual bool records_graphs() const { return false; }
  /// True where products in bf16 are known to be faster than in f32; on the host that is measured, layer by layer.
  virtual bool multiplies_bf16() const { return true; }
  /// Whether they are asked to where they can.
  void set_graphs(bool wanted) { graphs_ = wanted; }
  bool graphs() const { return graphs_; }

  /// Set before kernels are made for this device.
  void set_math(const MathOptions& math) { math_ = math; }
  const MathOptions& math() const { return math_; }

 private:
  MathOptions math_;
  bool graphs_ = true;  ///< passes are recorded
};

/// A block of device memory, freed with its owner.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Device& device, size_t bytes)
      : device_(&device), data_(bytes > 0 ? device.allocate(bytes) : nullptr), bytes_(bytes) {}
  ~DeviceBuffer() { reset(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  void reset() {
    if (data_) device_->deallocate(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;  ///< as asked for
};

/// The machine's own processors and memory; one for the process.
Device& cpu_device();

}  // namespace robusta

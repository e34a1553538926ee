#include "device/sim/sim_device.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// 0xff in every byte is a NaN as float and as double.
constexpr int kPoison = 0xff;

class SimEvent : public Event {
 public:
  void wait() override {
    std::unique_lock lock(mutex_);
    reached_.wait(lock, [this] { return done_; });
  }
  bool reached() override {
    std::lock_guard lock(mutex_);
    return done_;
  }
  void signal() {
    std::lock_guard lock(mutex_);
    done_ = true;
    time_ = std::chrono::steady_clock::now();
    reached_.notify_all();
  }
  double ms_since(const Event& earlier) const override {
    return std::chrono::duration<double, std::milli>(time_ - static_cast<const SimEvent&>(earlier).time_).count();
  }

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace

class SimStream : public Stream {
 public:
  explicit SimStream(SimDevice& device) : device_(device), thread_([this] { work(); }) {}
  ~SimStream() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run(std::function<void()> work) override {
    push([this, work = std::move(work)] {
      pause(device_.late_work_us_);
      work();
    });
  }
  void copy_to_device(void* to, const void* from_host, size_t bytes) override {
    device_.check(to, bytes);
    push([this, to, from_host, bytes] {
      pause(device_.late_copies_us_);
      std::memcpy(to, from_host, bytes);
      device_.to_device_ += bytes;
    });
  }
  void copy_to_host(void* to_host, const void* from, size_t bytes) override {
    device_.check(from, bytes);
    push([this, to_host, from, bytes] {
      pause(device_.late_copies_us_);
      std::memcpy(to_host, from, bytes);
      device_.to_host_ += bytes;
    });
  }
  void copy(void* to, const void* from, size_t bytes) override {
    device_.check(to, bytes);
    device_.check(from, bytes);
    push([to, from, bytes] { std::memmove(to, from, bytes); });
  }
  void fill_zero(void* to, size_t bytes) override {
    device_.check(to, bytes);
    push([to, bytes] { std::memset(to, 0, bytes); });
  }
  std::shared_ptr<Event> record() override {
    auto event = std::make_shared<SimEvent>();
    push([event] { event->signal(); });
    return event;
  }
  void wait(const std::shared_ptr<Event>& event) override {
    push([event] { event->wait(); });
  }
  void synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static void pause(int us) {
    if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
  }

  void push(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      pause(device_.delay_us_);
      std::exception_ptr failure;
      try {
        next();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      busy_ = false;
      changed_.notify_all();
    }
  }

  SimDevice& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  ///< guarded by mutex_, as all below
  std::exception_ptr failure_;
  bool busy_ = false, closing_ = false;
  std::thread thread_;
};

SimDevice::SimDevice(size_t budget, int delay_us, std::string kernels, std::string place)
    : budget_(budget), delay_us_(delay_us), kernels_(std::move(kernels)), place_(std::move(place)) {}

SimDevice::~SimDevice() { assert(blocks_.empty() && "device memory outlives the device"); }

void* SimDevice::allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  void* memory = nullptr;
  if (in_use_ + bytes > budget_ || posix_memalign(&memory, 64, std::max<size_t>(bytes, 1)) != 0) {
    throw Error(ErrorKind::kMemory,
                str("out of device memory: ", bytes, " bytes wanted, ", budget_ - in_use_, " of ", budget_, " free"),
                "use a smaller batch");
  }
  std::memset(memory, kPoison, bytes);
  blocks_[static_cast<char*>(memory)] = bytes;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return memory;
}

void SimDevice::deallocate(void* memory) {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(static_cast<char*>(memory));
  assert(block != blocks_.end());
  std::memset(memory, kPoison, block->second);
  in_use_ -= block->second;
  blocks_.erase(block);
  std::free(memory);
}

void SimDevice::check(const void* memory, size_t bytes) const {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  const char* begin = static_cast<const char*>(memory);
  auto block = blocks_.upper_bound(begin);
  const bool inside = block != blocks_.begin() && (--block, begin + bytes <= block->first + block->second);
  if (!inside) throw Error(ErrorKind::kInternal, "a pointer that is not device memory reached the sim device");
}

size_t SimDevice::free_memory() const {
  std::lock_guard lock(mutex_);
  return budget_ - in_use_;
}

std::unique_ptr<Stream> SimDevice::make_stream() { return std::make_unique<SimStream>(*this); }

}  // namespace robusta

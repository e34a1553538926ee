// The number of threads that is enough where none is asked for.

#include "data/settings.h"

#include <algorithm>
#include <thread>

namespace robusta {

int data_threads(const DataSettings& settings) {
  constexpr int kEnough = 4;  // decodes about 3,000 ImageNet pictures a second
  if (settings.threads > 0) return settings.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kEnough);
}

}  // namespace robusta

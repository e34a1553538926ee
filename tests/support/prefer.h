/// A tuner that tells what it takes, so that a test reaches one way among several.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "layers/kit/kernel.h"

namespace robusta::test {

/// Runs every option, then takes the first whose name contains a word, else the first of all.
class Prefer : public Tuner {
 public:
  explicit Prefer(std::string word) : word_(std::move(word)) {}
  int choose(const std::string&, const std::vector<std::string>& options,
             const std::function<void(int)>& run) override {
    int chosen = -1;
    for (int i = 0; i < static_cast<int>(options.size()); ++i) {
      run(i);
      if (chosen < 0 && options[static_cast<size_t>(i)].find(word_) != std::string::npos) chosen = i;
    }
    taken += chosen >= 0 ? 1 : 0;
    return chosen < 0 ? 0 : chosen;
  }
  int taken = 0;  ///< how often there was such an option

 private:
  std::string word_;
};

}  // namespace robusta::test

/// What Intel's OpenMP variables mean to GNU's library, which reads its own when the program is loaded.
///
/// Job scripts written for Intel Caffe set KMP_AFFINITY and KMP_BLOCKTIME. They are translated into OMP_PROC_BIND,
/// GOMP_CPU_AFFINITY and OMP_WAIT_POLICY; the program then has to start itself again, since the library has looked
/// already. What has no counterpart is named.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace robusta {

/// How many times a thread of libgomp looks before it sleeps: 0.5 to 2.5 ms by processor. That is longer than the usual
/// wait for the slower half of a loop, since waking a thread costs more than that wait, and shorter than a time slice,
/// since whom it waits for may be without a core.
inline constexpr std::string_view kBriefSpin = "GOMP_SPINCOUNT=50000";

struct OmpTranslation {
  std::map<std::string, std::string> set;  ///< variables to add to the environment
  std::vector<std::string> notes;          ///< one line for each KMP_ variable: what became of it
};

/// `get` returns the value of a variable, or null. What is set in OpenMP's own variables already wins. With
/// `oversubscribed`, threads that wait sleep at once: spinning ones would keep the others from their cores. Else they
/// spin for a fraction of a millisecond first, and not for a time slice.
OmpTranslation translate_omp(const std::function<const char*(const char*)>& get, bool oversubscribed);

/// Translates this process's environment; starts the program again when there is something to set. Call first in main.
void apply_omp_environment(char** argv);

/// How many processes of this job the launcher says it has started on this host; 1 without a launcher.
int launched_here();

/// The notes of the translation, for the log.
std::vector<std::string> omp_notes();

}  // namespace robusta

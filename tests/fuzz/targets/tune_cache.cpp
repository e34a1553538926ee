// Caches: of tuned kernels, and of sums over ranks.

#include "comm/reduce/choice_cache.h"
#include "comm/world.h"
#include "net/tuning.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_caches(std::string_view input) {
  const std::string path = file_of(input);
  {
    RecordingTuner tuner(path);
    tuner.choose("shape", {"a", "b"}, [](int) {});
  }  // is written
  const auto alone = make_self();
  ChoiceCache choices(*alone, topology_of({"host"}, 0, {}), file_of(input));
  choices.find("key");
  choices.remember("key", "choice");
  choices.save();
}

[[maybe_unused]] const bool registered_tune_cache = register_target("tune_cache", read_caches);

}  // namespace
}  // namespace robusta::fuzz

// Models of Caffe's binary form: read, and copied into a net that has layers ip1 and ip2.

#include "fuzz.h"
#include "solver/files/model_format.h"
#include "solver/files/weights.h"
#include "toy_net.h"

namespace robusta::fuzz {
namespace {

void read_model(std::string_view input) {
  const std::string path = file_of(input);
  const WeightsFile weights = default_format().read_model(path);
  fingerprint(weights);
  copy_weights(weights, path, toy_solver().train_net());
}

[[maybe_unused]] const bool registered_weights = register_target("weights", read_model);

}  // namespace
}  // namespace robusta::fuzz

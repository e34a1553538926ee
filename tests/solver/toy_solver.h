/// A small training for tests: random data, a hidden layer with dropout, a loss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schema/read_text.h"
#include "solver/solver.h"

namespace robusta::test {

/// Data is drawn anew for every batch, by its position.
inline const std::string kToyNet = R"(net_param {
  name: "toy"
  layer { name: "data" type: "DummyData" top: "data" top: "label"
    dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 2 }
      data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
  layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
    param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
    inner_product_param { num_output: 5 weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.1 } } }
  layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
  layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
  layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
    inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 0.5 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip2" bottom: "label" top: "loss" }
}
)";

inline SolverDef toy_def(const std::string& settings) {
  return parse_solver("base_lr: 0.02 lr_policy: 'fixed' random_seed: 3\n" + settings + "\n" + kToyNet, "toy.prototxt");
}

inline std::unique_ptr<Solver> toy(const std::string& settings, SolverOptions options = {}) {
  return std::make_unique<Solver>(toy_def(settings), std::move(options));
}

/// All parameters, then all histories, one after the other; collective, and whole on rank 0.
inline std::vector<float> everything(Solver& solver) {
  std::vector<float> all;
  auto append = [&](const std::vector<float>& values) { all.insert(all.end(), values.begin(), values.end()); };
  for (const ParamPtr& param : solver.train_net().params()) append(solver.train_net().blobs().read_param(*param));
  const TellingHistories whole(solver.updater());
  for (const HistoryId id : solver.updater().history_ids()) append(solver.updater().history(id));
  return all;
}

}  // namespace robusta::test

/// How the files of a snapshot are called: PREFIX_iter_N, at the ends of the last epochs with the scores of a test
/// (test_and_snapshot_last_epochs), and the endings of its format.
#pragma once

#include <string>
#include <vector>

#include "solver/files/model_format.h"

namespace robusta {

/// Between the name of a snapshot and its ending, where it has averaged weights.
inline constexpr const char* kAveraged = "_ema";

struct SnapshotPaths {
  std::string model, state;
  std::string averaged = {};  ///< the model with averaged weights (ema_decay), where there is one
};
SnapshotPaths snapshot_paths(const std::string& prefix, int iter, const ModelFormat& format = default_format(),
                             const std::string& scores = "");

/// "_score0_0.91_score1_0.3" for the first five scores, as NVIDIA's Caffe puts them behind N.
std::string score_text(const std::vector<double>& scores);

/// Where the averaged weights lie beside those of `model`: PREFIX_iter_N_ema.caffemodel.
std::string averaged_model(const std::string& model);

/// The N of "<stem>_iter_N<scores><ending>", -1 for any other name.
int snapshot_iteration(const std::string& file, const std::string& stem, const std::string& ending);

/// The folder and the stem of a prefix: "a/b/net" is "a/b" and "net", "net" is "." and "net".
struct PrefixParts {
  std::string folder, stem;  ///< no folder is named: "."
};
PrefixParts prefix_parts(const std::string& prefix);

}  // namespace robusta

// Caffe's own files: a model is a NetParameter, a state a SolverState, both as protobuf writes them.
#include "schema/state_file.h"
#include "solver/files/model_format.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

class BinaryProtoFormat : public ModelFormat {
 public:
  std::string title() const override { return "binary proto file"; }
  std::string model_ending() const override { return ".caffemodel"; }
  std::string state_ending() const override { return ".solverstate"; }
  /// Of a protobuf message.
  size_t largest_file() const override { return (size_t{1} << 31) - 1; }
  /// Nothing marks the beginning of a message: it is what no other format recognises.
  bool recognises(std::string_view) const override { return false; }

  WeightsFile read_model(const std::string& path) const override { return read_weights(path); }
  caffe::SolverState read_state(const std::string& path) const override { return robusta::read_state(path); }

  void write_model(const std::string& path, Net& net, bool with_diffs) const override {
    write_net(path, net, with_diffs);
  }
  std::optional<ArrayMessage> state_message(const caffe::SolverState& state, Updater& updater) const override {
    constexpr int kHistory = caffe::SolverState::kHistoryFieldNumber;
    ArrayMessage file;
    file.add_below(state, kHistory);
    for (const HistoryId id : updater.history_ids()) {
      file.add_blob(kHistory, {.shape = updater.history_param(id).desc.shape.dims(),
                               .data = [&updater, id] { return updater.history(id); },
                               .diff = nullptr});
    }
    file.add_above(state, kHistory);
    return file;
  }
  void write_state(const std::string& path, caffe::SolverState state, Updater& updater) const override {
    state_message(state, updater)->write(path);
  }
};

[[maybe_unused]] const bool registered_binary_proto =
    register_model_format("BINARYPROTO", std::make_unique<BinaryProtoFormat>());

}  // namespace
}  // namespace robusta

// Caffe's HDF5 files (snapshot_format: HDF5), as BVLC's net.cpp and sgd_solver.cpp lay them out.
//
// A model has a group /data/LAYER for each layer, and in it a dataset for each array, named by its index; those of a
// layer that another one owns are left out. /diff is the same with gradients, all of them. A layer "loss1/conv" is a
// group in a group, which Caffe itself cannot write. A state has /iter, /current_step, /learned_net and the histories
// /history/0, 1, ...; Intel's wants two numbers more, and what only we know is in /robusta, which others pass over.
#include <charconv>
#include <limits>
#include <set>

#include "base/atomic_file.h"
#include "base/str.h"
#include "data/hdf5/hdf5_tree.h"
#include "schema/state_file.h"
#include "solver/files/model_format.h"

namespace robusta {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr char kData[] = "/data", kDiff[] = "/diff", kHistory[] = "/history";
constexpr int kMostDepth = 32;           // of groups in groups
constexpr size_t kMostArrays = 100'000;  // of a file

/// The index that a dataset's name says, -1 for another name.
int index_of(const std::string& name) {
  int index = -1;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  return error == std::errc() && stop == name.data() + name.size() ? index : -1;
}

/// All layers of a model's file.
class ModelReader {
 public:
  explicit ModelReader(const std::string& path) : file_(path) {}

  WeightsFile read() {
    if (!file_.has(kData)) {
      if (file_.has("/iter")) file_.refuse("this is a solver state, no weights", "give the model that lies beside it");
      file_.refuse("there is no group /data: these are no weights of a net", "take the .caffemodel.h5 of a snapshot");
    }
    weights_.leaves_out_shared = true;
    read_group(kData, "", 0);
    return std::move(weights_);
  }

 private:
  /// A group is a layer when it holds arrays, or holds nothing.
  void read_group(const std::string& group, const std::string& layer, int depth) {
    if (depth > kMostDepth) refuse_size();
    const std::vector<Hdf5Member> members = file_.members(group);
    LayerWeights weights{.name = layer, .type = "", .blobs = {}};
    for (const Hdf5Member& member : members) {
      if (++visited_ > kMostArrays) refuse_size();
      const std::string path = group + "/" + member.name;
      if (member.is_group) {
        read_group(path, layer.empty() ? member.name : layer + "/" + member.name, depth + 1);
      } else {
        read_array(path, member.name, weights);
      }
    }
    order_batch_norm(&weights);
    if (!layer.empty() && (members.empty() || !weights.blobs.empty())) weights_.layers.push_back(std::move(weights));
  }

  void read_array(const std::string& path, const std::string& name, LayerWeights& weights) {
    constexpr int kMostParameters = 1000;  // of a layer
    const int index = index_of(name);
    if (index < 0 || index >= kMostParameters) {
      file_.refuse("dataset \"" + path + "\" is not named by the index of a parameter", "name it 0, 1, ...");
    }
    Hdf5TreeReader::Array array = file_.array(path);
    if (weights.blobs.size() <= static_cast<size_t>(index)) weights.blobs.resize(static_cast<size_t>(index) + 1);
    weights.blobs[static_cast<size_t>(index)] = {
        .shape = std::move(array.shape), .legacy_dims = false, .data = std::move(array.values)};
  }

  [[noreturn]] void refuse_size() const {
    file_.refuse("it has too many groups: this is no model", "take the .caffemodel.h5 of a snapshot");
  }

  Hdf5TreeReader file_;
  WeightsFile weights_;
  size_t visited_ = 0;
};

int32_t read_count(const Hdf5TreeReader& file, const std::string& name) {
  const int64_t value = file.integer(name);
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) {
    file.refuse(str(name, " is ", value, ": this state is damaged"), "resume from another one");
  }
  return static_cast<int32_t>(value);
}

void read_histories(const Hdf5TreeReader& file, caffe::SolverState& state) {
  const size_t count = file.has(kHistory) ? file.members(kHistory).size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const Hdf5TreeReader::Array array = file.array(str(kHistory, "/", i));
    blob_to_proto(array.shape, array.values.data(), state.add_history());
  }
}

/// A layer's name is a path of groups: its parts must be names, and none may be the dataset of another layer.
void require_path(const std::string& layer, const std::set<std::string>& datasets) {
  for (size_t begin = 0; begin <= layer.size();) {
    const size_t end = std::min(layer.find('/', begin), layer.size());
    const std::string part = layer.substr(begin, end - begin);
    if (part.empty() || part == "." || datasets.contains(layer.substr(0, end))) {
      throw Error(ErrorKind::kUnsupported, "an HDF5 file cannot hold a layer of this name",
                  "rename the layer, or set snapshot_format: BINARYPROTO")
          .in_layer(layer);
    }
    begin = end + 1;
  }
}

void write_image(const std::string& path, const Hdf5TreeWriter& file) {
  const std::vector<char> bytes = file.image();
  write_file_atomically(path, [&](int fd) { write_all(fd, bytes.data(), bytes.size()); });
}

class Hdf5Format : public ModelFormat {
 public:
  std::string title() const override { return "HDF5 file"; }
  std::string model_ending() const override { return ".caffemodel.h5"; }
  std::string state_ending() const override { return ".solverstate.h5"; }
  bool recognises(std::string_view beginning) const override { return beginning.starts_with(kSignature); }

  void require_possible(const Graph& graph) const override {
    std::set<std::string> datasets;
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.params.size(); ++i) {
        if (datasets.insert(str(node.layer->name(), "/", i)).second) continue;
        throw Error(ErrorKind::kUnsupported, "an HDF5 file cannot hold two layers of one name",
                    "rename one of them, or set snapshot_format: BINARYPROTO")
            .in_layer(node.layer->name());
      }
    }
    for (const Node& node : graph.nodes) require_path(node.layer->name(), datasets);
  }

  WeightsFile read_model(const std::string& path) const override { return ModelReader(path).read(); }

  caffe::SolverState read_state(const std::string& path) const override {
    const Hdf5TreeReader file(path);
    caffe::SolverState state;
    if (!file.has("/iter")) {
      if (file.has(kData)) file.refuse("these are weights, no solver state", "give them with -weights");
      file.refuse("no iteration in it: this is no solver state", "take the .solverstate.h5 of a snapshot");
    }
    state.set_iter(read_count(file, "/iter"));
    if (file.has("/current_step")) state.set_current_step(read_count(file, "/current_step"));
    if (file.has("/learned_net")) state.set_learned_net(file.text("/learned_net"));
    if (file.has("/iter_last_event")) state.set_iter_last_event(read_count(file, "/iter_last_event"));
    if (file.has("/minimum_loss")) state.set_minimum_loss(file.array("/minimum_loss").values[0]);
    if (file.has("/robusta") && !state.mutable_robusta()->ParseFromString(file.bytes("/robusta"))) {
      file.refuse("/robusta cannot be read: this state is damaged", "resume from another one");
    }
    read_histories(file, state);
    return state;
  }

  void write_model(const std::string& path, Net& net, bool with_diffs) const override {
    Hdf5TreeWriter file;
    file.add_group(kData);
    std::set<const Param*> written;
    for (const Node& node : net.graph().nodes) {
      const std::string layer = "/" + node.layer->name();
      file.add_group(kData + layer);
      if (with_diffs) file.add_group(kDiff + layer);
      for (size_t i = 0; i < node.params.size(); ++i) {
        const Param& param = *node.params[i];
        const std::string name = str(layer, "/", i);
        const std::vector<int64_t>& shape = param.desc.shape.dims();
        if (written.insert(&param).second) file.add_array(kData + name, shape, net.blobs().read_param(param).data());
        if (with_diffs) file.add_array(kDiff + name, shape, net.blobs().read_param_diff(param).data());
      }
    }
    write_image(path, file);
  }

  void write_state(const std::string& path, caffe::SolverState state, Updater& updater) const override {
    Hdf5TreeWriter file;
    file.add_integer("/iter", state.iter());
    file.add_integer("/current_step", state.current_step());
    file.add_integer("/iter_last_event", state.iter_last_event());
    file.add_float("/minimum_loss", state.minimum_loss());
    file.add_text("/learned_net", state.learned_net());
    if (state.has_robusta()) file.add_bytes("/robusta", state.robusta().SerializeAsString());
    file.add_group(kHistory);
    for (const HistoryId id : updater.history_ids()) {
      const std::vector<int64_t>& shape = updater.history_param(id).desc.shape.dims();
      file.add_array(str(kHistory, "/", id.number()), shape, updater.history(id).data());
    }
    write_image(path, file);
  }
};

[[maybe_unused]] const bool registered_hdf5_format = register_model_format("HDF5", std::make_unique<Hdf5Format>());

}  // namespace
}  // namespace robusta

// Writes what a net computes of each sample into databases.

#include <charconv>

#include "address_space.h"
#include "app/setup/devices.h"
#include "base/log.h"
#include "inspect/features.h"
#include "run_tool.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

int64_t count_in(const std::string& word) {
  int64_t count = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (status == std::errc() && end == word.data() + word.size() && count > 0) return count;
  throw Error(ErrorKind::kUsage, "\"" + word + "\" is no number of batches", "give 1 or more");
}

/// -gpu as the words behind DB_TYPE mean it.
std::string gpu_of(const std::vector<std::string>& words) {
  if (words.size() < 7 || words[6] == "CPU") return "";
  if (words[6] == "GPU") return words.size() > 7 ? words[7] : "0";
  throw Error(ErrorKind::kUsage, "\"" + words[6] + "\" is neither CPU nor GPU", "write CPU, or GPU and its id");
}

void extract(const std::vector<std::string>& words) {
  const std::vector<std::string> blobs = split_list(words[2]), places = split_list(words[3]);
  if (blobs.empty() || blobs.size() != places.size()) {
    throw Error(
        ErrorKind::kUsage,
        "there are " + std::to_string(blobs.size()) + " blobs and " + std::to_string(places.size()) + " databases",
        "name a database for each blob, with commas between them");
  }
  std::vector<FeatureOutput> outputs;
  for (size_t i = 0; i < blobs.size(); ++i) outputs.push_back({blobs[i], places[i]});
  const int64_t batches = count_in(words[4]);
  require_feature_format(words[5]);
  Options flags;
  flags.gpu.read(gpu_of(words));
  Ranks alone(DdlOptions{});
  const std::shared_ptr<Device> device = DeviceChoice(flags).open(alone);
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.keep_blobs = true;
  options.device = device.get();
  Net net(net_in_state(words[1], caffe::TEST, 0, {}), options);
  load_weights(split_list(words[0]), net, "Weights");
  const int64_t samples = extract_features(net, outputs, batches, words[5]);
  LOG_INFO << "Wrote features of " << samples << " samples.";
}

}  // namespace
}  // namespace robusta

int main(int argc, char** argv) {
  const std::string usage =
      "Writes what a net computes of each sample, blob by blob.\n"
      "    extract_features MODEL.caffemodel NET.prototxt BLOB[,BLOB...] DB[,DB...] NUM_BATCHES DB_TYPE\n"
      "                     [CPU|GPU [DEVICE_ID]]\n"
      "DB_TYPE is lmdb, leveldb or hdf5; the net is run in phase TEST.";
  return robusta::run_tool(argc, argv, usage, 6, 8, robusta::extract);
}

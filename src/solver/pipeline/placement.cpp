// Layers come in an order in which each reads what was made before it: one walk forward places all but sources and
// splits, which wait for their readers.
#include "solver/pipeline/placement.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/counted.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

class Placer {
 public:
  Placer(const NetDef& net, int stages, StagesAre where) : net_(net), stages_(stages), where_(where) {}

  std::vector<int> run() {
    for (int i = 0; i < net_.param.layer_size(); ++i) {
      stage_.push_back(stage_of(i));
      for (const std::string& top : layer(i).top()) makers_[top] = i;
    }
    for (int i = net_.param.layer_size(); i-- > 0;) follow_readers(i);
    check_shared_params();
    return stage_;
  }

 private:
  const caffe::LayerParameter& layer(int i) const { return net_.param.layer(i); }
  int at(int i) const { return stage_[static_cast<size_t>(i)]; }

  [[noreturn]] void refuse(int i, const std::string& field, const std::string& cause, const std::string& fix) const {
    throw Error(ErrorKind::kConfig, cause, fix).in_layer(layer(i).name()).at(net_.source_of(i).where(field));
  }

  int stage_of(int i) {
    const caffe::LayerParameter& own = layer(i);
    int last = 0;
    std::string from;
    for (const std::string& bottom : own.bottom()) {
      const int maker = makers_.at(bottom);
      readers_[maker].push_back(i);
      if (at(maker) > last || from.empty()) from = bottom;
      last = std::max(last, at(maker));
    }
    const int stage = own.has_device() ? own.device() : last;
    if (own.has_device()) check_device(i, last, from);
    check_in_place(i, stage);
    return stage;
  }

  void check_device(int i, int last, const std::string& from) const {
    const int device = layer(i).device();
    if (device < 0 || device >= stages_) {
      const bool gpus = where_ == StagesAre::kGpus;
      refuse(i, "device",
             gpus ? str("device ", device, ", and -gpu lists ", counted(stages_, "GPU"))
                  : str("device ", device, ", and stages are counted from 0 on"),
             gpus ? str("give a place in that list, 0 to ", stages_ - 1) : "give 0 or more");
    }
    if (device < last) {
      refuse(i, "device",
             str("device ", device, ", and bottom \"", from, "\" is made on device ", last,
                 ": a pipeline sends forward alone"),
             str("give ", last, " or a later device, or place what makes \"", from, "\" on device ", device));
    }
  }

  /// In Caffe backward of the layers before may read what it leaves, which would lie on another device.
  void check_in_place(int i, int stage) const {
    const caffe::LayerParameter& own = layer(i);
    for (int t = 0; t < std::min(own.top_size(), own.bottom_size()); ++t) {
      const int made = at(makers_.at(own.bottom(t)));
      if (own.top(t) != own.bottom(t) || made == stage) continue;
      refuse(i, own.has_device() ? "device" : "bottom",
             str("works in place on blob \"", own.top(t), "\", which is made on device ", made, ", and is on device ",
                 stage),
             "give it a top of its own, or place both on one device");
    }
  }

  void follow_readers(int i) {
    const bool follows = layer(i).bottom().empty() || layer(i).type() == "Split";
    if (layer(i).has_device() || !follows || readers_[i].empty()) return;
    int first = stages_;
    for (const int reader : readers_[i]) first = std::min(first, at(reader));
    stage_[static_cast<size_t>(i)] = first;
  }

  void check_shared_params() const {
    std::map<std::string, int> owners;
    for (int i = 0; i < net_.param.layer_size(); ++i) {
      for (const caffe::ParamSpec& spec : layer(i).param()) {
        if (spec.name().empty()) continue;
        const int owner = owners.try_emplace(spec.name(), i).first->second;
        if (at(owner) == at(i)) continue;
        refuse(i, "param.name",
               str("shares parameter \"", spec.name(), "\" with layer \"", layer(owner).name(), "\" on device ",
                   at(owner), ", and is on device ", at(i)),
               "place both on one device, or give each its own parameters");
      }
    }
  }

  const NetDef& net_;
  const int stages_;
  const StagesAre where_;
  std::vector<int> stage_;
  std::map<std::string, int> makers_;        ///< of a blob's newest version
  std::map<int, std::vector<int>> readers_;  ///< of a layer's tops
};

}  // namespace

bool names_devices(const caffe::NetParameter& net) {
  return std::ranges::any_of(net.layer(), [](const caffe::LayerParameter& layer) { return layer.has_device(); });
}

int stages_named(const caffe::NetParameter& net) {
  int stages = 0;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (layer.has_device()) stages = std::max(stages, layer.device() + 1);
  }
  return stages;
}

std::vector<int> place_layers(const NetDef& net, int stages, StagesAre where) {
  return Placer(net, stages, where).run();
}

void require_all_stages(const NetDef& net, const std::vector<int>& placement, int stages, StagesAre where) {
  const bool gpus = where == StagesAre::kGpus;
  for (int stage = 0; stage < stages; ++stage) {
    if (std::ranges::count(placement, stage) > 0) continue;
    throw Error(ErrorKind::kConfig,
                str(gpus ? str("-gpu lists ", counted(stages, "GPU")) : str("layers name devices up to ", stages - 1),
                    ", and no layer that is trained is on device ", stage),
                gpus ? "list as many GPUs as layers name, or place layers there by `device`"
                     : "number the devices from 0 on without a gap")
        .at(net.file);
  }
}

void require_same_places(const NetDef& train, const std::vector<int>& trained, const NetDef& test,
                         const std::vector<int>& tested) {
  std::map<std::string, int> places;
  for (int i = 0; i < train.param.layer_size(); ++i) {
    if (train.param.layer(i).type() != "Split") places[train.param.layer(i).name()] = trained[static_cast<size_t>(i)];
  }
  for (int i = 0; i < test.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = test.param.layer(i);
    const auto place = places.find(layer.name());
    const int here = tested[static_cast<size_t>(i)];
    if (layer.bottom().empty() || place == places.end() || place->second == here) continue;
    throw Error(ErrorKind::kConfig,
                str("is on device ", here, " in the test net and on device ", place->second, " in the train net"),
                "give both the same `device`")
        .in_layer(layer.name())
        .at(test.source_of(i).where("device"));
  }
}

}  // namespace robusta

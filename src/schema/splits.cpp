// Names of splits appear in logs and files, so they are built exactly as Caffe builds them.
//
// A top that is read more than once gets a Split behind its layer, "<blob>_<layer>_<top>_split", whose tops are that
// name and "_0", "_1" and so on, handed out in the order of the readers.

#include "schema/splits.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <vector>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/filter.h"

namespace robusta {
namespace {

/// A top: which layer, which of its tops.
struct TopId {
  int layer, index;
  auto operator<=>(const TopId&) const = default;
};

struct TopUse {
  int consumers = 0;      ///< bottoms that read it
  float loss_weight = 0;  ///< explicit; other than 0 it is one more use
  int next = 0;           ///< number of the next use to hand out
  int uses() const { return consumers + (loss_weight != 0 ? 1 : 0); }
};

class Splitter {
 public:
  /// `whole`: with the layers that are left out; may be null.
  explicit Splitter(const NetDef& net, const NetDef* whole = nullptr) : net_(net), whole_(whole) {}

  NetDef run() {
    for (int i = 0; i < net_.param.layer_size(); ++i) link(i);
    NetDef out;
    out.file = net_.file;
    out.fields = net_.fields;
    out.param = net_.param;
    out.param.clear_layer();
    for (int i = 0; i < net_.param.layer_size(); ++i) emit(i, &out);
    return out;
  }

 private:
  const caffe::LayerParameter& layer(int i) const { return net_.param.layer(i); }

  [[noreturn]] void fail(int i, const std::string& field, const std::string& cause, const std::string& fix) const {
    throw Error(ErrorKind::kConfig, cause, fix)
        .in_field(field)
        .in_layer(layer(i).name())
        .at(net_.source_of(i).where(field));
  }

  bool in_place(int i, int top) const {
    return top < layer(i).bottom_size() && layer(i).bottom(top) == layer(i).top(top);
  }

  /// Finds who made each bottom, then lets the tops of the layer hide older ones of the same name.
  void link(int i) {
    for (int j = 0; j < layer(i).bottom_size(); ++j) {
      const auto maker = newest_.find(layer(i).bottom(j));
      if (maker == newest_.end()) refuse_bottom(i, j);
      source_[{i, j}] = maker->second;
      ++uses_[maker->second].consumers;
    }
    for (int j = 0; j < layer(i).top_size(); ++j) {
      const TopId id{i, j};
      if (const auto older = newest_.find(layer(i).top(j)); older != newest_.end()) check_overwrite(id, older->second);
      newest_[layer(i).top(j)] = id;
      if (j < layer(i).loss_weight_size()) uses_[id].loss_weight = layer(i).loss_weight(j);
    }
  }

  /// An existing name may only be written in-place, and then only if nobody else reads the older values.
  void check_overwrite(const TopId& id, const TopId& older) const {
    const std::string& blob = layer(id.layer).top(id.index);
    const std::string field = str("top[", id.index, "]");
    if (!in_place(id.layer, id.index))
      fail(id.layer, field, str("top \"", blob, "\" is already made by layer \"", layer(older.layer).name(), "\""),
           "rename it, or make bottom and top at the same place equal to work in-place");
    if (uses_.at(older).uses() > 1)
      fail(id.layer, field, str("the layer overwrites blob \"", blob, "\" in-place, but other layers read it too"),
           "give it a top of another name");
  }

  [[noreturn]] void refuse_bottom(int i, int j) const {
    const std::string& blob = layer(i).bottom(j);
    const std::string field = str("bottom[", j, "]");
    std::set<std::string> tops;
    for (int k = 0; k < net_.param.layer_size(); ++k) {
      tops.insert(layer(k).top().begin(), layer(k).top().end());
      if (k < i || !makes(k, blob)) continue;
      const std::string cycle = find_cycle(i, k);
      if (!cycle.empty())
        fail(i, field, str("the layers form a cycle: ", cycle), "a layer reads only blobs made above it");
      fail(i, field,
           str("bottom \"", blob, "\" is made only later, by layer \"", layer(k).name(), "\" (",
               net_.source_of(k).where(), ")"),
           "move that layer up");
    }
    refuse_left_out(i, field, blob);
    fail(i, field, str("unknown bottom blob \"", blob, "\"", did_you_mean(blob, {tops.begin(), tops.end()})),
         "a bottom is a top of a layer above, in this phase");
  }

  void refuse_left_out(int i, const std::string& field, const std::string& blob) const {
    for (int k = 0; whole_ && k < whole_->param.layer_size(); ++k) {
      const caffe::LayerParameter& other = whole_->param.layer(k);
      if (!makes(other, blob)) continue;
      fail(i, field,
           str("bottom \"", blob, "\" is made by layer \"", other.name(), "\" (", whole_->source_of(k).where(),
               "), which is not in the net here: ", why_left_out(other, net_.param.state())),
           "give both layers the same include and exclude rules");
    }
  }

  static bool makes(const caffe::LayerParameter& layer, const std::string& blob) {
    return std::find(layer.top().begin(), layer.top().end(), blob) != layer.top().end();
  }
  bool makes(int i, const std::string& blob) const { return makes(layer(i), blob); }

  /// "a -> b -> a" when layer `maker` needs, over any number of layers, a blob of `reader`; else "".
  std::string find_cycle(int reader, int maker) const {
    std::map<int, int> user_of;  // layer -> the layer on the way that reads from it
    std::vector<int> open{maker};
    user_of[maker] = reader;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == reader) return cycle_text(reader, user_of);
      for (const std::string& blob : layer(at).bottom())
        for (int k = 0; k < net_.param.layer_size(); ++k)
          if (k != at && makes(k, blob) && user_of.emplace(k, at).second) open.push_back(k);
    }
    return "";
  }

  std::string cycle_text(int reader, const std::map<int, int>& user_of) const {
    std::string text = layer(reader).name();
    int at = reader;
    do {
      at = user_of.at(at);
      text += " -> " + layer(at).name();
    } while (at != reader);
    return text;
  }

  std::string split_name(const TopId& id) const {
    return str(layer(id.layer).top(id.index), "_", layer(id.layer).name(), "_", id.index, "_split");
  }

  /// The layer with its bottoms renamed, and the Splits of its tops behind it.
  void emit(int i, NetDef* out) {
    caffe::LayerParameter* copy = out->param.add_layer();
    *copy = layer(i);
    out->sources.push_back(net_.source_of(i));
    for (int j = 0; j < copy->bottom_size(); ++j) {
      const TopId maker = source_.at({i, j});
      TopUse& use = uses_.at(maker);
      if (use.uses() > 1) copy->set_bottom(j, str(split_name(maker), "_", use.next++));
    }
    const int layer_at = out->param.layer_size() - 1;
    for (int j = 0; j < layer(i).top_size(); ++j) {
      const auto use = uses_.find({i, j});
      if (use == uses_.end() || use->second.uses() < 2) continue;
      emit_split({i, j}, use->second, out);
      if (use->second.loss_weight == 0) continue;
      // The first top of the Split carries the weight, and readers take the ones after it. As in Caffe the layer loses
      // the weights of its other tops with it.
      out->param.mutable_layer(layer_at)->clear_loss_weight();
      use->second.next = 1;
    }
  }

  void emit_split(const TopId& id, const TopUse& use, NetDef* out) const {
    caffe::LayerParameter* split = out->param.add_layer();
    split->set_name(split_name(id));
    split->set_type("Split");
    split->add_bottom(layer(id.layer).top(id.index));
    for (int k = 0; k < use.uses(); ++k) {
      split->add_top(str(split_name(id), "_", k));
      if (use.loss_weight != 0) split->add_loss_weight(k == 0 ? use.loss_weight : 0);
    }
    const LayerSource& maker = net_.source_of(id.layer);
    out->sources.push_back({maker.file, maker.line, {}});
  }

  const NetDef& net_;
  const NetDef* whole_;
  std::map<std::string, TopId> newest_;          // blob -> the last top of that name
  std::map<std::pair<int, int>, TopId> source_;  // (layer, bottom) -> what it reads
  std::map<TopId, TopUse> uses_;
};

}  // namespace

NetDef insert_splits(const NetDef& net) {
  assert(net.sources.size() == static_cast<size_t>(net.param.layer_size()));
  return Splitter(net).run();
}

NetDef net_in_state(const NetDef& whole, const caffe::NetState& state) {
  const NetDef filtered = filter_net(whole, state);
  return Splitter(filtered, &whole).run();
}

}  // namespace robusta

// The conflicts: types and fields of one name with several meanings, and what tells them apart.
//
//   BN                    SegNet (alexgkendall/caffe-segnet): bn_mode; PSPNet (hszhao/PSPNet): slope_filler and others;
//                         caffe-windows (happynear/caffe-windows): var_eps and others; else SegNet's
//   Normalize             SSD (weiliu89/caffe): norm_param; caffe-windows: normalize_param; else SSD's
//   test_initialization   BVLC, Intel: true where it is not given; NVIDIA: false; else true

#include "schema/dialect.h"

#include <atomic>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct Name {
  Dialect dialect;
  const char *flag, *whose;
};
constexpr Name kNames[] = {{Dialect::kBvlc, "bvlc", "BVLC's"},
                           {Dialect::kIntel, "intel", "Intel's"},
                           {Dialect::kNvidia, "nvidia", "NVIDIA's"},
                           {Dialect::kSsd, "ssd", "SSD's"},
                           {Dialect::kSegNet, "segnet", "SegNet's"},
                           {Dialect::kPspNet, "pspnet", "PSPNet's"},
                           {Dialect::kWindows, "caffe-windows", "caffe-windows'"}};

const Name& name_of(Dialect dialect) { return kNames[static_cast<size_t>(dialect) - 1]; }

std::atomic<Dialect> of_process{Dialect::kNone};

/// Whose a layer is, and what said so.
struct Verdict {
  Dialect whose = Dialect::kNone;
  const char* by = "";
};
constexpr const char *kByFields = "by their fields", *kByFlag = "by -dialect",
                     *kByDefault = "as no field tells; -dialect takes another's";

/// The fork of the dialect where it is one of `forks`, else `otherwise`.
Verdict without_fields(std::initializer_list<Dialect> forks, Dialect otherwise) {
  for (const Dialect fork : forks) {
    if (fork == dialect()) return {fork, kByFlag};
  }
  return {otherwise, kByDefault};
}

Verdict settle_bn(caffe::LayerParameter* layer) {
  const caffe::BNParameter& p = layer->bn_param();
  if (p.has_bn_mode()) return {Dialect::kSegNet, kByFields};
  if (p.has_var_eps() || p.has_decay() || p.has_moving_average()) return {Dialect::kWindows, kByFields};
  if (p.has_slope_filler() || p.has_bias_filler() || p.has_momentum() || p.has_eps() || p.has_frozen()) {
    return {Dialect::kPspNet, kByFields};
  }
  // PSPNet's has no scale_filler and no shift_filler.
  const bool shared = p.has_scale_filler() || p.has_shift_filler();
  const Verdict verdict =
      shared ? without_fields({Dialect::kSegNet, Dialect::kWindows}, Dialect::kSegNet)
             : without_fields({Dialect::kSegNet, Dialect::kPspNet, Dialect::kWindows}, Dialect::kSegNet);
  if (verdict.by != kByFlag) return verdict;
  caffe::BNParameter* field = layer->mutable_bn_param();
  if (verdict.whose == Dialect::kSegNet) field->set_bn_mode(p.bn_mode());
  if (verdict.whose == Dialect::kPspNet) field->set_frozen(p.frozen());
  if (verdict.whose == Dialect::kWindows) field->set_var_eps(p.var_eps());
  return verdict;
}

Verdict settle_normalize(caffe::LayerParameter* layer) {
  if (layer->has_normalize_param()) return {Dialect::kWindows, kByFields};
  if (layer->has_norm_param()) return {Dialect::kSsd, kByFields};
  const Verdict verdict = without_fields({Dialect::kSsd, Dialect::kWindows}, Dialect::kSsd);
  if (verdict.by == kByFlag && verdict.whose == Dialect::kWindows) layer->mutable_normalize_param();
  return verdict;
}

/// Nets for NVIDIA's have a Softmax layer in front of it, and none of its fields tells.
void warn_of_infogain(const NetDef& net, int i) {
  const caffe::LayerParameter& layer = net.param.layer(i);
  if (layer.type() != "InfogainLoss" || dialect() != Dialect::kNvidia) return;
  LOG_WARNING << net.source_of(i).where() << ": layer \"" << layer.name()
              << "\": InfogainLoss has a softmax inside, as in "
              << "BVLC's Caffe, where NVIDIA's has none: leave out the Softmax layer before it";
}

}  // namespace

std::vector<std::string> dialect_names() {
  std::vector<std::string> names;
  for (const Name& name : kNames) names.emplace_back(name.flag);
  return names;
}

Dialect dialect_named(const std::string& name) {
  if (name.empty()) return Dialect::kNone;
  std::string known;
  for (const Name& one : kNames) {
    if (name == one.flag) return one.dialect;
    known += (known.empty() ? "" : ", ") + std::string(one.flag);
  }
  throw Error(ErrorKind::kUsage, "-dialect \"" + name + "\" is unknown" + did_you_mean(name, dialect_names()),
              "known: " + known);
}

void set_dialect(Dialect dialect) { of_process = dialect; }
Dialect dialect() { return of_process; }

void settle_dialect(NetDef* net) {
  std::map<std::pair<std::string, std::string>, int> counts;  // by type and what was taken
  for (int i = 0; i < net->param.layer_size(); ++i) {
    caffe::LayerParameter* layer = net->param.mutable_layer(i);
    warn_of_infogain(*net, i);
    Verdict verdict;
    if (layer->type() == "BN") verdict = settle_bn(layer);
    if (layer->type() == "Normalize") verdict = settle_normalize(layer);
    if (verdict.whose == Dialect::kNone) continue;
    ++counts[{layer->type(), str(name_of(verdict.whose).whose, " (", verdict.by, ")")}];
  }
  for (const auto& [what, count] : counts) {
    LOG_INFO << count << (count == 1 ? " layer" : " layers") << " of type " << what.first << ": taken as "
             << what.second;
  }
}

void settle_dialect(caffe::SolverParameter* solver) {
  if (dialect() != Dialect::kNvidia || solver->has_test_initialization()) return;
  solver->set_test_initialization(false);
  LOG_INFO << "test_initialization: taken as NVIDIA's, false (" << kByFlag << ")";
}

}  // namespace robusta

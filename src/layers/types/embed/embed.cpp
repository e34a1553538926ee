// Embed: fields, shapes, parameters and the reference kernel. Gradients: row id of W sums what came back for that id, b
// all of it. Ids have none.

#include "layers/types/embed/embed.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/filler.h"

namespace robusta {
namespace {

void require_positive(bool given, int64_t value, const char* name, const char* fix) {
  if (value > 0) return;
  throw Error(ErrorKind::kConfig, str(given ? "" : "no ", name, given ? " is 0" : " is given"), fix)
      .in_field(str("embed_param.", name));
}

}  // namespace

EmbedLayer::EmbedLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.embed_param();
  require_positive(p.has_num_output(), p.num_output(), "num_output", "give the length of the vector of each id");
  require_positive(p.has_input_dim(), p.input_dim(), "input_dim", "give the number of ids");
  check_extents(Shape{input_dim(), num_output()});
}

std::vector<Shape> EmbedLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  std::vector<int64_t> dims = bottoms[0].dims();
  dims.push_back(num_output());
  check_extents(Shape(dims));
  picks_ = {.count = bottoms[0].count(),
            .rows = input_dim(),
            .width = num_output(),
            .fix = "ids count from 0: raise embed_param.input_dim, or correct the data"};
  return {Shape(std::move(dims))};
}

std::vector<ParamDecl> EmbedLayer::params() const {
  const auto& p = param().embed_param();
  std::vector<ParamDecl> decls{{Shape{input_dim(), num_output()}, &p.weight_filler()}};
  check_filler(p.weight_filler(), decls[0].shape, "embed_param.weight_filler");
  if (!has_bias()) return decls;
  decls.push_back({Shape{num_output()}, &p.bias_filler()});
  check_filler(p.bias_filler(), decls[1].shape, "embed_param.bias_filler");
  return decls;
}

namespace {

template <typename T>
class EmbedReference : public Kernel {
 public:
  explicit EmbedReference(const KernelRequest& request) : layer_(request.layer<EmbedLayer>()) {
    booking_.repeatable = true;
    booking_.backward_scratch = picks_scratch(layer_.picks());
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* ids = run.bottoms[0].as<T>();
    check_picks(layer_.picks(), ids);
    pick_rows<T>(layer_.picks(), ids, run.params[0]->tensor().template as<T>(),
                 layer_.has_bias() ? run.params[1]->tensor().template as<T>() : nullptr, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) fill_zero(run.bottom_diffs[0]);
    const T* dy = run.top_diffs[0].as<T>();
    if (run.params[0]->learns) {
      sum_picked_rows(layer_.picks(), run.bottoms[0].as<T>(), dy, run.accumulate[0],
                      run.params[0]->gradient().template as<T>(), run.scratch);
    }
    if (layer_.has_bias() && run.params[1]->learns) {
      sum_rows(dy, run.accumulate[1], run.params[1]->gradient().template as<T>());
    }
  }

 private:
  void sum_rows(const T* dy, bool add, T* sums) const {
    const RowPicks& picks = layer_.picks();
    parallel_for(picks.width, 1 + kElementwiseGrain / picks.count, [&](int64_t k) {
      double sum = add ? static_cast<double>(sums[k]) : 0;
      for (int64_t i = 0; i < picks.count; ++i) sum += dy[i * picks.width + k];
      sums[k] = static_cast<T>(sum);
    });
  }

  const EmbedLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Embed", EmbedLayer);
ROBUSTA_REGISTER_REFERENCE("Embed", EmbedReference);

}  // namespace robusta

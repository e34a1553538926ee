#include "support/kernel_harness.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <stdexcept>

#include "base/str.h"
#include "layers/kit/prepares_params.h"
#include "layers/kit/sized_by_bottoms.h"

namespace robusta::test {
namespace {

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = str(line + 1, ":", column + 1, ": ", message);
  }
  std::string text;
};

template <typename T>
bool equal_values(const void* a, const void* b, size_t bytes) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    if (!(x[i] == y[i]) && !(x[i] != x[i] && y[i] != y[i])) return false;
  }
  return true;
}

/// A copy of `memory` in another layout.
std::shared_ptr<GuardedBuffer> reordered(const TensorDesc& from, const TensorDesc& to, const GuardedBuffer& memory) {
  auto copy = std::make_shared<GuardedBuffer>(to.bytes());
  const auto reorder = make_reorder(from, to);
  const GuardedBuffer scratch(reorder->scratch_bytes());
  reorder->run(memory.data(), copy->data(), scratch.data());
  return copy;
}

std::string pattern_of(const std::vector<std::unique_ptr<Layer>>& layers) {
  std::string pattern;
  for (const auto& layer : layers) pattern += (pattern.empty() ? "" : "+") + layer->type();
  return pattern;
}

/// Misuse of the harness itself.
void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(str("kernel harness: ", what));
}

bool flag(const std::vector<bool>& flags, size_t index, bool otherwise) {
  return flags.empty() ? otherwise : flags[index];
}

}  // namespace

caffe::LayerParameter parse_layer(const std::string& text) {
  caffe::LayerParameter layer;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &layer)) throw std::runtime_error(error.text + " in: " + text);
  return layer;
}

KernelHarness::KernelHarness(const KernelCase& what, const KernelOptions& how)
    : how_(how), bottom_shapes_(what.bottoms) {
  if (how_.pass.batch == 0) {
    how_.pass.batch = bottom_shapes_.empty() || bottom_shapes_[0].axes() == 0 ? 1 : bottom_shapes_[0][0];
  }
  if (how_.kind.empty()) how_.kind = how_.backend == "gpu" ? "emulated" : "cpu";
  if (how_.device) stream_ = how_.device->make_stream();
  make_layers(what);
  make_kernel();
  if (made()) make_memory();
}

void KernelHarness::make_layers(const KernelCase& what) {
  std::vector<Shape> shapes = bottom_shapes_;
  for (size_t i = 0; i < what.layers.size(); ++i) {
    caffe::LayerParameter param = parse_layer(what.layers[i]);
    if (!param.has_name()) param.set_name(str("layer", i));
    if (!param.has_phase()) param.set_phase(what.phase);
    for (size_t j = 0; param.bottom_size() < static_cast<int>(shapes.size()); ++j) param.add_bottom(str("bottom", j));
    const int tops = i + 1 < what.layers.size() ? 1 : what.tops;
    for (int j = param.top_size(); j < tops; ++j) param.add_top(str("top", j));
    layers_.push_back(make_layer(param));
    if (i == 0) size_first(what);
    shapes = layers_.back()->infer_tops(shapes);
    for (ParamDecl& decl : layers_.back()->params()) decls_.push_back(decl);
  }
  top_shapes_ = shapes;
  for (size_t i = 0; i < bottom_shapes_.size(); ++i) {
    wants_bottom_.push_back(how_.backward && how_.bottom_grads && layers_[0]->allows_gradient(static_cast<int>(i)));
  }
}

/// Tells the first layer what its tops' shapes follow from, if the case has that.
void KernelHarness::size_first(const KernelCase& what) {
  if (layers_[0]->sizing_bottom() < 0 || !what.bottom_values) return;
  layers_[0]->infer_tops(what.bottoms);
  tell_sizes(*layers_[0], [&](int bottom) {
    const Array values = what.bottom_values(bottom, what.bottoms[static_cast<size_t>(bottom)]);
    return std::vector<float>(values.begin(), values.end());
  });
}

void KernelHarness::make_kernel() {
  KernelRequest request;
  for (const auto& layer : layers_) request.layers.push_back(layer.get());
  for (size_t i = 0; i < bottom_shapes_.size(); ++i) {
    request.bottoms.push_back(
        {bottom_shapes_[i], how_.dtype, how_.bottom_layouts.empty() ? nullptr : how_.bottom_layouts[i]});
  }
  for (const Shape& shape : top_shapes_) request.tops.push_back({shape, how_.dtype, nullptr});
  for (const ParamDecl& decl : decls_) {
    request.params.push_back({decl.shape, param_type(), nullptr});
    request.param_grads.push_back(how_.backward && how_.param_grads && !decl.statistic);
  }
  request.backward = how_.backward;
  request.bottom_grads = wants_bottom_;
  request.tuner = how_.tuner;
  request.device = how_.device;

  why_not_ = str("no candidate of backend ", how_.backend, " for ", pattern_of(layers_));
  for (const KernelCandidate* candidate : kernel_candidates(request.layers, how_.kind)) {
    if (candidate->backend != how_.backend) continue;
    why_not_.clear();
    kernel_ = candidate->factory(request, why_not_);
    if (kernel_) break;
  }
  for (size_t i = 0; i < decls_.size(); ++i) {
    Param param;
    param.layer = layers_[0]->name();
    param.index = static_cast<int>(i);
    param.desc = request.params[i];
    param.learns = request.param_grads[i];
    params_.push_back(param);
  }
}

std::vector<Shape> KernelHarness::carried_shapes() const {
  std::vector<Shape> shapes;
  for (const auto& layer : layers_) {
    for (const Shape& shape : layer->carried()) shapes.push_back(shape);
  }
  return shapes;
}

GuardedBuffer KernelHarness::make_buffer(size_t bytes) const {
  return GuardedBuffer(bytes, how_.device ? *how_.device : cpu_device());
}

void KernelHarness::finish() {
  if (stream_) stream_->synchronize();
}

KernelHarness::Slot KernelHarness::make_slot(const Shape& shape, const std::vector<Layout>& layouts,
                                             const std::vector<DType>& types, size_t index) const {
  const TensorDesc desc{shape, types.empty() ? how_.dtype : types[index], layouts.empty() ? nullptr : layouts[index]};
  return {desc, std::make_shared<GuardedBuffer>(make_buffer(desc.bytes()))};
}

KernelHarness::Slot KernelHarness::make_param_slot(const Shape& shape) const {
  return make_slot(shape, {}, {param_type()}, 0);
}

void KernelHarness::make_memory() {
  const Booking& booking = kernel_->booking();
  for (size_t i = 0; i < bottom_shapes_.size(); ++i) {
    bottoms_.push_back(make_slot(bottom_shapes_[i], booking.bottom_layouts, booking.bottom_types, i));
    bottom_diffs_.push_back(bottoms_.back());
    bottom_diffs_.back().memory = nullptr;
    if (wants_bottom_[i])
      bottom_diffs_.back() = make_slot(bottom_shapes_[i], booking.bottom_layouts, booking.bottom_types, i);
  }
  for (size_t i = 0; i < top_shapes_.size(); ++i) {
    tops_.push_back(make_slot(top_shapes_[i], booking.top_layouts, booking.top_types, i));
    top_diffs_.push_back(make_slot(top_shapes_[i], booking.top_layouts, booking.top_types, i));
  }
  for (size_t i = 0; i < decls_.size(); ++i) {
    param_data_.push_back(make_param_slot(decls_[i].shape));
    param_diffs_.push_back(make_param_slot(decls_[i].shape));
    params_[i].data = param_data_[i].memory->data();
    params_[i].diff = how_.backward ? param_diffs_[i].memory->data() : nullptr;
    run_params_.push_back(&params_[i]);
  }
  for (const Shape& shape : carried_shapes()) {
    carried_.push_back(make_param_slot(shape));
    run_carried_.push_back(carried_.back().tensor());
  }
  saved_ = make_buffer(booking.saved_bytes);
  forward_scratch_ = make_buffer(booking.forward_scratch);
  backward_scratch_ = make_buffer(booking.backward_scratch);
  position_ = DeviceBuffer(how_.device ? *how_.device : cpu_device(), sizeof how_.pass.first_sample);
  const std::unique_ptr<Stream> stream = (how_.device ? *how_.device : cpu_device()).make_stream();
  stream->copy_to_device(position_.data(), &how_.pass.first_sample, sizeof how_.pass.first_sample);
  stream->synchronize();
  if (!how_.share_memory) return;

  for (const Alias& alias : booking.forward_aliases) {
    const Slot& from = bottoms_[static_cast<size_t>(alias.from)];
    Slot& to = tops_[static_cast<size_t>(alias.to)];
    const bool still_read = how_.backward && flag(booking.reads_bottoms, static_cast<size_t>(alias.from), true);
    if (from.memory->bytes() == to.memory->bytes() && (alias.same_content || !still_read)) to.memory = from.memory;
  }
  for (const Alias& alias : booking.backward_aliases) {
    const Slot& from = top_diffs_[static_cast<size_t>(alias.from)];
    Slot& to = bottom_diffs_[static_cast<size_t>(alias.to)];
    if (to.memory && from.memory->bytes() == to.memory->bytes()) to.memory = from.memory;
  }
}

void KernelHarness::put(const Slot& slot, const Array& values) const {
  require(static_cast<int64_t>(values.size()) == slot.desc.count(), "wrong number of values");
  auto plain = slot.desc.layout ? std::make_shared<GuardedBuffer>(slot.desc.plain().bytes()) : slot.memory;
  with_any(slot.desc.dtype, [&](auto t) {
    using T = decltype(t);
    auto* to = static_cast<T*>(plain->data());
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (sizeof(T) == 2) {
        to[i] = static_cast<T>(static_cast<float>(values[i]));
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
  if (!slot.desc.layout) return;
  const auto stored = reordered(slot.desc.plain(), slot.desc, *plain);
  std::memcpy(slot.memory->data(), stored->data(), stored->bytes());
}

Array KernelHarness::get(const Slot& slot) const {
  if (!slot.memory) return {};
  const auto plain = slot.desc.layout ? reordered(slot.desc, slot.desc.plain(), *slot.memory) : slot.memory;
  Array values(static_cast<size_t>(slot.desc.count()));
  with_any(slot.desc.dtype, [&](auto t) {
    using T = decltype(t);
    const auto* from = static_cast<const T*>(plain->data());
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (sizeof(T) == 2) {
        values[i] = static_cast<float>(from[i]);
      } else {
        values[i] = from[i];
      }
    }
  });
  return values;
}

Arrays KernelHarness::get_all(const std::vector<Slot>& slots) const {
  Arrays all;
  for (const Slot& slot : slots) all.push_back(get(slot));
  return all;
}

void KernelHarness::inspect(const std::vector<Slot>& slots, const char* what) {
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (!slot.memory) continue;
    if (!slot.memory->intact()) damage_ += str("write outside of ", what, " ", i, "; ");
    if (!is_padded(slot.desc.layout)) continue;
    const auto plain = reordered(slot.desc, slot.desc.plain(), *slot.memory);
    const auto clean = reordered(slot.desc.plain(), slot.desc, *plain);
    const bool same = dispatch(slot.desc.dtype, [&](auto t) {
      return equal_values<decltype(t)>(clean->data(), slot.memory->data(), clean->bytes());
    });
    if (!same) damage_ += str("padding of ", what, " ", i, " (", layout_name(slot.desc.layout), ") not zero; ");
  }
}

KernelRun KernelHarness::run_of(std::vector<char>& accumulate) {
  KernelRun run;
  run.bottoms = run_bottoms_;
  run.tops = run_tops_;
  run.bottom_diffs = run_bottom_diffs_;
  run.top_diffs = run_top_diffs_;
  run.params = run_params_;
  run.accumulate = accumulate;
  run.carried = run_carried_;
  run.saved = saved_.data();
  run.pass = &how_.pass;
  run.first_sample = static_cast<const uint64_t*>(position_.data());
  run.stream = stream_.get();
  return run;
}

void KernelHarness::forward(const Arrays& bottoms, const Arrays& params, const Arrays& carried) {
  require(made() && bottoms.size() == bottoms_.size() && params.size() == params_.size(), "wrong number of inputs");
  for (Slot& top : tops_) top.memory->poison();
  saved_.poison();
  forward_scratch_.poison();
  run_bottoms_.clear();
  run_tops_.clear();
  for (size_t i = 0; i < bottoms_.size(); ++i) {
    put(bottoms_[i], bottoms[i]);
    run_bottoms_.push_back(bottoms_[i].tensor());
  }
  for (size_t i = 0; i < params_.size(); ++i) {
    put(param_data_[i], params[i]);
    ++params_[i].version;
  }
  for (const Slot& top : tops_) run_tops_.push_back(top.tensor());
  for (size_t i = 0; i < carried_.size(); ++i) {
    put(carried_[i], carried.empty() ? Array(static_cast<size_t>(carried_[i].desc.count())) : carried.at(i));
  }

  std::vector<char> accumulate(params_.size(), 0);
  KernelRun run = run_of(accumulate);
  run.bottom_diffs = run.top_diffs = {};
  run.scratch = forward_scratch_.data();
  if (PreparesParams* const kernel = preparing(kernel_.get())) kernel->prepare(run);
  kernel_->forward(run);
  finish();
  kernel_->check(how_.pass);
  inspect(tops_, "top");
  inspect(param_data_, "parameter");
  inspect(carried_, "carried");
  if (!saved_.intact() || !forward_scratch_.intact()) damage_ += "write outside of saved or forward scratch; ";
}

void KernelHarness::repeat() {
  require(made() && kernel_->booking().repeatable && !how_.share_memory, "the kernel does not repeat its work");
  for (Slot& top : tops_) top.memory->poison();
  forward_scratch_.poison();
  std::vector<char> accumulate(params_.size(), 0);
  KernelRun run = run_of(accumulate);
  run.bottom_diffs = run.top_diffs = {};
  run.scratch = forward_scratch_.data();
  run.again = true;
  kernel_->forward(run);
  finish();
}

void KernelHarness::backward(const Arrays& top_diffs, const Arrays& before) {
  require(made() && how_.backward && top_diffs.size() == tops_.size(), "no backward, or wrong number of top gradients");
  const Booking& booking = kernel_->booking();
  backward_scratch_.poison();
  for (Slot& diff : bottom_diffs_) {
    if (diff.memory) diff.memory->poison();
  }
  run_bottom_diffs_.clear();
  run_top_diffs_.clear();
  for (size_t i = 0; i < bottoms_.size(); ++i) {
    if (!flag(booking.reads_bottoms, i, true)) run_bottoms_[i].data = nullptr;
    run_bottom_diffs_.push_back(bottom_diffs_[i].tensor());
  }
  for (size_t i = 0; i < tops_.size(); ++i) {
    if (!flag(booking.reads_tops, i, false)) run_tops_[i].data = nullptr;
    Slot diff = top_diffs_[i];
    if (top_diffs[i].empty() && diff.desc.count() > 0) {
      require(booking.takes_missing_top_diffs, "the kernel takes no missing top gradient");
      diff.memory = nullptr;
    } else {
      put(diff, top_diffs[i]);
    }
    run_top_diffs_.push_back(diff.tensor());
  }
  std::vector<char> accumulate(params_.size(), before.empty() ? 0 : 1);
  for (size_t i = 0; i < params_.size(); ++i) {
    param_diffs_[i].memory->poison();
    if (!before.empty()) put(param_diffs_[i], before[i]);
  }

  KernelRun run = run_of(accumulate);
  run.carried = {};
  run.scratch = backward_scratch_.data();
  kernel_->backward(run);
  finish();
  inspect(bottom_diffs_, "bottom gradient");
  inspect(param_diffs_, "parameter gradient");
  if (!saved_.intact() || !backward_scratch_.intact()) damage_ += "write outside of saved or backward scratch; ";
}

Arrays KernelHarness::tops() const { return get_all(tops_); }
Arrays KernelHarness::params() const { return get_all(param_data_); }
Arrays KernelHarness::carried() const { return get_all(carried_); }
Arrays KernelHarness::bottom_diffs() const { return get_all(bottom_diffs_); }

Arrays KernelHarness::param_diffs() const {
  Arrays diffs = get_all(param_diffs_);
  for (size_t i = 0; i < diffs.size(); ++i) {
    if (!params_[i].learns) diffs[i].clear();
  }
  return diffs;
}

}  // namespace robusta::test

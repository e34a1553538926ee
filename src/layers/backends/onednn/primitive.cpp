// Runs oneDNN primitives without allocating: handles are set only where an address has changed.

#include "layers/backends/onednn/primitive.h"

#include <cassert>

#include "layers/backends/onednn/generation.h"

namespace robusta::onednn {
namespace {

/// What a primitive asks for, in bytes. oneDNN 2 leaves the description as it finds it in memory where the number of
/// bytes is none that it can say, which is so for tensors beyond 2^31 channels: that is a primitive which cannot run.
size_t bytes_asked_for(const Desc& scratchpad) {
  const int axes = axes_of(scratchpad);
  const bool none = axes == 0;
  const bool array_of_bytes =
      axes == 1 && dims_of(scratchpad)[0] > 0 && type_of(scratchpad) == dnnl::memory::data_type::u8;
  if (!none && !array_of_bytes) throw dnnl::error(dnnl_unimplemented, "oneDNN cannot say how much memory it needs");
  return scratchpad.get_size();
}

}  // namespace

Step::Step(const dnnl::primitive& primitive, const std::vector<Arg>& args, const Desc& scratchpad)
    : primitive_(primitive), scratch_bytes_(bytes_asked_for(scratchpad)) {
  auto add = [this](int arg, const Desc& desc) {
    memories_.push_back(dnnl::memory(desc, engine(), DNNL_MEMORY_NONE));
    args_.push_back({arg, memories_.back().get()});
  };
  for (const Arg& arg : args) add(arg.first, arg.second);
  if (scratch_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void Step::point(dnnl::memory& memory, const void* data) {
  // Most tensors stay where they were in the run before.
  if (memory.get_data_handle() != data) memory.set_data_handle(const_cast<void*>(data));
}

void Step::run(std::initializer_list<std::pair<int, const void*>> data, void* scratch) {
  assert(data.size() + (scratch_bytes_ > 0) == args_.size());
  size_t index = 0;
  for (const auto& [arg, pointer] : data) {
    assert(args_[index].arg == arg && pointer);
    point(memories_[index++], pointer);
  }
  if (scratch_bytes_ > 0) point(memories_[index], scratch);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream().get(), static_cast<int>(args_.size()), args_.data());
  if (status != dnnl_success) throw dnnl::error(status, "oneDNN could not run a primitive");
  stream().wait();
}

dnnl::primitive_attr scratch_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Step reorder_step(const Desc& from, const Desc& to, bool add) {
  dnnl::primitive_attr attr = scratch_attr();
  if (add) {
    dnnl::post_ops after;
    after.append_sum(1.0f);
    attr.set_post_ops(after);
  }
  const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attr);
  return Step(dnnl::reorder(chosen), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, chosen.scratchpad_desc());
}

bool is_slow(const std::string& impl) { return impl.find("ref") != std::string::npos; }

}  // namespace robusta::onednn

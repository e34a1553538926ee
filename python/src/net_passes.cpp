// A net's passes, whole and in parts.

#include "net_core.h"
#include "robusta/error.h"

namespace robusta::python {
namespace {

bool is_whole(const LayerRange& range) { return range.start.empty() && range.end.empty(); }

}  // namespace

void NetCore::run(const std::function<void()>& work) {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  net();
  send();
  try {
    const Guard::Pass pass(guard_);
    work();
  } catch (...) {
    receive();
    throw;
  }
  receive();
}

double NetCore::forward(const LayerRange& range) {
  const Guard::Use use(guard_);
  const bool whole = is_whole(range);
  double loss = 0;
  try {
    run([&] { loss = whole ? net().forward() : net().forward(range); });
  } catch (const Error& error) {
    if (whole || !own_ || !recipe_.options.fuse || error.kind() != ErrorKind::kUnsupported) throw;
    make_without_fusing(false);
    run([&] { loss = net().forward(range); });
  }
  has_run_ = true;
  whole_pass_ = whole;
  return loss;
}

/// Whether its data come from elsewhere than a script's arrays.
bool NetCore::has_sources() {
  for (const LayerInfo& layer : net().layers()) {
    if (layer.bottoms.empty() && layer.type != "Input" && layer.type != "Parameter") return true;
  }
  return false;
}

void NetCore::backward(const LayerRange& range) {
  const Guard::Use use(guard_);
  const bool whole = is_whole(range);
  send();
  if (!has_run_ && own_ && !has_sources()) run([&] { net().forward(); });
  try {
    // A whole one follows a whole forward; as a part it follows whatever has run.
    run([&] { whole && whole_pass_ ? net().backward(true) : net().backward(range, true); });
  } catch (const Error& error) {
    if (whole || !own_ || !recipe_.options.fuse || error.kind() != ErrorKind::kUnsupported) throw;
    make_without_fusing(whole_pass_);
    run([&] { net().backward(range, true); });
  }
}

}  // namespace robusta::python

// Nets that are made again in the place of what they were: to share parameters, and to run layers one by one.

#include <algorithm>

#include "net_core.h"
#include "robusta/error.h"

namespace robusta::python {

void NetCore::copy_blobs(Net& from, Net& to) {
  for (const std::string& blob : from.blobs()) {
    if (from.shape(blob) != to.shape(blob)) continue;
    to.write(blob, from.read(blob));
    if (recipe_.options.backward) {
      try {
        to.write_gradient(blob, from.read_gradient(blob));
      } catch (const Error& error) {  // it has none
        if (error.kind() != ErrorKind::kUsage) throw;
      }
    }
  }
}

void NetCore::make_anew() {
  std::vector<InputShape> shapes;
  for (const std::string& input : net_->inputs()) shapes.push_back({input, net_->shape(input)});
  auto made = std::make_shared<Net>(Net::from_text(recipe_.text, recipe_.options, recipe_.path));
  std::erase_if(shapes, [&](const InputShape& input) { return made->shape(input.input) == input.shape; });
  if (!shapes.empty()) made->reshape(shapes);
  made->seek(net_->position());
  copy_blobs(*net_, *made);
  slots_.clear();
  kept_.push_back(std::move(net_));
  net_ = std::move(made);
}

void NetCore::make_without_fusing(bool with_forward) {
  const Guard::Use use(*guard_);
  Net& old = net();
  const uint64_t position = old.position();
  recipe_.options.fuse = false;
  recipe_.options.share_with = &old;
  make_anew();
  recipe_.options.share_with = nullptr;
  if (!with_forward) return;
  // Backward needs what layers kept of that pass: the same batch, the same draws, and statistics as they were.
  std::vector<std::pair<ParameterInfo, std::vector<float>>> statistics;
  for (const ParameterInfo& param : net_->parameters()) {
    if (!param.learns) statistics.emplace_back(param, net_->read_parameter(param.layer, param.index));
  }
  const auto batch = static_cast<uint64_t>(net_->batch());
  net_->seek(position >= batch ? position - batch : 0);
  run([this] { net_->forward(); });
  for (const auto& [param, values] : statistics) net_->write_parameter(param.layer, param.index, values);
  net_->seek(position);
}

void NetCore::share_with(const std::shared_ptr<NetCore>& other) {
  if (other.get() == this || shares_with_ == other) return;
  if (!own_) {
    if (guard_ == other->guard_) return;  // the nets of a solver share their parameters from the first
    throw Error(ErrorKind::kUnsupported, "a solver's net cannot take another net's parameters",
                "call share_with of the other net");
  }
  for (const NetCore* at = other.get(); at; at = at->shares_with_.get()) {
    if (at == this) throw Error(ErrorKind::kUsage, "the other net shares the parameters of this one already");
  }
  const Guard::Use use(*guard_);
  guard_->require_no_pass();
  const Guard::Use others(*other->guard_);
  other->guard_->require_no_pass();
  send();
  recipe_.options.share_with = &other->net();
  make_anew();
  recipe_.options.share_with = nullptr;
  kept_.push_back(other->net_);
  kept_.push_back(std::exchange(guard_, other->guard_));
  shares_with_ = other;
  other->sharers_.push_back(weak_from_this());
}

void NetCore::release_sharers() {
  for (const std::weak_ptr<NetCore>& one : std::exchange(sharers_, {})) {
    const std::shared_ptr<NetCore> sharer = one.lock();
    if (!sharer || sharer->closed_) continue;
    sharer->release_sharers();
    sharer->forget_arrays();
    sharer->net_ = nullptr;
    sharer->kept_.clear();
    sharer->whole_pass_ = false;
    sharers_.push_back(sharer);
  }
}

}  // namespace robusta::python

// Nets that are made again in the place of what they were: to share parameters, and to run layers one by one.

#include <algorithm>

#include "net_contents.h"
#include "net_core.h"
#include "robusta/error.h"

namespace robusta::python {

/// Null contents: the net of the prototxt.
std::shared_ptr<Net> NetCore::built(const NetOptions& options, const NetContents* contents) {
  const Guard::Blind blind(guard_.get());
  const Guard::Unlocked unlocked;
  const UseLayerObjects same(contents ? &contents->layers : nullptr);
  auto made = std::make_shared<Net>(recipe_.text.empty() ? Net::from_file(recipe_.path, options)
                                                         : Net::from_text(recipe_.text, options, recipe_.path));
  if (!contents) return made;
  const std::vector<InputShape> shapes = contents->shapes_to_give(*made);
  if (!shapes.empty()) made->reshape(shapes);
  return made;
}

NetContents NetCore::contents() { return NetContents::of(net(), recipe_.options.backward); }

/// `lender`: whose parameters the new net uses from now on; null: nobody's.
void NetCore::become(std::shared_ptr<const MadeNet> lender, const NetContents& contents) {
  NetOptions options = recipe_.options;
  options.share_with = lender ? lender->net.get() : nullptr;
  auto made = std::make_shared<MadeNet>(MadeNet{std::move(lender), nullptr});
  made->net = built(options, &contents);
  if (!samples_.empty()) {
    for (const LayerInfo& layer : made->net->layers()) {
      if (layer.type == "MemoryData") made->net->set_samples(layer.name, samples_, labels_);
    }
  }
  contents.write_to(*made->net, options.share_with);
  const auto former = std::exchange(made_, std::move(made));
  has_run_ = whole_pass_ = false;
  forget_arrays();
}

void NetCore::make_without_fusing(bool with_forward) {
  guard_->require_no_pass();
  recipe_.options.fuse = false;
  const uint64_t position = net().position();
  // It uses the parameters of what it was, so that their arrays are still the net's.
  const NetContents before = contents();
  become(made_, before);
  if (!with_forward) return;
  // Backward needs what layers kept of that pass: the same batch, the same draws, and statistics as they were.
  std::vector<std::pair<ParameterInfo, std::vector<float>>> statistics;
  for (const ParameterInfo& param : net().parameters()) {
    if (!param.learns) statistics.emplace_back(param, net().read_parameter(param.layer, param.index));
  }
  const auto batch = static_cast<uint64_t>(net().batch());
  net().seek(position >= batch ? position - batch : 0);
  run([this] { net().forward(); });
  for (const auto& [param, values] : statistics) net().write_parameter(param.layer, param.index, values);
  net().seek(position);
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
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  const Guard::Use others(other->guard_);
  other->guard_->require_no_pass();
  send();
  other->net();
  become(other->made_, contents());
  // Those that share the parameters of what this net was keep these.
  for (const std::weak_ptr<NetCore>& one : std::exchange(sharers_, {})) {
    if (const std::shared_ptr<NetCore> sharer = one.lock()) sharer->shares_with_ = nullptr;
  }
  guard_ = other->guard_;
  shares_with_ = other;
  std::erase_if(other->sharers_, [](const std::weak_ptr<NetCore>& one) { return one.expired(); });
  other->sharers_.push_back(weak_from_this());
}

void NetCore::while_sharing(const std::vector<std::shared_ptr<NetCore>>& lenders, const std::function<void()>& work) {
  // Lenders before those that share with them. All have the guard of the first.
  std::vector<std::pair<std::shared_ptr<NetCore>, NetContents>> sharers;
  const std::function<void(NetCore&)> gather = [&](NetCore& lender) {
    for (const std::weak_ptr<NetCore>& one : lender.sharers_) {
      const std::shared_ptr<NetCore> sharer = one.lock();
      if (!sharer || sharer->closed_ || sharer->shares_with_.get() != &lender) continue;
      sharer->send();
      sharers.emplace_back(sharer, sharer->contents());
      gather(*sharer);
    }
  };
  for (const auto& lender : lenders) gather(*lender);
  work();
  for (const auto& [sharer, contents] : sharers) sharer->become(sharer->shares_with_->made_, contents);
}

}  // namespace robusta::python

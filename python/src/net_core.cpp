// A net's arrays, shapes and passes.

#include "net_core.h"

#include <algorithm>
#include <limits>

#include "robusta/error.h"

namespace robusta::python {

NetCore::NetCore(Recipe recipe) : recipe_(std::move(recipe)), guard_(std::make_shared<Guard>()) { net(); }

NetCore::NetCore(std::shared_ptr<Net> net, std::shared_ptr<Guard> guard)
    : own_(false), guard_(std::move(guard)), net_(std::move(net)) {}

NetCore::~NetCore() {
  if (guard_->here()) return;
  // The threads that a net ends with are those of the process before fork: it stays.
  new std::shared_ptr<Net>(std::move(net_));
  new std::vector<std::shared_ptr<const void>>(std::move(kept_));
}

Net& NetCore::net() {
  if (net_) return *net_;
  if (closed_) throw Error(ErrorKind::kUsage, "the net has been closed", "build another one");
  NetOptions options = recipe_.options;
  if (shares_with_) {
    options.share_with = &shares_with_->net();
    kept_.push_back(shares_with_->net_);
  }
  const pybind11::gil_scoped_release released;
  net_ = std::make_shared<Net>(recipe_.text.empty() ? Net::from_file(recipe_.path, options)
                                                    : Net::from_text(recipe_.text, options, recipe_.path));
  return *net_;
}

void NetCore::close() {
  const Guard::Use use(*guard_);
  guard_->require_no_pass();
  if (!own_) throw Error(ErrorKind::kUsage, "the net is a solver's and ends with it");
  closed_ = true;
  forget_arrays();
  net_ = nullptr;
}

/// Zeros where a net has none: test nets of solvers.
std::vector<float> NetCore::parameter_gradient(const std::string& layer, int index) {
  try {
    return net().read_parameter_gradient(layer, index);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return std::vector<float>(static_cast<size_t>(count(net().parameter_shape(layer, index))));
  }
}

Numbers NetCore::numbers_of(const Place& place) {
  const std::string& name = place.name;
  const int index = place.index;
  if (index >= 0 && place.gradient) {
    return {[=, this] { return net().parameter_gradient_view(name, index); },
            [=, this] { return parameter_gradient(name, index); },
            [=, this](std::span<const float> values) { net().write_parameter_gradient(name, index, values); }};
  }
  if (index >= 0) {
    return {[=, this] { return net().parameter_view(name, index); },
            [=, this] { return net().read_parameter(name, index); },
            [=, this](std::span<const float> values) { net().write_parameter(name, index, values); }};
  }
  if (place.gradient) {
    return {[=, this] { return net().gradient_view(name); }, [=, this] { return net().read_gradient(name); },
            [=, this](std::span<const float> values) {
              try {
                net().write_gradient(name, values);
              } catch (const Error& error) {  // no pass reads the gradient of such a blob, and Caffe lets scripts set it
                if (error.kind() != ErrorKind::kUsage) throw;
              }
            }};
  }
  return {[=, this] { return net().view(name); }, [=, this] { return net().read(name); },
          [=, this](std::span<const float> values) { net().write(name, values); }};
}

NetCore::Slot& NetCore::slot(const Place& place) {
  const auto found = slots_.find(place);
  if (found != slots_.end()) return found->second;
  return slots_.emplace(place, Slot{numbers_of(place), {}}).first->second;
}

/// Parameters stay where they are when the net is planned anew.
uint64_t NetCore::stamp(const Place& place) { return place.index >= 0 ? 1 : 2 + net().plannings(); }

Shape NetCore::shape(const Place& place) {
  const Guard::Use use(*guard_);
  if (place.index >= 0) return net().parameter_shape(place.name, place.index);
  const auto wanted = pending_.find(place.name);
  return wanted != pending_.end() ? wanted->second : net().shape(place.name);
}

pybind11::object NetCore::array(const Place& place) {
  const Guard::Use use(*guard_);
  const Shape now = shape(place);
  Slot& found = slot(place);
  if (place.index < 0 && pending_.contains(place.name)) return found.array.get_unsent(now);
  return found.array.get(now, stamp(place), found.numbers, [this] { return net().hold_memory(); });
}

/// Caffe's limits of a blob: 32 axes, and as many values as an int counts.
void refuse_too_large(const std::string& input, const Shape& shape) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "a shape for \"" + input + "\" with " + what);
  };
  if (shape.size() > 32) refuse(std::to_string(shape.size()) + " axes, above 32");
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  int64_t values = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) refuse("a negative extent");
    if (extent > 0 && values > most / extent) refuse("more than " + std::to_string(most) + " values");
    values *= extent;
  }
}

void NetCore::reshape(const std::string& input, const Shape& shape) {
  const Guard::Use use(*guard_);
  guard_->require_no_pass();
  const std::vector<std::string> inputs = net().inputs();
  const Shape now = this->shape({input});
  if (shape == now) return;
  if (std::ranges::find(inputs, input) == inputs.end()) {
    throw Error(ErrorKind::kUsage, "blob \"" + input + "\" is no input: a pass gives it its shape",
                "reshape inputs, then the net");
  }
  refuse_too_large(input, shape);
  pending_[input] = shape;
}

void NetCore::apply_shapes() {
  if (pending_.empty()) return;
  const Guard::Use use(*guard_);
  std::vector<InputShape> wanted;
  std::map<std::string, std::vector<float>> kept;
  for (const auto& [input, shape] : pending_) wanted.push_back({input, shape});
  for (const std::string& input : net().inputs()) {
    const auto found = slots_.find({input});
    if (!pending_.contains(input)) {
      if (found != slots_.end()) found->second.array.send(found->second.numbers);
      kept[input] = net().read(input);
    }
  }
  pending_.clear();
  {
    const Guard::Pass pass(*guard_);
    net().reshape(wanted);
  }
  whole_pass_ = false;
  for (const auto& [input, values] : kept) {
    if (count(net().shape(input)) == static_cast<int64_t>(values.size())) net().write(input, values);
  }
  for (const InputShape& input : wanted) {
    Slot& values = slot({input.input});
    values.array.send(values.numbers);
    values.array.keep_for(stamp({input.input}));
    slot({input.input, -1, true}).array.forget();
  }
  receive();
}

void NetCore::send() {
  apply_shapes();
  for (auto& [place, slot] : slots_) slot.array.send(slot.numbers);
}

void NetCore::receive() {
  for (auto& [place, slot] : slots_) {
    if (slot.array.stamp() == stamp(place)) {
      slot.array.renew(slot.numbers);
    } else {
      slot.array.forget();
    }
  }
}

void NetCore::forget_arrays() {
  slots_.clear();
  pending_.clear();
}

void NetCore::run(const std::function<void()>& work) {
  const Guard::Use use(*guard_);
  guard_->require_no_pass();
  net();
  send();
  try {
    const Guard::Pass pass(*guard_);
    work();
  } catch (...) {
    receive();
    throw;
  }
  receive();
}

double NetCore::forward(const LayerRange& range) {
  const bool whole = range.start.empty() && range.end.empty();
  double loss = 0;
  try {
    run([&] { loss = whole ? net_->forward() : net_->forward(range); });
  } catch (const Error& error) {
    if (whole || !own_ || !recipe_.options.fuse || error.kind() != ErrorKind::kUnsupported) throw;
    make_without_fusing(false);
    run([&] { loss = net_->forward(range); });
  }
  whole_pass_ = whole;
  return loss;
}

void NetCore::backward(const LayerRange& range) {
  const bool whole = range.start.empty() && range.end.empty();
  try {
    // A whole one follows a whole forward; as a part it follows whatever has run.
    run([&] { whole && whole_pass_ ? net_->backward(true) : net_->backward(range, true); });
  } catch (const Error& error) {
    if (whole || !own_ || !recipe_.options.fuse || error.kind() != ErrorKind::kUnsupported) throw;
    make_without_fusing(whole_pass_);
    run([&] { net_->backward(range, true); });
  }
}

}  // namespace robusta::python

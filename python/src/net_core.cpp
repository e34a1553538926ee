// A net's arrays and shapes.

#include "net_core.h"

#include <algorithm>
#include <limits>

#include "robusta/error.h"

namespace robusta::python {
namespace {

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

/// Does nothing where a blob has no gradient, which Caffe lets scripts set all the same: no pass reads it.
template <typename Work>
void unless_without_gradient(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
  }
}

/// Copies that others may run beside: on a GPU they wait for all that was begun before, on one without hardware for
/// layers in Python, too, which want the interpreter's lock.
Numbers without_lock(const Numbers& numbers) {
  const auto unlocked = [](const auto& copy) {
    if (passes_end() || !PyGILState_Check()) return copy();
    const Guard::Unlocked others_run;
    return copy();
  };
  return {numbers.view, [=, read = numbers.read] { return unlocked(read); },
          [=, write = numbers.write](std::span<const float> values) { unlocked([&] { write(values); }); }};
}

}  // namespace

NetCore::NetCore(Recipe recipe) : recipe_(std::move(recipe)), guard_(std::make_shared<Guard>()) {
  const Guard::Use use(guard_);
  made_ = std::make_shared<MadeNet>(MadeNet{nullptr, built(recipe_.options, nullptr)});
}

NetCore::NetCore(std::shared_ptr<Net> net, std::shared_ptr<Guard> guard)
    : own_(false), guard_(std::move(guard)), made_(std::make_shared<MadeNet>(MadeNet{nullptr, std::move(net)})) {}

NetCore::~NetCore() {
  if (guard_->here()) return;
  // The threads that a net ends with are those of the process before fork: it stays.
  new std::shared_ptr<const MadeNet>(std::move(made_));
}

Net& NetCore::net() {
  if (!made_) throw Error(ErrorKind::kUsage, "the net has been closed", "build another one");
  return *made_->net;
}

void NetCore::close() {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  if (!own_) throw Error(ErrorKind::kUsage, "the net is a solver's and ends with it");
  closed_ = true;
  const auto made = std::exchange(made_, nullptr);
  const auto lender = std::exchange(shares_with_, nullptr);
  sharers_.clear();
  samples_ = labels_ = {};
  forget_arrays();
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

Numbers NetCore::numbers_of_parameter(const Place& place) {
  const std::string& name = place.name;
  const int index = place.index;
  if (place.gradient) {
    return {[=, this] { return net().parameter_gradient_view(name, index); },
            [=, this] { return parameter_gradient(name, index); },
            [=, this](std::span<const float> values) { net().write_parameter_gradient(name, index, values); }};
  }
  return {[=, this] { return net().parameter_view(name, index); },
          [=, this] { return net().read_parameter(name, index); },
          [=, this](std::span<const float> values) { net().write_parameter(name, index, values); }};
}

Numbers NetCore::numbers_of(const Place& place) {
  if (place.index >= 0) return numbers_of_parameter(place);
  const std::string& name = place.name;
  if (place.gradient) {
    return {[=, this] { return net().gradient_view(name); }, [=, this] { return net().read_gradient(name); },
            [=, this](std::span<const float> values) {
              unless_without_gradient([&] { net().write_gradient(name, values); });
            }};
  }
  return {[=, this] { return net().view(name); }, [=, this] { return net().read(name); },
          [=, this](std::span<const float> values) { net().write(name, values); }};
}

std::shared_ptr<NetCore::Slot> NetCore::slot(const Place& place) {
  std::shared_ptr<Slot>& found = slots_[place];
  if (!found) found = std::make_shared<Slot>(Slot{without_lock(numbers_of(place)), {}});
  return found;
}

/// Parameters stay where they are when the net is planned anew.
uint64_t NetCore::stamp(const Place& place) { return place.index >= 0 ? 1 : 2 + net().plannings(); }

bool NetCore::is_pending(const Place& place) const { return place.index < 0 && pending_.contains(place.name); }

Shape NetCore::shape(const Place& place) {
  const Guard::Use use(guard_);
  if (place.index >= 0) return net().parameter_shape(place.name, place.index);
  return is_pending(place) ? pending_.at(place.name) : net().shape(place.name);
}

pybind11::object NetCore::array(const Place& place) {
  const Guard::Use use(guard_);
  const Shape now = shape(place);
  // Kept here: making an array may run a script's code, which may have the net forget its arrays.
  const std::shared_ptr<Slot> found = slot(place);
  if (is_pending(place)) return found->array.get_unsent(now);
  return found->array.get(now, stamp(place), found->numbers, [this] { return net().hold_memory(); });
}

void NetCore::reshape(const std::string& input, const Shape& shape) {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  const std::vector<std::string> inputs = net().inputs();
  const Shape now = this->shape({input});
  if (shape == now) return;
  if (std::ranges::find(inputs, input) == inputs.end()) {
    throw Error(ErrorKind::kUsage, "blob \"" + input + "\" is no input: a pass gives it its shape",
                "reshape inputs, then the net");
  }
  refuse_too_large(input, shape);
  if (shape == net().shape(input)) {
    pending_.erase(input);
  } else {
    pending_[input] = shape;
  }
}

void NetCore::apply_shapes() {
  if (pending_.empty()) return;
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  send_arrays();
  std::vector<InputShape> wanted;
  for (const auto& [input, shape] : pending_) wanted.push_back({input, shape});
  std::map<std::string, std::vector<float>> kept;
  for (const std::string& input : net().inputs()) {
    if (!pending_.contains(input)) kept[input] = net().read(input);
  }
  pending_.clear();
  Dropped dropped;
  try {
    const Guard::Pass pass(guard_);
    net().reshape(wanted);
  } catch (...) {
    for (const InputShape& input : wanted) slot({input.input})->array.forget(dropped);
    throw;
  }
  has_run_ = whole_pass_ = false;
  for (const auto& [input, values] : kept) {
    if (count(net().shape(input)) == static_cast<int64_t>(values.size())) net().write(input, values);
  }
  for (const InputShape& input : wanted) {
    const std::shared_ptr<Slot> values = slot({input.input});
    values->array.send(values->numbers);
    values->array.keep_for(stamp({input.input}), dropped);
    slot({input.input, -1, true})->array.forget(dropped);
  }
  receive();
}

/// All but those of inputs whose next shape the net does not have yet.
void NetCore::send_arrays() {
  for (const auto& [place, slot] : slots_) {
    if (!is_pending(place)) slot->array.send(slot->numbers);
  }
}

void NetCore::send() {
  apply_shapes();
  send_arrays();
}

void NetCore::receive() {
  Dropped dropped;
  for (const auto& [place, slot] : slots_) {
    if (is_pending(place)) continue;
    if (slot->array.stamp() == stamp(place)) {
      slot->array.renew(slot->numbers, dropped);
    } else {
      slot->array.forget(dropped);
    }
  }
}

void NetCore::forget_arrays() {
  pending_.clear();
  const auto forgotten = std::exchange(slots_, {});
}

void NetCore::clear_parameter_gradients() {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  send_arrays();
  for (const ParameterInfo& param : net().parameters()) {
    const std::vector<float> zeros(static_cast<size_t>(count(param.shape)));
    net().write_parameter_gradient(param.layer, param.index, zeros);
  }
  receive();
}

void NetCore::set_samples(std::vector<float> data, std::vector<float> labels) {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  for (const LayerInfo& layer : net().layers()) {
    if (layer.type != "MemoryData") continue;
    net().set_samples(layer.name, data, labels);
    net().seek(0);
    samples_ = std::move(data);
    labels_ = std::move(labels);
    return;
  }
  throw Error(ErrorKind::kUsage, "set_input_arrays is for a MemoryData layer, and the net has none");
}

}  // namespace robusta::python

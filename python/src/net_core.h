/// A net as scripts have it: the library's, the numpy arrays of its blobs and parameters, and who uses it.
///
/// REQUIRES, of every function: the interpreter's lock. Those that compute give it up meanwhile (run).
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "array.h"
#include "guard.h"
#include "robusta/net.h"

namespace robusta::python {

/// What an array shows: a blob's values, or a parameter's where index is 0 or more; or their gradient.
struct Place {
  std::string name;  ///< of the blob, or of the parameter's layer
  int index = -1;
  bool gradient = false;
  auto operator<=>(const Place&) const = default;
};

/// How a net is made, and made again.
struct Recipe {
  std::string path, text;
  NetOptions options;
};

class NetCore : public std::enable_shared_from_this<NetCore> {
 public:
  /// A net of its own. Throws Error.
  explicit NetCore(Recipe recipe);
  /// A solver's; `net` keeps the solver.
  NetCore(std::shared_ptr<Net> net, std::shared_ptr<Guard> guard);
  NetCore(const NetCore&) = delete;
  NetCore& operator=(const NetCore&) = delete;
  ~NetCore();

  /// Throws Error{kUsage} after close().
  Net& net();
  Guard& guard() { return *guard_; }
  void close();
  bool closed() const { return closed_; }

  Shape shape(const Place& place);
  pybind11::object array(const Place& place);
  /// An input's next shape; its array has it at once, the net from the next apply_shapes() on.
  void reshape(const std::string& input, const Shape& shape);
  void apply_shapes();

  /// Runs work without the interpreter's lock: before it the net gets what scripts have changed, and after it scripts'
  /// arrays get what it has computed.
  void run(const std::function<void()>& work);
  /// The two halves of that, for work on several nets. receive() is for callbacks, too.
  void send();
  void receive();
  /// Nothing that arrays show is the net's any more.
  void forget_arrays();

  /// Runs layers `start` to `end` (empty: as a whole pass does); returns the loss.
  double forward(const LayerRange& range);
  void backward(const LayerRange& range);

  /// Uses the parameters of that net from now on. Throws Error{kUnsupported} for a solver's net.
  void share_with(const std::shared_ptr<NetCore>& other);
  /// The parameters that others share with this one are about to go: those nets are made anew when they are used next.
  void release_sharers();

 private:
  struct Slot {
    Numbers numbers;
    Array array;
  };

  Slot& slot(const Place& place);
  Numbers numbers_of(const Place& place);
  std::vector<float> parameter_gradient(const std::string& layer, int index);
  uint64_t stamp(const Place& place);
  /// The same net by other options, with this one's parameters and, where they fit, blobs.
  void make_anew();
  void make_without_fusing(bool with_forward);
  void copy_blobs(Net& from, Net& to);

  Recipe recipe_;
  bool own_ = true, closed_ = false;
  bool whole_pass_ = false;  ///< the last forward was one
  std::shared_ptr<Guard> guard_;
  std::vector<std::shared_ptr<const void>> kept_;  ///< that net_ needs; ends after it
  std::shared_ptr<Net> net_;                       ///< null: closed, or to be made anew
  std::shared_ptr<NetCore> shares_with_;
  std::vector<std::weak_ptr<NetCore>> sharers_;
  std::map<Place, Slot> slots_;
  std::map<std::string, Shape> pending_;
};

}  // namespace robusta::python

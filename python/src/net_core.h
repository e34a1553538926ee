/// A net as scripts have it: the library's, the numpy arrays of its blobs and parameters, and who uses it.
///
/// REQUIRES, of every function: the interpreter's lock. Those that compute or build give it up meanwhile.
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

/// A net, and that whose parameters it uses, which ends after it.
struct MadeNet {
  std::shared_ptr<const MadeNet> lender;
  std::shared_ptr<Net> net;
};

struct NetContents;

class NetCore : public std::enable_shared_from_this<NetCore> {
 public:
  /// A net of its own. Throws Error.
  explicit NetCore(Recipe recipe);
  /// A solver's; `net` keeps the solver.
  NetCore(std::shared_ptr<Net> net, std::shared_ptr<Guard> guard);
  NetCore(const NetCore&) = delete;
  NetCore& operator=(const NetCore&) = delete;
  ~NetCore();

  /// Throws Error{kUsage} after close(). REQUIRES: a Use of guard().
  Net& net();
  const std::shared_ptr<Guard>& guard() const { return guard_; }
  void close();
  bool closed() const { return closed_; }

  Shape shape(const Place& place);
  pybind11::object array(const Place& place);
  /// An input's next shape; its array has it at once, the net from the next apply_shapes() on. Throws Error{kUsage}.
  void reshape(const std::string& input, const Shape& shape);
  /// Where it throws the shapes are those of before.
  void apply_shapes();
  /// Zeros the gradients of the parameters.
  void clear_parameter_gradients();
  /// Samples of its MemoryData layer. Throws Error{kUsage} where it has none.
  void set_samples(std::vector<float> data, std::vector<float> labels);

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
  /// A net that has not run forward in its shapes does so first, where scripts alone give it its data.
  void backward(const LayerRange& range);

  /// Uses the parameters of that net from now on, where layers have the same names; other layers keep theirs. Throws
  /// Error{kUnsupported} for a solver's net.
  void share_with(const std::shared_ptr<NetCore>& other);
  /// Around work that puts other nets in the place of those whose parameters are shared: nets that share them keep what
  /// they hold, and use the parameters of the new ones. Where work throws nothing has changed.
  static void while_sharing(const std::vector<std::shared_ptr<NetCore>>& lenders, const std::function<void()>& work);

 private:
  struct Slot {
    Numbers numbers;
    Array array;
  };

  std::shared_ptr<Slot> slot(const Place& place);
  Numbers numbers_of(const Place& place);
  Numbers numbers_of_parameter(const Place& place);
  std::vector<float> parameter_gradient(const std::string& layer, int index);
  uint64_t stamp(const Place& place);
  bool is_pending(const Place& place) const;
  void send_arrays();
  bool has_sources();

  std::shared_ptr<Net> built(const NetOptions& options, const NetContents* contents);
  NetContents contents();
  void become(std::shared_ptr<const MadeNet> lender, const NetContents& contents);
  void make_without_fusing(bool with_forward);

  Recipe recipe_;
  bool own_ = true, closed_ = false;
  bool has_run_ = false;     ///< forward, in these shapes
  bool whole_pass_ = false;  ///< the last forward was one
  std::shared_ptr<Guard> guard_;
  std::shared_ptr<const MadeNet> made_;  ///< null: closed
  std::shared_ptr<NetCore> shares_with_;
  std::vector<std::weak_ptr<NetCore>> sharers_;
  std::map<Place, std::shared_ptr<Slot>> slots_;
  std::map<std::string, Shape> pending_;
  std::vector<float> samples_, labels_;  ///< of MemoryData
};

}  // namespace robusta::python

// LSTMUnit: shapes, and the kernels of the host.

#include "layers/types/lstm_unit/lstm_unit.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/recurrent/host_machine.h"

namespace robusta {
namespace {

void require_shape(const std::vector<Shape>& bottoms, size_t i, const Shape& wanted, const char* what) {
  if (bottoms[i] == wanted) return;
  throw Error(
      ErrorKind::kConfig,
      str("bottom ", i, " has shape ", bottoms[i].str(), ", but ", what, " of shape ", wanted.str(), " is wanted"),
      "bottoms are the cell's state (1 x streams x units), the gates (1 x streams x 4 units) and cont (1 x "
      "streams)")
      .in_field("bottom");
}

/// Loops that call <cmath>.
template <typename T>
struct PlainMachine {
  using Stored = T;
  using Math = ExactMath<T>;
  static constexpr const char* kName = "reference";
  explicit PlainMachine(const KernelRun&) {}
  template <typename Body>
  void each(int64_t rows, int64_t width, const Body& body) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t j = 0; j < width; ++j) body(row, j);
    }
  }
};

template <typename T>
using LstmUnitReference = LstmUnitKernel<PlainMachine<T>>;
using LstmUnitNative = LstmUnitKernel<HostMachine>;

}  // namespace

std::vector<Shape> LstmUnitLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& c = bottoms[0];
  const int64_t streams = c.axes() > 1 ? c[1] : 1, hidden = c.axes() > 2 ? c[2] : 1;
  require_shape(bottoms, 0, {1, streams, hidden}, "a state");
  require_shape(bottoms, 1, {1, streams, product_or_most(4, hidden)}, "gates");
  require_shape(bottoms, 2, {1, streams}, "cont");
  return {c, c};
}

ROBUSTA_REGISTER_LAYER("LSTMUnit", LstmUnitLayer);
ROBUSTA_REGISTER_REFERENCE("LSTMUnit", LstmUnitReference);
ROBUSTA_REGISTER_NATIVE("LSTMUnit", LstmUnitNative);

}  // namespace robusta

// Ways of our own beside the libraries', for few rows.

#include "layers/types/inner_product/inner_product_ways.h"

#include <algorithm>

#include "base/str.h"
#include "layers/types/inner_product/few_rows.h"
#include "layers/types/inner_product/few_rows_gradients.h"
#include "layers/types/inner_product/rows_as_columns.h"

namespace robusta {
namespace {

/// The ways to go forward, best guess first.
std::vector<const ProductWay*> forward_ways(const InnerProductSize& size) {
  static const FewRows few_rows;
  static const RowsAsColumns columns;
  std::vector<const ProductWay*> ways;
  if (!size.transposed && pays_for_few_rows(size.rows, size.inputs)) ways.push_back(&few_rows);
  const auto libraries = product_libraries();
  ways.insert(ways.end(), libraries.begin(), libraries.end());
  if (!size.transposed && size.rows <= kMostColumns) {
    ways.insert(pays_for_columns(size.rows, size.inputs) ? ways.begin() : ways.end(), &columns);
  }
  return ways;
}

/// The ways to a gradient, best guess first.
std::vector<const ProductWay*> gradient_ways(const InnerProductSize& size, InnerProductStep step) {
  static const FewRowsData data;
  static const FewRowsWeights weights;
  const auto libraries = product_libraries();
  std::vector<const ProductWay*> ways(libraries.begin(), libraries.end());
  if (!may_pay_for_few_gradients(size.rows, size.outputs, size.inputs)) return ways;
  const auto own = pays_for_few_gradients(size.rows) ? ways.begin() : ways.end();
  if (step == InnerProductStep::kWeightGradient) {
    ways.insert(own, &weights);
  } else if (!size.transposed) {
    ways.insert(own, &data);
  }
  return ways;
}

}  // namespace

InnerProductSize timed_part(InnerProductSize size) {
  constexpr int64_t kMostWeights = int64_t{1} << 24, kMostRows = 512;
  size.rows = std::min(size.rows, kMostRows);
  size.outputs = std::min(size.outputs, std::max<int64_t>(kMostWeights / size.inputs, 1));
  return size;
}

const ProductWay& fastest_way(const InnerProductSize& size, InnerProductStep step, Tuner* tuner) {
  // Steps of one shape have other ways to choose from.
  constexpr const char* kNames[] = {"y", "dx", "dw"};
  const std::string key = str("sgemm/", kNames[static_cast<size_t>(step)], "/", product_shape(size, step).key());
  const ProductShape timed = product_shape(timed_part(size), step);
  if (step != InnerProductStep::kForward) return fastest_product(key, timed, gradient_ways(size, step), tuner);
  return fastest_product(key, timed, forward_ways(size), tuner);
}

}  // namespace robusta

// Do the dims of -mode fit the number of ranks?
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/counted.h"
#include "base/str.h"
#include "comm/ddl_options.h"
#include "comm/dims.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Calls visit(dims) for every way to write `ranks` as a product of `count` factors, the first ones changing slowest.
void for_each_grid(int ranks, size_t count, std::vector<int>& dims,
                   const std::function<void(const std::vector<int>&)>& visit) {
  if (count == 1) {
    dims.push_back(ranks);
    visit(dims);
    dims.pop_back();
    return;
  }
  for (int factor = ranks; factor >= 1; --factor) {
    if (ranks % factor) continue;
    dims.push_back(factor);
    for_each_grid(ranks / factor, count - 1, dims, visit);
    dims.pop_back();
  }
}

/// How far apart two grids are; the ranks of a host are given by its hardware, so X is the last to be changed.
double distance(const std::vector<int>& a, const std::vector<int>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (i == 0 ? 4 : 1) * std::abs(std::log(double(a[i]) / b[i]));
  return sum;
}

}  // namespace

std::vector<int> nearest_dims(const std::vector<int>& dims, int ranks) {
  std::vector<int> best, grid;
  double least = 0;
  for_each_grid(ranks, dims.size(), grid, [&](const std::vector<int>& each) {
    const double far = distance(each, dims);
    // A hair's breadth keeps the first of equals, whatever the rounding.
    if (best.empty() || far < least - 1e-9) best = each, least = far;
  });
  return best;
}

std::string dims_text(const std::vector<int>& dims) {
  std::string text;
  for (const int dim : dims) text += str(text.empty() ? "" : "x", dim);
  return text;
}

void check_dims(const DdlOptions& options, int ranks) {
  assert(!options.dims.empty());
  int64_t product = 1;
  for (const int dim : options.dims) {
    if (__builtin_mul_overflow(product, int64_t{dim}, &product)) product = INT64_MAX;
  }
  if (product == ranks) return;
  const char letter = options.mode == ReduceMode::kByHosts ? 'b' : static_cast<char>(options.mode);
  std::string cause = str("invalid dim size=", ranks, " usr_size=", product);
  for (size_t i = 0; i < options.dims.size(); ++i) cause += str(" dim[", i, "]=", options.dims[i]);
  throw Error(ErrorKind::kUsage, cause,
              str("the dims make ", counted(product, "rank"), ", and ", ranks, ranks == 1 ? " was" : " were",
                  " started: write -mode ", letter, ":", dims_text(nearest_dims(options.dims, ranks)),
                  ", or start them with mpirun -n ", product));
}

}  // namespace robusta

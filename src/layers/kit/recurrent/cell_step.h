/// One time step of all streams, between two matrix products: bodies that are called for each (stream, hidden unit).
///
/// Nothing in them branches, on numbers or on pointers: compilers would leave a host's loops over `j` scalar.
///
/// Memory is stored row by row: the state of stream n from n * hidden on, its gates from n * gates on, gate after gate.
/// `T` is what cells compute in, `Stored` what lies in tensors that other kernels see.
#pragma once

#include "layers/kit/recurrent/cells.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The gates are opened, c and h follow; if kFollowed, the next step takes them over.
template <typename Cell, typename Given, typename Stored, bool kFollowed>
struct CellForward {
  using T = typename Cell::T;
  int64_t hidden;
  const Given* z;  ///< [N, gates x H]: what the products give the gates
  T* gates;        ///< may be z
  const T* taken;  ///< of the c before
  T* c;            ///< if followed, what is taken of it; this and `taken` are null where the cell remembers nothing
  Stored* h;
  const T* next_cont = nullptr;  ///< if followed
  Stored* next_taken = nullptr;  ///< if followed: what is taken of h

  ROBUSTA_GPU void operator()(int64_t n, int64_t j) const {
    const int64_t at = n * hidden + j, first = n * Cell::kGates * hidden + j;
    const auto open = Cell::open(Cell::load(z + first, hidden));
    Cell::store(open, gates + first, hidden);
    T state = 0;
    if constexpr (Cell::kRemembers) {
      state = Cell::remember(open, taken[at]);
      c[at] = kFollowed ? continued(next_cont[n], state) : state;
    }
    const T out = Cell::put_out(open, state);
    h[at] = static_cast<Stored>(out);
    if constexpr (kFollowed) next_taken[at] = static_cast<Stored>(continued(next_cont[n], out));
  }
};

/// From the gradients of h and c to those of z and of the c before.
template <typename Cell, typename Given, typename Stored, bool kFollowed>
struct CellBackward {
  using T = typename Cell::T;
  int64_t hidden;
  const T *gates, *cont, *taken;  ///< those of forward
  const Stored* dh;               ///< the gradient of h, of all who read it
  const T* dc;
  Given* dz;
  T* dbefore;                    ///< may be dc; this and dc are null where the cell remembers nothing
  const T* next_cont = nullptr;  ///< if followed
  const T* later = nullptr;      ///< if followed: the gradient of what was taken of h

  ROBUSTA_GPU void operator()(int64_t n, int64_t j) const {
    const int64_t at = n * hidden + j, first = n * Cell::kGates * hidden + j;
    T of_h = static_cast<T>(dh[at]);
    if constexpr (kFollowed) of_h += next_cont[n] * later[at];
    const auto open = Cell::load(gates + first, hidden);
    if constexpr (Cell::kRemembers) {
      const auto slopes = Cell::slopes(open, taken[at], of_h, dc[at]);
      Cell::store(slopes.z, dz + first, hidden);
      dbefore[at] = cont[n] * slopes.before;
    } else {
      Cell::store(Cell::slopes(open, T{0}, of_h, T{0}).z, dz + first, hidden);
    }
  }
};

/// to = cont * from, a state that is taken over.
template <typename From, typename To, typename T>
struct TakeOver {
  int64_t hidden;
  const T* cont;
  const From* from;
  To* to;
  ROBUSTA_GPU void operator()(int64_t n, int64_t j) const {
    const int64_t at = n * hidden + j;
    to[at] = static_cast<To>(continued(cont[n], static_cast<T>(from[at])));
  }
};

template <typename From, typename To>
struct CopyRows {
  int64_t width;
  const From* from;
  To* to;
  ROBUSTA_GPU void operator()(int64_t r, int64_t j) const { to[r * width + j] = static_cast<To>(from[r * width + j]); }
};

/// sums = a + b
template <typename A, typename B, typename Sum>
struct AddRows {
  int64_t width;
  const A* a;
  const B* b;
  Sum* sums;
  ROBUSTA_GPU void operator()(int64_t r, int64_t j) const {
    const int64_t at = r * width + j;
    sums[at] = static_cast<Sum>(static_cast<float>(a[at]) + static_cast<float>(b[at]));
  }
};

/// Every row becomes `row`.
template <typename T>
struct FillRows {
  int64_t width;
  const T* row;
  T* to;
  ROBUSTA_GPU void operator()(int64_t r, int64_t j) const { to[r * width + j] = row[j]; }
};

/// sums[n, j] = the sum of from[t, n, j] over the steps.
template <typename T, typename Stored>
struct SumSteps {
  int64_t steps, streams, width;
  const Stored* from;
  Stored* sums;
  ROBUSTA_GPU void operator()(int64_t n, int64_t j) const {
    T sum = 0;
    for (int64_t t = 0; t < steps; ++t) sum += static_cast<T>(from[(t * streams + n) * width + j]);
    sums[n * width + j] = static_cast<Stored>(sum);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// The functions that formulas are made of (unary.h), for each place where a formula is computed.
///
/// A formula is a template over one of these sets: ExactMath on <cmath> for the reference, VectorMath without branches
/// or calls for the loops of the CPU, GpuMath (backends/gpu/unary.h) for GPUs. All have the same members; a layer that
/// needs one more function adds it to the three.
#pragma once

#include <cmath>

#include "layers/kit/vector_math.h"

namespace robusta {

template <typename Number>
struct ExactMath {
  using T = Number;
  static T abs(T x) { return std::abs(x); }
  static T exp(T x) { return std::exp(x); }
  static T expm1(T x) { return std::expm1(x); }
  static T log(T x) { return std::log(x); }
  static T log1p(T x) { return std::log1p(x); }
  static T sqrt(T x) { return std::sqrt(x); }
  static T tanh(T x) { return std::tanh(x); }
  static T sigmoid(T x) { return T{0.5} * std::tanh(T{0.5} * x) + T{0.5}; }
  static T pow(T base, T exponent) { return std::pow(base, exponent); }
  static T select(bool condition, T then, T otherwise) { return condition ? then : otherwise; }
};

struct VectorMath {
  using T = float;
  static T abs(T x) { return std::abs(x); }
  static T exp(T x) { return vec::exp(x); }
  static T expm1(T x) { return vec::expm1(x); }
  static T log(T x) { return vec::log(x); }
  static T log1p(T x) { return vec::log1p(x); }
  static T sqrt(T x) { return std::sqrt(x); }
  static T tanh(T x) { return vec::tanh(x); }
  static T sigmoid(T x) { return vec::sigmoid(x); }
  static T pow(T base, T exponent) { return vec::pow(base, exponent); }
  static T select(bool condition, T then, T otherwise) { return vec::select(condition, then, otherwise); }
};

}  // namespace robusta

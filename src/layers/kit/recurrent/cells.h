/// The units of recurrent layers, one hidden unit at a time: from what its gates are given to its state, and back.
///
/// Templates over the functions they are made of (kit/math.h), so that one text serves the reference, vectors and GPUs.
/// A cell says:
///   static constexpr int kGates           numbers that the products give it
///   static constexpr bool kRemembers      whether there is a state c beside the hidden one
///   struct Gates                          the gates, or their gradients
///   Gates load(z, apart), store(gates, z, apart)     gate k lies at z[k * apart]
///   Gates open(z)                         the gates' values
///   T remember(gates, before)             c, from that of the step before
///   T put_out(gates, c)                   h
///   Slopes slopes(gates, before, dh, dc)  gradients with respect to z and `before`, of those of h and c
#pragma once

#include <cstdint>

#include "device/gpu/target.h"
#include "layers/kit/math.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", with the forget gate of Gers, Schmidhuber and Cummins
/// 2000 and without peepholes; in the notation of Graves 2013, "Generating Sequences With Recurrent Neural Networks",
/// equations 7 to 11:
///   i, f, o = sigmoid(z_i), sigmoid(z_f), sigmoid(z_o);  g = tanh(z_g)
///   c_t = f c_(t-1) + i g;  h_t = o tanh(c_t)
template <typename Math>
struct LstmCell {
  using T = typename Math::T;
  static constexpr int kGates = 4;  ///< i, f, o, g, in Caffe's order
  static constexpr bool kRemembers = true;
  struct Gates {
    T i, f, o, g;
  };
  struct Slopes {
    Gates z;
    T before;
  };

  template <typename Stored>
  static ROBUSTA_GPU Gates load(const Stored* z, int64_t apart) {
    return {static_cast<T>(z[0]), static_cast<T>(z[apart]), static_cast<T>(z[2 * apart]), static_cast<T>(z[3 * apart])};
  }
  template <typename Stored>
  static ROBUSTA_GPU void store(const Gates& gates, Stored* z, int64_t apart) {
    z[0] = static_cast<Stored>(gates.i);
    z[apart] = static_cast<Stored>(gates.f);
    z[2 * apart] = static_cast<Stored>(gates.o);
    z[3 * apart] = static_cast<Stored>(gates.g);
  }

  static ROBUSTA_GPU Gates open(const Gates& z) {
    return {Math::sigmoid(z.i), Math::sigmoid(z.f), Math::sigmoid(z.o), Math::tanh(z.g)};
  }
  static ROBUSTA_GPU T remember(const Gates& a, T before) { return a.f * before + a.i * a.g; }
  static ROBUSTA_GPU T put_out(const Gates& a, T c) { return a.o * Math::tanh(c); }

  static ROBUSTA_GPU Slopes slopes(const Gates& a, T before, T dh, T dc) {
    const T y = Math::tanh(remember(a, before));
    const T through = dc + dh * a.o * (1 - y * y);
    return {{through * a.g * a.i * (1 - a.i), through * before * a.f * (1 - a.f), dh * y * a.o * (1 - a.o),
             through * a.i * (1 - a.g * a.g)},
            through * a.f};
  }
};

/// Elman 1990, "Finding Structure in Time": h = tanh(z).
template <typename Math>
struct TanhCell {
  using T = typename Math::T;
  static constexpr int kGates = 1;
  static constexpr bool kRemembers = false;
  struct Gates {
    T h;
  };
  struct Slopes {
    Gates z;
    T before;
  };

  template <typename Stored>
  static ROBUSTA_GPU Gates load(const Stored* z, int64_t) {
    return {static_cast<T>(*z)};
  }
  template <typename Stored>
  static ROBUSTA_GPU void store(const Gates& gates, Stored* z, int64_t) {
    *z = static_cast<Stored>(gates.h);
  }

  static ROBUSTA_GPU Gates open(const Gates& z) { return {Math::tanh(z.h)}; }
  static ROBUSTA_GPU T remember(const Gates&, T) { return 0; }
  static ROBUSTA_GPU T put_out(const Gates& a, T) { return a.h; }
  static ROBUSTA_GPU Slopes slopes(const Gates& a, T, T dh, T) { return {{dh * (1 - a.h * a.h)}, 0}; }
};

/// What a step takes over of a state: nothing where a sequence begins, whatever was there.
template <typename T>
ROBUSTA_GPU T continued(T cont, T value) {
  return cont == 0 ? T{0} : cont * value;
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

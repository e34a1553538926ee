/// The arithmetic of a batch normalisation where channels come last, stored as bf16 and computed in float.
///
/// Some pixels that follow one another, and of each a row of channels side by side. Memory is read and written in the
/// order in which it lies. Per-channel arrays begin with the row's first channel.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "layers/types/batch_norm/channel_blocks.h"

namespace robusta::pixel_rows {

/// The longest row.
inline constexpr int64_t kMostChannels = 256;

struct Rows {
  int64_t pixels;
  int64_t next;      ///< elements from one pixel to the next: all channels
  int64_t channels;  ///< of a row: a multiple of 16, kMostChannels at most
};

using channel_blocks::Affine;
using JoinedGradients = channel_blocks::JoinedGradients<BFloat16>;

/// first += sum(x - origin), second += sum((x - origin)^2).
void add_moments(const BFloat16* x, const Rows& rows, const BFloat16* origin, double* first, double* second);

/// y = relu((x - mean) * factor + shift). May work in place.
void normalise(const BFloat16* x, const Rows& rows, const Affine& affine, BFloat16* y);

/// The same of (x - mean) * factor + shift + other. May work in place on either.
void normalise_joined(const BFloat16* x, const BFloat16* other, const Rows& rows, const Affine& affine, BFloat16* y);

/// With g the gradient before the ReLU: first += sum(g), second += sum(g * (x - mean)).
void add_gradient_sums(const BFloat16* x, const BFloat16* dy, const Rows& rows, const Affine& affine, double* first,
                       double* second);

/// The same where something was added: g = dy + more, times affine.slope where y is not positive, is written, too.
void add_joined_sums(const BFloat16* x, const JoinedGradients& gradients, const Rows& rows, const Affine& affine,
                     double* first, double* second);

/// dx = factor * g - constant - (x - mean) * linear. May work in place on dy.
void propagate(const BFloat16* x, const BFloat16* dy, const Rows& rows, const Affine& affine, const float* constant,
               const float* linear, BFloat16* dx);

}  // namespace robusta::pixel_rows

/// What a layer may be to a kernel of another type that computes both together (a fused chain).
///
/// A layer type says so by deriving from a role; the kernel asks for roles and never for types, so that no type's
/// folder includes another's, and a type of somebody else's is fused as soon as it has the role. Answers hold after
/// infer_tops.
#pragma once

#include <cstdint>

#include "layers/kit/norm_eps.h"

namespace robusta {

/// One bottom, one top: y = x where x > 0, else slope() * x (Nair and Hinton 2010; Maas et al. 2013 with a slope).
class Rectifier {
 public:
  virtual float slope() const = 0;
  /// True if y > 0 exactly where x > 0, so that backward needs y alone.
  bool sign_survives() const { return slope() >= 0; }

 protected:
  ~Rectifier() = default;
};

/// One bottom, one top: normalises each channel, axis 1, by a mean and a variance. Parameters: three statistics
/// (the sums of means and of variances, and the number of batches in them), then a scale and a shift if has_scale().
class ChannelNorm {
 public:
  virtual int64_t channels() const = 0;
  virtual NormEps eps() const = 0;
  virtual bool has_scale() const = 0;
  /// True: mean and variance are the stored ones and stay as they are.
  virtual bool uses_global_stats() const = 0;

 protected:
  ~ChannelNorm() = default;
};

/// y[o, c, i] = x[o, c, i] * scale[c] (+ bias[c]). Parameters: the scale unless it is the second bottom, then the bias
/// if has_bias().
class ChannelScale {
 public:
  virtual int64_t outer() const = 0;
  virtual int64_t count() const = 0;
  virtual bool has_bias() const = 0;
  virtual bool scale_is_bottom() const = 0;
  /// True if it scales `channels` channels, axis 1 of `batch` samples, by parameters.
  bool is_by_channel(int64_t batch, int64_t channels) const {
    return !scale_is_bottom() && outer() == batch && count() == channels;
  }

 protected:
  ~ChannelScale() = default;
};

/// Joins bottoms of one shape element by element; when is_sum(), as the sum of coeff(i) * bottom i.
class Joint {
 public:
  virtual bool is_sum() const = 0;
  virtual float coeff(int bottom) const = 0;

 protected:
  ~Joint() = default;
};

}  // namespace robusta

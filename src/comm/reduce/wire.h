/// How the elements of a span travel between hosts: as they are, as 16 bits or as 8 bits each, or the largest of them
/// alone; but for the last ones of Span::exact.
#pragma once

#include <cstring>

#include "comm/reduce/arithmetic.h"
#include "comm/reduce/int8.h"
#include "comm/reduce/top_k.h"

namespace robusta {

class Wire {
 public:
  Wire(const WireFormat& format, DType type)
      : format_(type == DType::kF32 ? format.compress : Compression::kNone), share_(format.share) {}

  /// Bytes by which a packed span may be longer than one that travels as it is: a scale for few elements.
  static constexpr size_t kLonger = 64;

  bool packs() const { return format_ != Compression::kNone; }
  size_t bytes(const Span& span) const { return packs() ? packed_bytes(span) + exact_bytes(span) : span.bytes(); }
  /// What to send: the span itself, or `buffer` with its packed form. `left` (may be null): what rounding has left out
  /// of the span's elements, where the format keeps that (int8.h).
  const void* encode(const Span& span, std::byte* buffer, float* left = nullptr) const {
    if (!packs()) return span.data;
    if (format_ == Compression::kInt8) {
      int8::pack(floats(span), left, buffer, packed(span));
    } else if (format_ == Compression::kTopK) {
      top_k::pack(floats(span), left, buffer, packed(span), share_);
    } else {
      pack(format_, floats(span), halves(buffer), packed(span));
    }
    if (span.exact) std::memcpy(buffer + packed_bytes(span), floats(span) + packed(span), exact_bytes(span));
    return buffer;
  }
  /// to += what was received
  void decode_add(const std::byte* buffer, const Span& to) const {
    if (!packs()) return add(to, buffer);
    if (format_ == Compression::kInt8) {
      int8::add_unpacked(buffer, floats(to), packed(to));
    } else if (format_ == Compression::kTopK) {
      top_k::add_unpacked(buffer, floats(to), packed(to), share_);
    } else {
      add_unpacked(format_, halves(buffer), floats(to), packed(to));
    }
    // Behind packed elements they may not be aligned.
    for (int64_t i = packed(to); i < to.count; ++i) {
      float value;
      std::memcpy(&value, buffer + packed_bytes(to) + static_cast<size_t>(i - packed(to)) * sizeof value, sizeof value);
      floats(to)[i] += value;
    }
  }
  void decode(const std::byte* buffer, const Span& to) const {
    if (!packs()) {
      if (to.count) std::memcpy(to.data, buffer, to.bytes());
      return;
    }
    if (format_ == Compression::kInt8) {
      int8::unpack(buffer, floats(to), packed(to));
    } else if (format_ == Compression::kTopK) {
      top_k::unpack(buffer, floats(to), packed(to), share_);
    } else {
      unpack(format_, halves(buffer), floats(to), packed(to));
    }
    if (to.exact) std::memcpy(floats(to) + packed(to), buffer + packed_bytes(to), exact_bytes(to));
  }
  /// As encode(); the span itself becomes what the others will see of it.
  const void* share(const Span& span, std::byte* buffer, float* left = nullptr) const {
    const void* sent = encode(span, buffer, left);
    if (packs()) decode(buffer, span);
    return sent;
  }

 private:
  static int64_t packed(const Span& span) { return span.count - span.exact; }
  size_t packed_bytes(const Span& span) const {
    if (format_ == Compression::kInt8) return int8::bytes(packed(span));
    if (format_ == Compression::kTopK) return top_k::bytes(packed(span), share_);
    return static_cast<size_t>(packed(span)) * sizeof(uint16_t);
  }
  static size_t exact_bytes(const Span& span) { return static_cast<size_t>(span.exact) * sizeof(float); }
  static float* floats(const Span& span) { return reinterpret_cast<float*>(span.data); }
  static uint16_t* halves(std::byte* buffer) { return reinterpret_cast<uint16_t*>(buffer); }
  static const uint16_t* halves(const std::byte* buffer) { return reinterpret_cast<const uint16_t*>(buffer); }

  Compression format_;
  double share_;  ///< of top_k
};

}  // namespace robusta

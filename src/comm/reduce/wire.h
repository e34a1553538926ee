/// How the elements of a span travel between hosts: as they are, or as 16 bits each.
#pragma once

#include <cstring>

#include "comm/reduce/arithmetic.h"

namespace robusta {

class Wire {
 public:
  Wire(Compression format, DType type) : format_(type == DType::kF32 ? format : Compression::kNone) {}

  bool packs() const { return format_ != Compression::kNone; }
  size_t bytes(const Span& span) const {
    return packs() ? static_cast<size_t>(span.count) * sizeof(uint16_t) : span.bytes();
  }
  /// What to send: the span itself, or `buffer` with its packed form.
  const void* encode(const Span& span, std::byte* buffer) const {
    if (!packs()) return span.data;
    pack(format_, floats(span), halves(buffer), span.count);
    return buffer;
  }
  /// to += what was received
  void decode_add(const std::byte* buffer, const Span& to) const {
    if (!packs()) return add(to, buffer);
    add_unpacked(format_, halves(buffer), floats(to), to.count);
  }
  void decode(const std::byte* buffer, const Span& to) const {
    if (!packs()) {
      if (to.count) std::memcpy(to.data, buffer, to.bytes());
    } else {
      unpack(format_, halves(buffer), floats(to), to.count);
    }
  }
  /// Rounds the span as the others will see it.
  void round(const Span& span, std::byte* buffer) const {
    if (!packs()) return;
    encode(span, buffer);
    decode(buffer, span);
  }

 private:
  static float* floats(const Span& span) { return reinterpret_cast<float*>(span.data); }
  static uint16_t* halves(std::byte* buffer) { return reinterpret_cast<uint16_t*>(buffer); }
  static const uint16_t* halves(const std::byte* buffer) { return reinterpret_cast<const uint16_t*>(buffer); }

  Compression format_;
};

}  // namespace robusta

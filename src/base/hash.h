/// A quick hash of bytes, for comparing over ranks what should be equal. Not for hostile input.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace robusta {

/// FNV-1a (Fowler, Noll and Vo) over words of eight bytes, in four lanes so that multiplications overlap.
inline uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t kPrime = 0x100000001b3, kBasis = 0xcbf29ce484222325;  ///< FNV's prime and offset basis for 64 bits
  constexpr size_t kLanes = 4, kWord = 8;
  uint64_t lanes[kLanes] = {kBasis, kBasis + 1, kBasis + 2, kBasis + 3};
  size_t at = 0;
  for (; at + kLanes * kWord <= bytes.size(); at += kLanes * kWord) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at + lane * kWord, kWord);
      lanes[lane] = (lanes[lane] ^ word) * kPrime;
      lanes[lane] ^= lanes[lane] >> 32;
    }
  }
  uint64_t hash = bytes.size();
  for (const uint64_t lane : lanes) hash = (hash ^ lane) * kPrime;
  for (; at < bytes.size(); ++at) hash = (hash ^ static_cast<unsigned char>(bytes[at])) * kPrime;
  return hash ^ (hash >> 32);
}

}  // namespace robusta

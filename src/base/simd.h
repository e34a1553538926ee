/// Loops compiled for several instruction sets, so that one binary runs on every x86-64 and is fast on the newer ones.
#pragma once

/// Goes before a function that is one plain loop and opens no OpenMP region of its own. The loader picks the clone when
/// the program starts; sanitizers cannot watch that early, so their builds have the plain code alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ROBUSTA_SIMD __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ROBUSTA_SIMD
#endif

// Go before a function of vectors of 16 or of 8 floats that is compiled once, for the instructions that have them, and
// called where vector_lanes() has found these.
#if defined(__x86_64__)
#define ROBUSTA_LANES_16 __attribute__((target("avx512f")))
#define ROBUSTA_LANES_8 __attribute__((target("avx2,fma")))
#else
#define ROBUSTA_LANES_16
#define ROBUSTA_LANES_8
#endif

/// Keeps a vector in its register: the compiler would read it from memory again each time that it is used. For
/// functions of these kinds. A macro, since a template would forget that vectors are aligned as their elements
/// (vector_types.h). clang asks whether the function that is written here has such registers, and not the one that it
/// becomes a part of.
#if defined(__x86_64__) && !defined(__clang__)
#define ROBUSTA_KEEP_IN_REGISTER(vector) asm("" : "+v"(vector))
#else
#define ROBUSTA_KEEP_IN_REGISTER(vector)
#endif

namespace robusta {

/// The floats of a register of this processor: 16 of AVX-512 or 8 of AVX2; 0 where it has neither.
int vector_lanes();

}  // namespace robusta

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

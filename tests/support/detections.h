/// Rows of boxes that layers of detectors write.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/kernel_checks.h"

namespace robusta::test {

/// The rows that a backend writes.
inline Array rows_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  Arrays bottoms;
  for (size_t i = 0; i < what.bottoms.size(); ++i) {
    bottoms.push_back(what.bottom_values(static_cast<int>(i), what.bottoms[i]));
  }
  harness.forward(bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

/// On the CPU and on an emulated GPU.
inline void expect_rows(const KernelCase& what, const Array& want) {
  for (const char* backend : {"reference", "gpu"}) {
    const Array got = rows_of(backend, what);
    ASSERT_EQ(got.size(), want.size()) << backend;
    expect_near(got, want, 1e-5, backend);
  }
}

}  // namespace robusta::test

/// Errors in tests: what a call throws, as a value.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "robusta/error.h"

namespace robusta::test {

/// The Error that `call` throws. Without one the test fails, and the result is empty with kind kInternal.
template <typename Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(ErrorKind::kInternal, "");
}

/// Whether `text` contains `part`; the message shows both.
inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

}  // namespace robusta::test

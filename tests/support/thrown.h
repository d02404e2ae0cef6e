// The error that a call throws, and what a test expects of it.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::test {

struct Thrown {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool says(const std::string& part) const { return message.find(part) != std::string::npos; }
};

// Fails the test if the call throws nothing, or another exception.
template <class F>
Thrown thrown(F call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) { return {e.code(), e.what()}; } catch (const std::exception& e) {
    ADD_FAILURE() << "not an Error: " << e.what();
  }
  return {};
}

inline void expect_parts(const Thrown& e, ErrorCode code, const std::vector<std::string>& parts) {
  EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(code)) << e.message;
  for (const std::string& part : parts) EXPECT_TRUE(e.says(part)) << e.message << "\n  lacks \"" << part << "\"";
}
inline void expect_parts(const Error& e, ErrorCode code, const std::vector<std::string>& parts) {
  expect_parts(Thrown{e.code(), e.what()}, code, parts);
}

template <class F>
void expect_error(ErrorCode code, const std::vector<std::string>& parts, F call) {
  expect_parts(thrown(call), code, parts);
}

}  // namespace tessera::test

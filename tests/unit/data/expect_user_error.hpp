#pragma once
#include "core/error.hpp"
#include "support/catch.hpp"
#include <string>
#include <vector>

namespace trainx::data {

/// Runs `action`, which must throw UserError `code` with a sentence that has all of `parts`.
template <class Action>
void expect_user_error(ExitCode code, const std::vector<std::string>& parts, Action action) {
  try {
    action();
  } catch (const UserError& e) {
    const std::string sentence = e.what();
    INFO(sentence);
    CHECK(e.code() == code);
    for (const std::string& part : parts) {
      INFO("should say: " << part);
      CHECK(sentence.find(part) != std::string::npos);
    }
    return;
  }
  FAIL("nothing was thrown");
}

}  // namespace trainx::data

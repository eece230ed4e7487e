// What a call throws at the user: "66: sentence"; "nothing thrown" otherwise.
#pragma once
#include "core/error.hpp"
#include <string>

template <class F>
std::string user_error_of(F&& f) {
  try {
    f();
  } catch (const trainx::UserError& e) {
    return std::to_string(static_cast<int>(e.code())) + ": " + e.what();
  }
  return "nothing thrown";
}

// What a reader owes whatever the bytes are.
#pragma once
#include "core/error.hpp"
#include <stdexcept>
#include <string_view>

namespace trainx::fuzz {

/// A reader did what it must not.
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* promise) {
  if (!holds) throw Defect(promise);
}

/// Exit code 65, 66 or 78, and a sentence that a terminal can show: well-formed UTF-8 without
/// control characters, lines of bounded length.
void check_refusal(const UserError& error);

/// Runs `read`; whether it took the file. Refusals are checked, other exceptions pass through.
template <class Read>
bool accepted(Read&& read) {
  try {
    read();
    return true;
  } catch (const UserError& error) {
    check_refusal(error);
    return false;
  }
}

}  // namespace trainx::fuzz

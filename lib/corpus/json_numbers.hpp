// Lists of integers as JSON has them.
#pragma once
#include <charconv>
#include <cstdint>
#include <span>
#include <string>

namespace trainx::corpus {

inline void append_number(std::int64_t n, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}

template <class Integer>
void append_list(std::span<const Integer> numbers, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    append_number(numbers[i], out);
  }
  out += ']';
}

}  // namespace trainx::corpus

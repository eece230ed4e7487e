// Which ATen operators an export may call.
#pragma once
#include <string>
#include <string_view>

namespace trainx::exported {

/// Pure functions of tensors: they read and write no file, start nothing, change no input and draw
/// nothing, dropout excepted.
bool is_allowed(const std::string& name);

/// Of an operator that draws in training: the argument that decides, and what it is in evaluation.
struct Drawing {
  std::string_view argument;  // empty: it draws nothing
  bool is_probability = false;
};
Drawing drawing_of(const std::string& name);

}  // namespace trainx::exported

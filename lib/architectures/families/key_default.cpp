#include "architectures/families/class_keys.hpp"
#include <algorithm>

namespace trainx::architectures {

KeyDefault key_default(std::string_view model_type, std::string_view key) {
  const auto known = std::ranges::find(class_keys(), model_type, &ClassKeys::model_type);
  if (known == class_keys().end()) return KeyDefault::on;
  for (std::string_view left = known->keys; !left.empty();) {
    const std::size_t end = std::min(left.find(' '), left.size());
    std::string_view word = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    const bool is_on = word.starts_with('+');
    if (is_on) word.remove_prefix(1);
    if (word == key) return is_on ? KeyDefault::on : KeyDefault::off;
  }
  return KeyDefault::not_read;
}

}  // namespace trainx::architectures

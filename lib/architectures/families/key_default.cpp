#include "architectures/families/class_keys.hpp"
#include <algorithm>

namespace trainx::architectures {
namespace {

/// Of keys that a list of class_keys() has.
KeyDefault default_in(std::string_view keys, std::string_view key) {
  for (std::string_view left = keys; !left.empty();) {
    const std::size_t end = std::min(left.find(' '), left.size());
    std::string_view word = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    const bool is_on = word.starts_with('+');
    if (is_on) word.remove_prefix(1);
    if (word == key) return is_on ? KeyDefault::on : KeyDefault::off;
  }
  return KeyDefault::not_read;
}

const ClassKeys* keys_of(std::string_view model_type) {
  const auto found = std::ranges::find(class_keys(), model_type, &ClassKeys::model_type);
  return found == class_keys().end() ? nullptr : &*found;
}

}  // namespace

KeyDefault key_default(std::string_view model_type, std::string_view key) {
  if (const ClassKeys* every = keys_of(""); default_in(every->keys, key) != KeyDefault::not_read)
    return KeyDefault::not_read;
  const ClassKeys* known = model_type.empty() ? nullptr : keys_of(model_type);
  return known ? default_in(known->keys, key) : KeyDefault::on;
}

}  // namespace trainx::architectures

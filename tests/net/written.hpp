// The text of a value of any type: every member that is not as it begins, by name.
#pragma once
#include "tests/net/members.hpp"
#include "program/shared_vector.hpp"
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace net {

/// Twelve digits: the last ones of sines and powers differ between processors.
inline std::string written_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

inline std::string written_text(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_of(" ,{}[]=\n") == std::string_view::npos;
  return plain ? std::string(text) : "'" + std::string(text) + "'";
}

template <class E>
std::string written_enumerator(E value) {
  static constexpr auto names = names_of_enumerators<E>();
  const auto number = static_cast<std::size_t>(value);
  return number < names.size() && !names[number].empty() ? std::string(names[number])
                                                         : std::to_string(number);
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_optional<std::shared_ptr<T>> = true;
template <class T>
constexpr bool is_function = false;
template <class F>
constexpr bool is_function<std::function<F>> = true;
template <class T>
constexpr bool is_pair = false;
template <class A, class B>
constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
constexpr bool is_variant = false;
template <class... A>
constexpr bool is_variant<std::variant<A...>> = true;

template <class T>
std::string written(const T& value);

/// "name=value" of each member that differs from a new object's, after a space each; of a flag that
/// is set the name alone.
template <class T>
std::string written_members(const T& object) {
  static constexpr auto names = names_of_members<T>();
  const auto texts = [](const T& of) {
    return std::apply(
        [](const auto&... member) {
          return std::array<std::string, sizeof...(member)>{written(member)...};
        },
        members_of(of));
  };
  static const auto as_begun = texts(begun<T>.value);
  const auto now = texts(object);
  std::string out;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (now[k] != as_begun[k]) {
      out.append(out.empty() ? "" : " ").append(names[k]);
      if (now[k] != "true") out.append("=").append(now[k]);
    }
  return out;
}

template <class Range>
std::string written_range(const Range& all) {
  std::string out = "[";
  for (const auto& each : all) out.append(out.size() > 1 ? " " : "").append(written(each));
  return out + "]";
}

template <class T>
std::string written(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_enum_v<T>)
    return written_enumerator(value);
  else if constexpr (std::is_floating_point_v<T>)
    return written_number(value);
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else if constexpr (std::is_convertible_v<T, std::string_view>)
    return written_text(value);
  else if constexpr (is_optional<T>)
    return value ? written(*value) : "-";
  else if constexpr (is_function<T> || std::is_pointer_v<T>)
    return value ? "set" : "-";
  else if constexpr (is_pair<T>)
    return written(value.first) + ":" + written(value.second);
  else if constexpr (is_variant<T>)
    return std::visit([](const auto& one) { return written(one); }, value);
  else if constexpr (std::ranges::range<const T>)
    return written_range(value);
  else if constexpr (requires {
                       { name_of(value) } -> std::convertible_to<std::string>;
                     })
    return written_text(name_of(value));
  else
    return "{" + written_members(value) + "}";
}

}  // namespace net

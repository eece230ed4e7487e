// Members of plain structs with their names, so that what is written of them cannot leave one out:
// for structs without bases and constructors, of up to 40 members.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

namespace net {

/// Initializes a member of any type.
struct AnyValue {
  // NOLINTNEXTLINE(google-explicit-constructor)
  template <class T>
  constexpr operator T() const noexcept {
    return T{};
  }
};

constexpr std::size_t most_members = 40;

template <class T, class Numbers>
constexpr bool takes = false;
template <class T, std::size_t... n>
constexpr bool takes<T, std::index_sequence<n...>> = requires {
  T{((void)n, AnyValue{})...};
};

template <class T, std::size_t n = most_members + 1>
constexpr std::size_t member_count() {
  if constexpr (n == 0)
    return 0;
  else if constexpr (takes<T, std::make_index_sequence<n>>)
    return n;
  else
    return member_count<T, n - 1>();
}

// Names for structured bindings.
#define NET_NAMES_1(x) x##1
#define NET_NAMES_2(x) NET_NAMES_1(x), x##2
#define NET_NAMES_3(x) NET_NAMES_2(x), x##3
#define NET_NAMES_4(x) NET_NAMES_3(x), x##4
#define NET_NAMES_5(x) NET_NAMES_4(x), x##5
#define NET_NAMES_6(x) NET_NAMES_5(x), x##6
#define NET_NAMES_7(x) NET_NAMES_6(x), x##7
#define NET_NAMES_8(x) NET_NAMES_7(x), x##8
#define NET_BIND(count, ...)               \
  else if constexpr (members == (count)) { \
    auto& [__VA_ARGS__] = object;          \
    return std::tie(__VA_ARGS__);          \
  }
#define NET_BIND_8(first, ...)                                     \
  NET_BIND((first) + 1, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_1(z)) \
  NET_BIND((first) + 2, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_2(z)) \
  NET_BIND((first) + 3, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_3(z)) \
  NET_BIND((first) + 4, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_4(z)) \
  NET_BIND((first) + 5, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_5(z)) \
  NET_BIND((first) + 6, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_6(z)) \
  NET_BIND((first) + 7, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_7(z)) \
  NET_BIND((first) + 8, __VA_ARGS__ __VA_OPT__(, ) NET_NAMES_8(z))

/// References to all members, in their order.
template <class T>
constexpr auto members_of(T& object) {
  constexpr std::size_t members = member_count<std::remove_const_t<T>>();
  static_assert(members <= most_members, "a struct of more members than members.hpp binds");
  if constexpr (members == 0) return std::tuple<>();
  NET_BIND_8(0)
  NET_BIND_8(8, NET_NAMES_8(a))
  NET_BIND_8(16, NET_NAMES_8(a), NET_NAMES_8(b))
  NET_BIND_8(24, NET_NAMES_8(a), NET_NAMES_8(b), NET_NAMES_8(c))
  NET_BIND_8(32, NET_NAMES_8(a), NET_NAMES_8(b), NET_NAMES_8(c), NET_NAMES_8(d))
}

#undef NET_BIND_8
#undef NET_BIND
#undef NET_NAMES_1
#undef NET_NAMES_2
#undef NET_NAMES_3
#undef NET_NAMES_4
#undef NET_NAMES_5
#undef NET_NAMES_6
#undef NET_NAMES_7
#undef NET_NAMES_8

/// Each member with all others as they begin: what is left out of a text, and where names come
/// from.
template <class T>
struct Begun {
  T value{};
};
template <class T>
inline const Begun<T> begun{};

/// What GCC and clang write of a template's argument: "... = (& begun<T>.Begun<T>::value.T::name)"
/// of a member, "... = ns::Enum::name" of an enumerator.
template <auto what>
consteval std::string_view written_argument() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("what = ") + 7);
  text = text.substr(0, text.find_first_of(";]"));
  while (text.ends_with(')')) text.remove_suffix(1);
  return text;
}
consteval std::string_view last_name(std::string_view text) {
  return text.substr(text.find_last_of(":.") + 1);
}

/// Names of all members, in their order.
template <class T>
constexpr auto names_of_members() {
  return []<std::size_t... k>(std::index_sequence<k...>) {
    return std::array<std::string_view, sizeof...(k)>{
        last_name(written_argument<&std::get<k>(members_of(begun<T>.value))>())...};
  }
  (std::make_index_sequence<member_count<T>()>());
}

/// The enumerator's name; empty where the value is none of the type's.
template <class E, E value>
consteval std::string_view name_of_enumerator() {
  const std::string_view text = written_argument<value>();
  return text.find('(') == std::string_view::npos ? last_name(text) : std::string_view();
}

constexpr int most_enumerators = 64;

/// Names of a type's enumerators by value, from 0 on; gaps are empty.
template <class E>
constexpr auto names_of_enumerators() {
  return []<int... k>(std::integer_sequence<int, k...>) {
    return std::array<std::string_view, sizeof...(k)>{
        name_of_enumerator<E, static_cast<E>(k)>()...};
  }
  (std::make_integer_sequence<int, most_enumerators>());
}

}  // namespace net

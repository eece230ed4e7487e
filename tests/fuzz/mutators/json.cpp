#include "fuzz/mutators/json.hpp"
#include <algorithm>
#include <limits>
#include <utility>

namespace trainx::fuzz {
namespace {

constexpr std::size_t most_values = 4096;

bool is_deep(std::string_view text) {
  constexpr int deepest = 100;  // the library's printer calls itself for each level
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > deepest) return true;
  }
  return false;
}

Json new_value(Words words, Random& random) {
  switch (random.below(8)) {
    case 0: return nullptr;
    case 1: return random.one_in(2);
    case 2: return Json::array();
    case 3: return Json::object();
    case 4: return mutated_number(Json(0), random);
    case 5: return mutated_text("", words, random);
    default: return words.empty() ? Json("") : Json(random.pick(words));
  }
}

/// The element or member at `i` of a container.
Json& child(Json& container, std::size_t i) {
  return container.is_array()
             ? container[i]
             : std::next(container.begin(), static_cast<std::ptrdiff_t>(i)).value();
}

void remove_child(Json& container, std::size_t i) {
  if (container.is_array())
    container.erase(i);
  else
    container.erase(std::next(container.begin(), static_cast<std::ptrdiff_t>(i)));
}

std::string key_of(Json& container, std::size_t i) {
  return std::next(container.begin(), static_cast<std::ptrdiff_t>(i)).key();
}

void add_child(Json& container, Json value, Words words, Random& random) {
  if (container.is_array())
    container.insert(
        container.begin() + static_cast<std::ptrdiff_t>(random.below(container.size() + 1)),
        std::move(value));
  else
    container[mutated_text(
        container.empty() ? "" : key_of(container, random.below(container.size())), words,
        random)] = std::move(value);
}

void mutate_container(Json& container, Json& other, Words words, Random& random) {
  const std::size_t i = random.below(container.size());
  switch (container.empty() ? random.below(2) : random.below(7)) {
    case 0: return add_child(container, new_value(words, random), words, random);
    case 1: {
      Json taken = *random.pick(values_of(other));
      return add_child(container, std::move(taken), words, random);
    }
    case 2: return remove_child(container, i);
    case 3: {
      Json again = child(container, i);
      return add_child(container, std::move(again), words, random);
    }
    case 4: return std::swap(child(container, i), child(container, random.below(container.size())));
    case 5: {
      if (!container.is_object()) return remove_child(container, i);
      Json value = child(container, i);
      const std::string key = mutated_text(key_of(container, i), words, random);
      remove_child(container, i);
      container[key] = std::move(value);
      return;
    }
    default: {
      Json value = new_value(words, random);
      child(container, i) = std::move(value);
    }
  }
}

void mutate_value(Json& value, Json& other, Words words, Random& random) {
  if (random.one_in(8)) {
    Json taken = *random.pick(values_of(other));
    value = std::move(taken);
  } else if (value.is_structured()) {
    mutate_container(value, other, words, random);
  } else if (value.is_number() && !random.one_in(8)) {
    value = mutated_number(value, random);
  } else if (value.is_string() && !random.one_in(8)) {
    value = mutated_text(value.get<std::string>(), words, random);
  } else if (value.is_boolean() && !random.one_in(4)) {
    value = !value.get<bool>();
  } else {
    value = new_value(words, random);
  }
}

}  // namespace

std::optional<Json> parse_json(std::string_view text) {
  if (is_deep(text)) return std::nullopt;
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

std::string text_of(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<Json*> values_of(Json& document) {
  std::vector<Json*> values{&document};
  for (std::size_t i = 0; i < values.size() && values.size() < most_values; ++i)
    if (values[i]->is_structured())
      for (Json& inner : *values[i]) values.push_back(&inner);
  return values;
}

Json mutated_number(const Json& was, Random& random) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t edges[] = {0,
                                    1,
                                    -1,
                                    2,
                                    7,
                                    64,
                                    127,
                                    255,
                                    256,
                                    32767,
                                    65535,
                                    65536,
                                    100'000,
                                    1 << 30,
                                    -2,
                                    50257,
                                    1000,
                                    2147483647,
                                    -2147483648,
                                    4294967296,
                                    Limits::max(),
                                    Limits::min()};
  constexpr double reals[] = {0.0, -0.0, 0.5, 1e-12, 1.0, 1.5, -1e30, 1e300, 5e-324, 2147483648.0};
  const std::int64_t n = was.is_number_integer() ? was.get<std::int64_t>() : 0;
  const auto wrapped = [&](std::uint64_t by) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) + by);
  };
  switch (random.below(8)) {
    case 0: return wrapped(1);
    case 1: return wrapped(~std::uint64_t{0});
    case 2: return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) * 2);
    case 3: return n / 2;
    case 4: return random.pick(reals);
    case 5: return static_cast<double>(n) + 0.5;
    case 6: return std::numeric_limits<std::uint64_t>::max() - random.below(2);
    default: return random.pick(edges);
  }
}

std::string mutated_text(std::string text, Words words, Random& random) {
  constexpr std::string_view pieces[] = {
      "\u00e9", "\u4e2d", "\U0001f600", "e\u0301", " ", "\n", "\t", "\r\n", ":", "/", "..", "#",
      "${",     "}",      "\"",         "\\",      "<", ">",  "[",  "]",    "0", "-", "a",  "{}"};
  if (!words.empty() && random.one_in(3)) return std::string(random.pick(words));
  const std::size_t at = random.below(text.size() + 1);
  switch (random.below(6)) {
    case 0: return text.erase(at, 1 + random.below(4));
    case 1: return text + text;
    case 2: return text.substr(0, at);
    case 3: return text.insert(at, std::string(1 + random.below(40), 'a'));
    case 4:
      if (at < text.size()) text[at] = static_cast<char>(' ' + random.below(95));
      return text;
    default: return text.insert(at, random.pick(pieces));
  }
}

void mutate_json(Json& document, Json& other, Words words, Random& random) {
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes)
    mutate_value(*random.pick(values_of(document)), other, words, random);
}

}  // namespace trainx::fuzz

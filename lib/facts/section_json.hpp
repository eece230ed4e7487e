#pragma once
#include "facts/unread.hpp"
#include <nlohmann/json.hpp>

namespace trainx::facts {

using Json = nlohmann::ordered_json;

/// A field that is known; one that is not stands under "unread", with the reason.
template <class T>
void put(Json& section, const char* name, const std::optional<T>& value) {
  if (value) section[name] = *value;
}

inline void put_unread(Json& section, const Unread& unread) {
  if (!unread.empty()) section["unread"] = unread;
}

}  // namespace trainx::facts

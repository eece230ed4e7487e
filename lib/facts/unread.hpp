// Facts that could not be had: the field stays empty, and here is why.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace trainx::facts {

using Unread = std::map<std::string, std::string>;  // field -> reason

/// The text of a file, without white space at its end; empty, with the reason under `field`, where
/// it cannot be read.
std::optional<std::string> text_of(const std::string& path, const std::string& field,
                                   Unread& unread);
/// The whole number that the file begins with.
std::optional<std::int64_t> number_of(const std::string& path, const std::string& field,
                                      Unread& unread);

}  // namespace trainx::facts

// What str's methods and filters of texts share.
#pragma once
#include "jinja/budget.hpp"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::jinja {

/// str.split; without a separator at blanks. `most` < 0: all. `right`: from the end, as rsplit.
std::vector<std::string> split(std::string_view text, const std::string* separator,
                               std::int64_t most, bool right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
/// str.replace; `most` < 0: all.
std::string replace(Budget& budget, std::string_view text, std::string_view old,
                    std::string_view by, std::int64_t most);
std::int64_t count(std::string_view text, std::string_view part);
/// str.isupper or str.islower.
bool has_case(std::string_view text, bool upper);

}  // namespace trainx::jinja

// What a worker has of the user's own: models, optimizers, schedules. Known when the program runs.
#pragma once
#include "trainx/option_field.hpp"
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::options {

/// Letters, digits and `more`.
bool is_name(std::string_view s, std::string_view more);

/// What forbids a description of that kind ("optimizer"), as a sentence; empty: nothing. `names`:
/// those that are taken, to which this one's is added; `section`: keys beside the options.
std::string check_described(std::string_view kind, const std::string& name,
                            const std::vector<OptionField>& fields, std::set<std::string>& names,
                            const std::set<std::string>& section = {});

}  // namespace trainx::options

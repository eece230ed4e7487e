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

/// The same of all of a kind, each with `name` and `fields`. `taken`: names of trainx's own;
/// `check`: what else forbids one, as the end of a sentence that its kind and name begin.
template <class Own, class Check>
std::string check_all_described(std::string_view kind, const std::vector<Own>& all,
                                const std::vector<std::string>& taken,
                                const std::set<std::string>& section, Check check) {
  std::set<std::string> names(taken.begin(), taken.end());
  for (const Own& own : all) {
    if (std::string problem = check_described(kind, own.name, own.fields, names, section);
        !problem.empty())
      return problem;
    if (const std::string problem = check(own); !problem.empty())
      return std::string(kind) + " " + own.name + " " + problem;
  }
  return {};
}
template <class Own>
std::string check_all_described(std::string_view kind, const std::vector<Own>& all,
                                const std::vector<std::string>& taken,
                                const std::set<std::string>& section) {
  return check_all_described(kind, all, taken, section, [](const Own&) { return std::string(); });
}

}  // namespace trainx::options

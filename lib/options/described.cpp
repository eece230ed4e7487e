#include "options/described.hpp"
#include <algorithm>

namespace trainx::options {

bool is_name(std::string_view s, std::string_view more) {
  return !s.empty() && std::ranges::all_of(s, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  });
}

std::string check_described(std::string_view kind_of, const std::string& name,
                            const std::vector<OptionField>& fields, std::set<std::string>& names,
                            const std::set<std::string>& section) {
  const std::string kind(kind_of), who = kind + " " + name;
  if (!is_name(name, "_-."))
    return kind + " '" + name + "' needs a name of letters, digits, '_', '-' and '.'";
  if (!names.insert(name).second) return "there are two " + kind + "s '" + name + "'";
  std::set<std::string> keys;
  for (const OptionField& f : fields) {
    if (!keys.insert(f.key).second) return who + " has the option '" + f.key + "' twice";
    if (!is_name(f.key, "_"))
      return who + " has an option '" + f.key + "': keys are of letters, digits and '_'";
    if (section.contains(f.key))
      return who + " has an option '" + f.key + "', a key that every " + kind + " has";
  }
  return {};
}

}  // namespace trainx::options

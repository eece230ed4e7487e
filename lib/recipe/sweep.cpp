#include "recipe/sweep.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <set>

namespace trainx::recipe {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::usage, "sweep: " + sentence);
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// What a folder's name may hold: other characters become '_', quotes are left out.
std::string in_a_name(const std::string& value) {
  std::string name;
  for (const char c : value) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._+-").find(c) != std::string_view::npos;
    if (plain)
      name += c;
    else if (c != '"' && c != '\'')
      name += '_';
  }
  return name;
}

}  // namespace

SweptKey split_values(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  SweptKey swept{setting.substr(0, equals), {""}};
  char quote = 0;
  int open = 0;
  for (const char c : setting.substr(equals + 1)) {
    std::string& value = swept.values.back();
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if ((c == '"' || c == '\'') && (value.empty() || open > 0))
      quote = c;
    else if (c == '[' || c == '{')
      ++open;
    else if (c == ']' || c == '}')
      --open;
    else if (c == ',' && open <= 0) {
      swept.values.emplace_back();
      continue;
    }
    value += c;
  }
  return swept;
}

std::vector<SweepRun> sweep_runs(const std::vector<SweptKey>& keys, std::size_t most) {
  std::size_t count = 1;
  std::set<std::string> seen;
  for (const SweptKey& k : keys) {
    if (!seen.insert(k.key).second)
      refuse(k.key + " is given twice; write all values once: " + k.key + "=a,b,c");
    if (std::ranges::find(k.values, "") != k.values.end())
      refuse(k.key + " has an empty value; write " + k.key + "=a,b,c, or null for nothing");
    count *= k.values.size();
    if (count > most) refuse("more than " + std::to_string(most) + " runs; give fewer values");
  }
  std::vector<SweepRun> runs(1);
  for (const SweptKey& k : keys) {
    const auto same_word = [&](const SweptKey& o) { return last_word(o.key) == last_word(k.key); };
    const std::string word = std::ranges::count_if(keys, same_word) == 1 ? last_word(k.key) : k.key;
    std::vector<SweepRun> more;
    for (const SweepRun& run : runs)
      for (const std::string& value : k.values) {
        more.push_back(run);
        more.back().suffix += "-" + word + "-" + in_a_name(value);
        more.back().values.emplace_back(k.key, value);
      }
    runs = std::move(more);
  }
  std::set<std::string> names;
  for (const SweepRun& run : runs)
    if (!names.insert(run.suffix).second)
      refuse("two runs would be named " + run.suffix.substr(1) + "; give other values");
  return runs;
}

}  // namespace trainx::recipe

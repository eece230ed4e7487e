#include "launch/slurm_lists.hpp"
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

namespace trainx::launch {
namespace {

constexpr std::size_t most_hosts = 65536;

/// Digits alone; leading zeros are fine.
std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return n;
}

std::string padded(std::uint64_t n, std::size_t width) {
  const std::string digits = std::to_string(n);
  return std::string(digits.size() < width ? width - digits.size() : 0, '0') + digits;
}

/// Pieces between commas that stand outside of brackets; nothing where brackets do not match.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !inside)) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '[' || text[i] == ']') {
      if (inside == (text[i] == '[')) return {};
      inside = !inside;
    }
  }
  if (inside) pieces.clear();
  return pieces;
}

/// "01-03,07" -> 01 02 03 07
std::vector<std::string> expand_ranges(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view range : split_outside_brackets(text)) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash),
                           last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    const auto from = number(first), to = number(last);
    if (!from || !to || *from > *to || *to - *from >= most_hosts) return {};
    for (std::uint64_t n = *from; n <= *to; ++n) names.push_back(padded(n, first.size()));
    if (names.size() > most_hosts) return {};
  }
  return names;
}

/// "c[1-2]-[5-6]" -> c1-5 c1-6 c2-5 c2-6
std::vector<std::string> expand_host(std::string_view text) {
  std::vector<std::string> names{""};
  while (!text.empty()) {
    const bool bracket = text.front() == '[';
    const std::size_t end = bracket ? text.find(']') : std::min(text.find('['), text.size());
    const std::vector<std::string> parts =
        bracket ? expand_ranges(text.substr(1, end - 1))
                : std::vector<std::string>{std::string(text.substr(0, end))};
    if (parts.empty() || names.size() * parts.size() > most_hosts) return {};
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& part : parts) longer.push_back(name + part);
    names = std::move(longer);
    text.remove_prefix(bracket ? end + 1 : end);
  }
  if (names.front().empty()) return {};
  return names;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view item : split_outside_brackets(text)) {
    const auto names = expand_host(item);
    if (names.empty() || hosts.size() + names.size() > most_hosts) return {};
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  return hosts;
}

std::vector<int> expand_task_counts(std::string_view text) {
  std::vector<int> counts;
  for (const std::string_view item : split_outside_brackets(text)) {
    const std::size_t open = item.find("(x");
    const bool repeated = open != std::string_view::npos;
    if (repeated && item.back() != ')') return {};
    const auto tasks = number(item.substr(0, open));
    const auto times = repeated ? number(item.substr(open + 2, item.size() - open - 3))
                                : std::optional<std::uint64_t>(1);
    if (!tasks || !times || *tasks > most_hosts || *times == 0 ||
        counts.size() + *times > most_hosts)
      return {};
    counts.insert(counts.end(), *times, static_cast<int>(*tasks));
  }
  return counts;
}

}  // namespace trainx::launch

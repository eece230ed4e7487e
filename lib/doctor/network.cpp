#include "doctor/network.hpp"
#include "facts/lines.hpp"
#include <algorithm>
#include <cstdio>
#include <vector>

namespace trainx::doctor {
namespace {

constexpr std::size_t most_pairs = 28;  // of 8 hosts

using Row = std::vector<std::string>;

/// Columns as wide as their longest word, two blanks apart.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths.size() <= c) widths.push_back(0);
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// "1.25 GB/s", "910 us": three digits of a number, by the largest unit that it fills.
std::string with_unit(double x, const std::vector<std::pair<double, const char*>>& units) {
  const auto fits = std::ranges::find_if(units, [&](const auto& unit) { return x >= unit.first; });
  const auto& [size, name] = fits == units.end() ? units.back() : *fits;
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %s", x / size, name);
  return text;
}

std::string rate_with_unit(double bytes_per_second) {
  return with_unit(bytes_per_second, {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}});
}

std::string time_with_unit(double seconds) {
  return with_unit(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}});
}

std::string hosts_table(const NetworkRates& rates) {
  std::vector<Row> rows{{"host", "reached at", "interface", "ranks", "GPUs"}};
  if (rates.transport != "NCCL") rows.front().pop_back();
  for (const NetworkHost& h : rates.hosts) {
    rows.push_back({h.name, h.address, h.interface.empty() ? "not its own" : h.interface,
                    std::to_string(h.ranks)});
    if (rates.transport == "NCCL") rows.back().push_back(facts::joined(h.gpus));
  }
  return table(rows);
}

std::string pairs_table(const NetworkRates& rates) {
  std::vector<const HostPairRate*> there;
  for (const HostPairRate& p : rates.pairs)
    if (p.from < p.to) there.push_back(&p);
  const auto back = [&](const HostPairRate& p) {
    const auto found = std::ranges::find_if(rates.pairs, [&](const HostPairRate& other) {
      return other.from == p.to && other.to == p.from;
    });
    return found == rates.pairs.end() ? 0 : found->bytes_per_second;
  };
  const auto slower = [&](const HostPairRate* p) {
    return std::min(p->bytes_per_second, back(*p));
  };
  const std::size_t all = there.size();
  if (all > most_pairs) {
    std::ranges::stable_sort(there, {}, slower);
    there.resize(most_pairs);
  }
  const auto name = [&](int host) { return rates.hosts.at(static_cast<std::size_t>(host)).name; };
  std::vector<Row> rows{{"one TCP connection", "round trip", "there", "back"}};
  for (const HostPairRate* p : there)
    rows.push_back({name(p->from) + " - " + name(p->to), time_with_unit(p->round_trip_seconds),
                    rate_with_unit(p->bytes_per_second), rate_with_unit(back(*p))});
  return table(rows) +
         (all > there.size() ? "the slowest of " + std::to_string(all) + "; --json has all\n" : "");
}

std::string sums_table(const NetworkRates& rates) {
  std::vector<Row> rows{{"sums over " + rates.transport, "ranks", "each sends", "of a few bytes"}};
  const auto add = [&](const char* what, const NetworkSum& sum) {
    rows.push_back({what, std::to_string(sum.ranks), rate_with_unit(sum.bytes_per_second),
                    time_with_unit(sum.latency_seconds)});
  };
  add("all ranks", rates.all);
  if (rates.across) add("across hosts, all at once", *rates.across);
  if (rates.within) add("within hosts, all at once", *rates.within);
  return table(rows);
}

}  // namespace

std::string describe(const NetworkRates& rates) {
  return hosts_table(rates) + "\n" + pairs_table(rates) + "\n" + sums_table(rates) +
         (rates.nccl.empty() ? "" : rates.nccl + "\n") + "\n" +
         (rates.across ? "plans of runs on these hosts go by the sums across hosts\n"
                       : "plans guess: they need as many ranks on each host\n");
}

}  // namespace trainx::doctor

#include "doctor/binding.hpp"
#include <algorithm>

namespace trainx::doctor {

using namespace facts;

BindingFacts detect_binding(const Roots& roots, const GpusFacts& gpus) {
  std::vector<Gpu> shown;
  for (const GpuFacts& gpu : gpus.gpus)
    shown.push_back({.name = gpu.name, .address = gpu.address.value_or("")});
  BindingFacts facts{{}, visible_addresses(shown, gpus.visible)};
  const bool hidden = gpus.visible && (gpus.visible->empty() || *gpus.visible == "-1");
  if (hidden) shown.clear();
  const std::int64_t ranks =
      shown.empty() ? std::max<std::int64_t>(2, std::ssize(read_core_topology(roots, {}).nodes))
                    : std::max<std::int64_t>(1, std::ssize(facts.gpus));
  facts.binding = binding_of_host(ranks, shown, roots);
  return facts;
}

Json to_json(const BindingFacts& facts) {
  Json j{{"ranks", Json::array()}};
  for (std::size_t rank = 0; rank < facts.binding.of_rank.size(); ++rank) {
    j["ranks"].push_back({{"cores", to_list(facts.binding.of_rank[rank])}});
    if (rank < facts.gpus.size()) j["ranks"].back()["gpu"] = facts.gpus[rank];
  }
  if (!facts.binding.why_not.empty()) j["why_not"] = facts.binding.why_not;
  return j;
}

Lines describe(const BindingFacts& facts) {
  Lines lines;
  for (std::size_t rank = 0; rank < facts.binding.of_rank.size(); ++rank)
    lines.push_back("rank " + std::to_string(rank) + " is bound to cores " +
                    to_list(facts.binding.of_rank[rank]) +
                    (rank < facts.gpus.size() ? ", near GPU " + facts.gpus[rank] : ""));
  if (lines.empty()) lines.push_back("ranks are not bound to cores: " + facts.binding.why_not);
  return lines;
}

}  // namespace trainx::doctor

// What ranks send each other.
#include "core/units.hpp"
#include "plan/explain/exchanges.hpp"
#include "plan/explain/host_traffic.hpp"
#include "plan/explain/links.hpp"
#include "plan/explain/report_sections.hpp"
#include "recipe/value.hpp"

namespace trainx::plan {
namespace {

std::string ranks_heading(const RunPlan& plan) {
  const std::int64_t groups = plan.zero_stage() > 0 ? plan.mesh.row_ranks() / plan.mesh.shard : 1;
  return "between ranks, in a step (" + recipe::write_value(plan.mode) +
         (groups > 1 ? ", " + std::to_string(groups) + " groups of " +
                           std::to_string(plan.mesh.shard) + " ranks"
                     : "") +
         (plan.mesh.experts > 1 ? ", experts of " + std::to_string(plan.mesh.experts) + " ranks"
                                : "") +
         (plan.mesh.context > 1 ? ", rows of " + std::to_string(plan.mesh.context) + " ranks"
                                : std::string()) +
         (plan.mesh.tensor > 1 ? ", layers of " + std::to_string(plan.mesh.tensor) + " ranks"
                               : "") +
         ")";
}

}  // namespace

ReportSection ranks_section(const RunPlan& plan) {
  ReportSection s{ranks_heading(plan), {}};
  s.give("mode", recipe::write_value(plan.mode));
  if (plan.zero_stage() > 0) s.give("shard_ranks", plan.mesh.shard);
  if (plan.mesh.experts > 1) s.give("expert_ranks", plan.mesh.experts);
  if (plan.mesh.context > 1) s.give("context_ranks", plan.mesh.context);
  if (plan.mesh.tensor > 1) s.give("tensor_ranks", plan.mesh.tensor);
  const std::vector<Exchange> exchanges = exchanges_of(plan);
  const auto if_any = [&](const std::string& text) { return exchanges.empty() ? "" : text; };
  std::string text;
  auto all = nlohmann::json::array();
  for (const Exchange& e : exchanges) {
    text += row(e.name,
                human_bytes(e.bytes) +
                    (e.collectives > 1 ? " in " + std::to_string(e.collectives) + " pieces" : "") +
                    (plan.mode == recipe::ParallelMode::dp && plan.mesh.world > 2
                         ? ", for each of " + std::to_string(plan.mesh.world - 1) + " ranks"
                         : ""));
    all.push_back({{"name", e.name}, {"bytes", e.bytes}, {"collectives", e.collectives}});
  }
  if (!all.empty()) s.both("exchanges", all, text);
  if (const HostTraffic traffic = host_traffic(plan); traffic.hosts > 1)
    s.both(
        "host_traffic", to_json(traffic, plan.network),
        if_any(row("a host of " + std::to_string(traffic.hosts), describe(traffic, plan.network))));
  if (plan.assumed_link_bytes_per_s > 0)
    s.give("assumed_link_bytes_per_s", plan.assumed_link_bytes_per_s);
  if (plan.links) s.give("links", links_json(plan));
  if (const std::string links = describe_links(plan); !links.empty())
    s.tell(if_any(row("links", links)));
  return s;
}

}  // namespace trainx::plan

#include "plan/explain/links.hpp"
#include "core/units.hpp"
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

std::string rate_words(double bytes_per_s) {
  return human_bytes(static_cast<std::int64_t>(bytes_per_s)) + "/s";
}

std::string kind_words(const hardware::Links& links) {
  const std::string rate = " of " + rate_words(links.bytes_per_s);
  switch (links.kind) {
    case hardware::LinkKind::nvlink: return "NVLink" + rate;
    case hardware::LinkKind::pcie: return "PCI Express" + rate + " between the GPUs";
    case hardware::LinkKind::host: break;
  }
  return "the host's memory by PCI Express" + rate;
}

/// Collectives over such links were measured.
bool were_measured(const RunPlan& plan) {
  return plan.links->kind != hardware::LinkKind::pcie && !plan.rates_are_estimated;
}

}  // namespace

std::string describe_links(const RunPlan& plan) {
  if (plan.assumed_link_bytes_per_s > 0 && plan.links)
    return "not measured (trainx doctor measures this machine's): the time below takes " +
           rate_words(plan.assumed_link_bytes_per_s) + ", " +
           (were_measured(plan)
                ? "what sums have beside products over "
                : "a guess: the share of the data sheet that was measured elsewhere, "
                  "over ") +
           kind_words(*plan.links) + (plan.links_are_of_data_sheet ? " (--links says others)" : "");
  if (plan.rates && plan.rates->link_bytes_per_s <= 0)
    return "not measured (trainx doctor measures this machine's): the time below leaves them out";
  return "";
}

nlohmann::json links_json(const RunPlan& plan) {
  if (!plan.links || !plan.step_rates) return nullptr;
  return {{"kind", name_of(plan.links->kind)},
          {"bytes_per_s", plan.links->bytes_per_s},
          {"sum_bytes_per_s", plan.step_rates->link_bytes_per_s},
          {"copy_bytes_per_s", plan.step_rates->link_copy_bytes_per_s},
          {"of_data_sheet", plan.links_are_of_data_sheet}};
}

}  // namespace trainx::plan

#include "plan/step_rates.hpp"
#include "plan/precision.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

bool is_measured(const facts::NetworkFacts& network, std::int64_t hosts) {
  return network.bytes_per_s > 0 && hosts <= network.hosts;
}

}  // namespace

std::optional<program::Rates> rates_of(const hardware::Hardware& device, recipe::Compute compute) {
  const program::Rates& rates = size_of(dtype_of(compute)) == 2    ? device.bf16
                                : compute == recipe::Compute::tf32 ? device.tf32
                                                                   : device.fp32;
  return rates.gemm_flops_per_s > 0 ? std::optional(rates) : std::nullopt;
}

void use_measured_rates(program::Rates& rates, const facts::HardwareFacts& hardware,
                        std::int64_t world_size) {
  if (hardware.host_bytes_per_s > 0 && world_size == 1)
    rates.host_bytes_per_s = hardware.host_bytes_per_s;
  if (world_size != hardware.local_ranks) return;
  // all ranks update at once
  rates.host_update_bytes_per_s = hardware.host_update_bytes_per_s /
                                  static_cast<double>(hardware.local_ranks);
  if (hardware.link_bytes_per_s <= 0) return;
  rates.link_bytes_per_s = hardware.link_bytes_per_s;
  rates.link_latency_s = hardware.link_latency_s;
}

void predict_rates(Prediction& prediction, const Draft& plan, const hardware::Hardware* device,
                   const facts::NetworkFacts& measured,
                   const std::optional<hardware::Links>& links) {
  const std::int64_t ranks_per_host = prediction.ranks_per_host, world = plan.mesh.world;
  const bool knows_network = ranks_per_host > 0 && is_measured(measured, world / ranks_per_host);
  if (knows_network)
    prediction.network = {measured.bytes_per_s / static_cast<double>(ranks_per_host),
                          measured.latency_s, measured.hosts, measured.ranks_per_host};
  if (!device || !plan.rates) return;
  program::Rates rates = *plan.rates;
  if (knows_network && measured.link_bytes_per_s > 0) {
    rates.link_bytes_per_s = measured.link_bytes_per_s;
    rates.link_latency_s = measured.link_latency_s;
  }
  if (world > 1) {
    prediction.links = links.value_or(device->links.usual());
    prediction.links_are_of_data_sheet = !links;
  }
  const hardware::LinkRates of_links = prediction.links ? hardware::rates_of(*prediction.links)
                                                        : hardware::LinkRates{};
  rates.collectives = of_links.collectives;
  if (rates.link_bytes_per_s <= 0 && world > 1) {
    rates.link_bytes_per_s = prediction.assumed_link_bytes_per_s = of_links.sum_bytes_per_s;
    rates.link_latency_s = of_links.latency_s;
  }
  rates.ranks_per_host = ranks_per_host;
  if (ranks_per_host > 0) {
    if (!knows_network) prediction.network.bytes_per_s = device->network_bytes_per_s;
    rates.network_bytes_per_s = prediction.network.bytes_per_s;
    rates.network_latency_s = prediction.network.latency_s;
  } else if (of_links.sum_bytes_per_s > 0) {
    // slower links are so for both; of several hosts NCCL is counted where shards are copied, too
    rates.link_copy_bytes_per_s = std::min(1.0, rates.link_bytes_per_s / of_links.sum_bytes_per_s) *
                                  of_links.copy_bytes_per_s;
  }
  prediction.step_rates = rates;
}

}  // namespace trainx::plan

#include "plan/step_rates.hpp"
#include "support/catch.hpp"

namespace step_rates_test {

using namespace trainx;
using namespace trainx::plan;

namespace {

const hardware::Hardware h100 = hardware::hardware_named("h100");
const hardware::LinkRates nvlink = hardware::rates_of(h100.links.usual());

/// Of two hosts, unless `ranks_per_host` is 0.
Prediction predicted(std::int64_t ranks_per_host, const facts::NetworkFacts& measured,
                     double link_bytes_per_s = 0) {
  Draft plan;
  plan.mesh.world = 16;
  plan.rates = rates_of(h100, recipe::Compute::bf16);
  plan.rates->link_bytes_per_s = link_bytes_per_s;
  Prediction prediction;
  prediction.ranks_per_host = ranks_per_host;
  predict_rates(prediction, plan, &h100, measured);
  return prediction;
}

}  // namespace

TEST_CASE("a network that was not measured is a guess") {
  const Prediction p = predicted(8, {});
  CHECK(p.network.measured_hosts == 0);
  CHECK(p.network.bytes_per_s == h100.network_bytes_per_s);
  REQUIRE(p.step_rates);
  CHECK(p.step_rates->network_bytes_per_s == h100.network_bytes_per_s);
  CHECK(p.step_rates->network_latency_s == 0);
  CHECK(p.step_rates->ranks_per_host == 8);
  CHECK(p.assumed_link_bytes_per_s == nvlink.sum_bytes_per_s);
}

TEST_CASE("a measured network is shared out among a host's ranks, and brings its links along") {
  const facts::NetworkFacts measured{2, 8, 400e9, 3e-5, 2e11, 2e-5};
  const Prediction p = predicted(8, measured);
  CHECK(p.network.measured_hosts == 2);
  CHECK(p.network.measured_ranks_per_host == 8);
  CHECK(p.network.bytes_per_s == 50e9);
  REQUIRE(p.step_rates);
  CHECK(p.step_rates->network_bytes_per_s == 50e9);
  CHECK(p.step_rates->network_latency_s == 3e-5);
  CHECK(p.step_rates->link_bytes_per_s == 2e11);
  CHECK(p.step_rates->link_latency_s == 2e-5);
  CHECK(p.assumed_link_bytes_per_s == 0);
}

TEST_CASE("between more hosts than were measured the network is a guess") {
  const facts::NetworkFacts measured{2, 8, 400e9, 3e-5, 0, 0};
  CHECK(predicted(8, measured).network.measured_hosts == 2);
  const Prediction four = predicted(4, measured);
  CHECK(four.network.measured_hosts == 0);
  CHECK(four.network.bytes_per_s == h100.network_bytes_per_s);
}

TEST_CASE("on one host the network counts for nothing, and copies are as slow as the links") {
  const facts::NetworkFacts measured{2, 8, 400e9, 3e-5, 2e11, 2e-5};
  const Prediction p = predicted(0, measured, nvlink.sum_bytes_per_s / 2);
  CHECK(p.network.bytes_per_s == 0);
  REQUIRE(p.step_rates);
  CHECK(p.step_rates->network_bytes_per_s == 0);
  CHECK(p.step_rates->link_bytes_per_s == nvlink.sum_bytes_per_s / 2);
  CHECK(p.step_rates->link_copy_bytes_per_s == nvlink.copy_bytes_per_s / 2);
}

TEST_CASE("links that are told take the place of the data sheet's") {
  Draft plan;
  plan.mesh.world = 2;
  plan.rates = rates_of(h100, recipe::Compute::bf16);
  Prediction of_sheet, told;
  predict_rates(of_sheet, plan, &h100, {});
  predict_rates(told, plan, &h100, {}, hardware::Links{hardware::LinkKind::host, 63e9});
  CHECK(of_sheet.links_are_of_data_sheet);
  CHECK(of_sheet.links == h100.links.usual());
  CHECK_FALSE(told.links_are_of_data_sheet);
  CHECK(told.step_rates->link_bytes_per_s < of_sheet.step_rates->link_bytes_per_s);
  CHECK(of_sheet.step_rates->link_copy_bytes_per_s > 0);
  CHECK(told.step_rates->link_copy_bytes_per_s == 0);
  plan.mesh.world = 1;
  Prediction alone;
  predict_rates(alone, plan, &h100, {});
  CHECK_FALSE(alone.links);
  CHECK(alone.step_rates->collectives == program::CollectiveRates{});
}

TEST_CASE("without a device's rates the network is known if it was measured") {
  Draft plan;
  plan.mesh.world = 4;
  Prediction prediction;
  prediction.ranks_per_host = 2;
  predict_rates(prediction, plan, nullptr, {});
  CHECK(prediction.network.bytes_per_s == 0);
  predict_rates(prediction, plan, nullptr, {2, 2, 1e9, 1e-4, 0, 0});
  CHECK(prediction.network.bytes_per_s == 5e8);
  CHECK_FALSE(prediction.step_rates);
}

}  // namespace step_rates_test

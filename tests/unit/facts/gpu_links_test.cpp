// What NVML tells of ways between GPUs, as plans take it.
#include "facts/gpu_hardware.hpp"
#include "facts/gpus.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace gpu_links_test {

using namespace trainx::facts;
using trainx::hardware::LinkKind;

namespace {

constexpr double wire_of_nvlink4 = 26.5625e9;

HardwareFacts machine(std::size_t gpus, std::int64_t nvlinks, bool reach,
                      std::int64_t generation = 5, std::int64_t width = 16) {
  HardwareFacts facts;
  for (std::size_t i = 0; i < gpus; ++i) {
    Gpu gpu{.name = "GPU"};
    gpu.links = {generation, width, wire_of_nvlink4, std::vector<std::int64_t>(gpus, nvlinks),
                 std::vector<bool>(gpus, reach)};
    facts.gpus.push_back(gpu);
  }
  return facts;
}

bool is_near(double got, double want) { return std::abs(got / want - 1) < 0.01; }

}  // namespace

TEST_CASE("18 links of NVLink 4 are the data sheet's 450 GB/s") {
  const auto links = links_of(machine(8, 18, true), 8);
  REQUIRE(links);
  CHECK(links->kind == LinkKind::nvlink);
  CHECK(is_near(links->bytes_per_s, 450e9));
}

TEST_CASE("without NVLink it is PCIe, as narrow as the narrowest slot, or the host's memory") {
  const auto pcie = links_of(machine(2, 0, true), 2);
  REQUIRE(pcie);
  CHECK(pcie->kind == LinkKind::pcie);
  CHECK(is_near(pcie->bytes_per_s, 63e9));
  HardwareFacts narrow = machine(2, 0, false, 4);
  narrow.gpus[1].links.pcie_width = 8;
  const auto host = links_of(narrow, 2);
  REQUIRE(host);
  CHECK(host->kind == LinkKind::host);
  CHECK(is_near(host->bytes_per_s, 15.75e9));
}

TEST_CASE("NCCL_P2P_DISABLE takes NVLink away; a pair without NVLink slows the whole ring") {
  HardwareFacts off = machine(2, 18, true);
  off.peers_are_off = true;
  REQUIRE(links_of(off, 2));
  CHECK(links_of(off, 2)->kind == LinkKind::host);
  HardwareFacts pairs = machine(4, 4, true);
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(0, 3), std::pair(1, 2), std::pair(1, 3)}) {
    pairs.gpus[static_cast<std::size_t>(a)].links.nvlinks[static_cast<std::size_t>(b)] = 0;
    pairs.gpus[static_cast<std::size_t>(b)].links.nvlinks[static_cast<std::size_t>(a)] = 0;
  }
  CHECK(links_of(pairs, 2)->kind == LinkKind::nvlink);
  CHECK(links_of(pairs, 4)->kind == LinkKind::pcie);
}

TEST_CASE("what NVML does not tell is not known") {
  CHECK_FALSE(links_of(machine(2, 18, true), 1));
  CHECK_FALSE(links_of(machine(2, 18, true), 3));
  HardwareFacts untold = machine(2, 0, true);
  untold.gpus[0].links = {};
  CHECK_FALSE(links_of(untold, 2));
  CHECK_FALSE(links_of(machine(2, 0, true, 0), 2));
}

TEST_CASE("links are kept with the GPU; a list without them says nothing of them") {
  Gpu gpu = machine(2, 18, true).gpus[0];
  gpu.address = "0000:17:00.0";
  auto list = nlohmann::json::array({to_json(gpu)});
  REQUIRE(gpus_from_json(list));
  CHECK(gpus_from_json(list)->front() == gpu);
  list[0].erase("links");
  REQUIRE(gpus_from_json(list));
  CHECK(gpus_from_json(list)->front().links == GpuLinks{});
  list[0]["links"] = "many";
  REQUIRE(gpus_from_json(list));
  CHECK(gpus_from_json(list)->front().links == GpuLinks{});
}

}  // namespace gpu_links_test

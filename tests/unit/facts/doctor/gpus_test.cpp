#include "facts/doctor/gpus.hpp"
#include "../made_up_tree.hpp"
#include "support/catch.hpp"

namespace {

using namespace trainx;
using namespace trainx::facts;

/// Two GPUs of which nothing is wrong.
GpusFacts sound() {
  GpusFacts facts;
  facts.presence = {2, 2, true};
  facts.driver = "580.65.06";
  facts.cuda = 13000;
  facts.built_cuda = "13.0.88";
  GpuFacts gpu;
  gpu.name = "NVIDIA H200";
  gpu.performance_state = 0;
  gpu.clock_limits = {ClockLimit::power_limit};     // the rule under load
  gpu.compute_mode = "default";
  gpu.compute_capability = 90;
  gpu.pcie = {5, 5, 16, 16};
  gpu.nvlink = NvlinkFacts{18, 0, 26.562e9, 18, {}};
  facts.gpus = {gpu, gpu};
  facts.pairs = {{0, 1, 18, "between NUMA nodes", "ok"}};
  return facts;
}

Finding only(const GpusFacts& facts, const std::string& part) {
  const Findings found = findings_of(facts);
  REQUIRE(found.size() == 1);
  CAPTURE(found[0].problem, found[0].remedy);
  CHECK(found[0].problem.find(part) != std::string::npos);
  CHECK_FALSE(found[0].remedy.empty());
  return found[0];
}

}  // namespace

TEST_CASE("signs of a GPU: display controllers of NVIDIA, device files, the kernel's driver; its sound is none") {
  const MadeUpTree t;
  const Roots roots{t.root / "proc", t.root / "sys", t.root / "dev"};
  CHECK_FALSE(detect_gpu_presence(roots).any());
  t.write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
  t.write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n");
  t.write("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
  t.write("dev/nvidiactl", "");
  CHECK_FALSE(detect_gpu_presence(roots).any());
  t.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  CHECK(detect_gpu_presence(roots).signs() == "1 PCI device of NVIDIA");
  t.write("dev/nvidia0", "");
  t.write("proc/driver/nvidia/version", "x");
  CHECK(detect_gpu_presence(roots).signs() == "1 PCI device of NVIDIA, /dev/nvidia0, a loaded kernel driver");
}

TEST_CASE("no GPU is no finding; a GPU without a driver is an error") {
  GpusFacts facts;
  facts.driver_problem = "libnvidia-ml.so.1: cannot open shared object file";
  CHECK(findings_of(facts).empty());
  CHECK(describe(facts) == Lines{"none: trains on the CPU"});
  facts.presence.pci_devices = 1;
  CHECK(only(facts, "libnvidia-ml.so.1").weight == Finding::Weight::error);
}

TEST_CASE("sound GPUs have no findings") {
  const GpusFacts facts = sound();
  CHECK(findings_of(facts).empty());
  CHECK(facts.gpus[0].bf16() == true);
  CHECK(facts.gpus[0].fp8() == true);
  CHECK_FALSE(GpuFacts{}.bf16());
  const auto j = to_json(facts);
  CHECK(j["gpus"][1]["nvlink"]["active"] == 18);
  CHECK(j["pairs"][0]["peer_access"] == "ok");
  CHECK_FALSE(j["gpus"][0].contains("celsius"));
}

TEST_CASE("a driver that is too old, a build without CUDA, hidden or prohibited GPUs") {
  GpusFacts facts = sound();
  facts.cuda = 12080;
  CHECK(only(facts, "runs CUDA 12.8").weight == Finding::Weight::error);
  facts = sound();
  facts.built_cuda.clear();
  CHECK(only(facts, "without CUDA").weight == Finding::Weight::warning);
  facts = sound();
  facts.visible = "";
  only(facts, "CUDA_VISIBLE_DEVICES");
  facts = sound();
  facts.gpus[0].compute_mode = "prohibited";
  CHECK(findings_of(facts).empty());                // the other one computes
  facts.gpus[1].compute_mode = "prohibited";
  CHECK(only(facts, "prohibits").weight == Finding::Weight::error);
}

TEST_CASE("a PCIe link below its kind: narrow always, slow unless the GPU is idle") {
  GpusFacts facts = sound();
  facts.gpus[1].pcie.width = 8;
  only(facts, "GPU 1 (NVIDIA H200) runs at generation 5 x8 where it can do generation 5 x16");
  facts = sound();
  facts.gpus[0].pcie.generation = 1;
  only(facts, "generation 1 x16");
  facts.gpus[0].performance_state = 8;
  CHECK(findings_of(facts).empty());
  facts.gpus[0].pcie.most_width.reset();            // not told
  facts.gpus[0].pcie.width = 4;
  CHECK(findings_of(facts).empty());
}

TEST_CASE("clocks held down by heat, power or a user; errors of memory; others' processes; slices") {
  GpusFacts facts = sound();
  facts.gpus[0].clock_limits = {ClockLimit::hardware_temperature};
  facts.gpus[0].celsius = 91;
  only(facts, "hardware temperature (91 degrees Celsius)");
  facts.gpus[0].clock_limits = {ClockLimit::application_clocks};
  CHECK(only(facts, "clocks set by a user").remedy.find("-rac") != std::string::npos);
  facts = sound();
  facts.gpus[0].ecc_corrected = 7;
  CHECK(findings_of(facts).empty());
  facts.gpus[0].ecc_uncorrected = 1;
  only(facts, "1 memory error that");
  facts = sound();
  facts.gpus[0].row_remap_pending = true;
  only(facts, "waits for a reset");
  facts.gpus[0].row_remap_failed = true;
  only(facts, "no spare memory rows");
  facts = sound();
  facts.gpus[1].processes = {{42, "python", std::int64_t{1} << 30}, {43, "", std::nullopt}};
  only(facts, "processes 42 (python) with 1.0 GiB, 43");
  facts = sound();
  facts.gpus[0].mig = true;
  only(facts, "slices (MIG)");
}

TEST_CASE("between GPUs: fewer links than their like, no peer access, kinds that differ") {
  GpusFacts facts = sound();
  facts.gpus[0].nvlink->active = 17;
  facts.gpus[0].nvlink->inactive = 1;
  only(facts, "17 active NVLinks, others of its kind have 18");
  facts = sound();
  facts.pairs[0].peer_access = "not with this chipset";
  only(facts, "cannot reach each other's memory");
  facts.pairs[0].peer_access = "not with these GPUs";     // their kind
  CHECK(findings_of(facts).empty());
  facts = sound();
  facts.gpus[1].name = "NVIDIA L4";
  only(facts, "NVIDIA H200, NVIDIA L4");
}

TEST_CASE("bits of clock reasons: a slowdown of the hardware is named by its cause where that is told") {
  CHECK(clock_limits_of(0x1).empty());              // idle
  CHECK(clock_limits_of(0x4 | 0x20) == std::vector{ClockLimit::power_limit, ClockLimit::temperature});
  CHECK(clock_limits_of(0x8) == std::vector{ClockLimit::hardware_slowdown});
  CHECK(clock_limits_of(0x8 | 0x40) == std::vector{ClockLimit::hardware_temperature});
}

#include "doctor/gpus.hpp"
#include "facts/links.hpp"
#include "support/made_up_tree.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace gpus_test {

namespace {

using namespace trainx;
using namespace trainx::facts;
using namespace trainx::doctor;

/// Two GPUs of which nothing is wrong.
GpusFacts sound() {
  GpusFacts facts;
  facts.presence = {2, 2, true};
  facts.driver = "580.65.06";
  facts.cuda = 13000;
  facts.built_cuda = "13.0.88";
  facts.built_architectures = "90-real";
  GpuFacts gpu;
  gpu.name = "NVIDIA H200";
  gpu.performance_state = 0;
  gpu.clock_limits = {ClockLimit::power_limit};  // the rule under load
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

LinkRates good_links() {
  return {{{"0000:17:00.0", 55e9, 54e9}, {"0000:b3:00.0", 55e9, 53e9}},
          {{"0000:17:00.0", "0000:b3:00.0", 40e9, 390e9, 9e-6},
           {"0000:b3:00.0", "0000:17:00.0", 41e9, 389e9, 9e-6}},
          SumRate{2, 300e9, 14e-6},
          ""};
}

/// The same two with addresses, so that rates find them.
GpusFacts measured() {
  GpusFacts facts = sound();
  facts.gpus[0].address = "0000:17:00.0", facts.gpus[1].address = "0000:b3:00.0";
  facts.links = good_links();
  return facts;
}

}  // namespace

TEST_CASE("a GPU that the kernels were not compiled for is an error, one of its kind") {
  GpusFacts facts = sound();
  for (GpuFacts& gpu : facts.gpus) gpu.name = "NVIDIA A100", gpu.compute_capability = 80;
  CHECK(only(facts, "8.0").weight == Finding::Weight::error);
  facts.built_architectures = "80-real,90-real";
  CHECK(findings_of(facts).empty());
  facts.built_architectures.clear();  // of the CPU alone: another finding says so
  CHECK(findings_of(facts).empty());
}

TEST_CASE(
    "measured links come back from JSON as they were, and are remembered for this host's GPUs "
    "alone") {
  LinkRates rates = good_links();
  rates.pairs[1].direct_bytes_per_second.reset();
  const auto json = to_json(rates);
  CHECK(to_json(link_rates_from_json(json)) == json);
  rates.sum.reset(), rates.sum_problem = "no NCCL";
  CHECK(link_rates_from_json(to_json(rates)).sum_problem == "no NCCL");
  CHECK_THROWS_AS(link_rates_from_json(Json::parse("{\"hosts\": [3]}")), Json::exception);

  const MadeUpTree t;
  ::setenv("XDG_CACHE_HOME", t.root.c_str(), 1);
  CHECK_FALSE(remembered_links({"NVIDIA H200"}));
  remember_links(rates, {"NVIDIA H200"});
  CHECK(to_json(*remembered_links({"NVIDIA H200"})) == to_json(rates));
  CHECK_FALSE(remembered_links({"NVIDIA H200", "NVIDIA H200"}));
  t.write("trainx/links.json", "{\"state\": 3");
  CHECK_FALSE(remembered_links({"NVIDIA H200"}));
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("links far below their kind are named, good ones are not") {
  GpusFacts facts = measured();
  CHECK(findings_of(facts).empty());
  facts.links->pairs[1].direct_bytes_per_second = 150e9;
  only(facts,
       "copies from GPU 1 (NVIDIA H200) to GPU 0 (NVIDIA H200) reach 150 GB/s of the 478 GB/s that "
       "18 NVLinks have");
  // no peer access: what goes through the host counts
  facts.links->pairs[1].direct_bytes_per_second.reset();
  only(facts, "reach 41 GB/s of the 478 GB/s");
  facts = measured();
  facts.links->hosts[0].to_host_bytes_per_second = 12e9;
  only(facts,
       "copies between the host and GPU 0 (NVIDIA H200) reach 12 GB/s of the 63 GB/s that PCIe 5 "
       "x16 has");
  facts.gpus[0].address.reset();  // whose rate it is cannot be told
  CHECK(findings_of(facts).empty());
}

TEST_CASE("measured links stand beside what is reported") {
  GpusFacts facts = measured();
  std::string text;
  for (const std::string& line : describe(facts)) text += line + "\n";
  check_sentence("doctor.measured/host", line_with(text, " 53 GB/s"));
  check_sentence("doctor.measured/pair", line_with(text, " 390 GB/s"));
  check_sentence("doctor.measured/sums", line_with(text, " 300 GB/s"));
  CHECK(to_json(facts)["links"]["sum"]["gpus"] == 2);
}

TEST_CASE(
    "signs of a GPU: display controllers of NVIDIA, device files, the kernel's driver; its sound "
    "is none") {
  const MadeUpTree t;
  const Roots roots{t.root / "proc", t.root / "sys", t.root / "dev"};
  CHECK_FALSE(detect_gpu_presence(roots).any());
  t.write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
  t.write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n");
  t.write("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
  t.write("dev/nvidiactl", "");
  t.write("dev/nvidia-nvswitch0", "");
  CHECK_FALSE(detect_gpu_presence(roots).any());
  t.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  CHECK(detect_gpu_presence(roots).signs() == "1 PCI device of NVIDIA");
  t.write("dev/nvidia0", "");
  t.write("proc/driver/nvidia/version", "x");
  CHECK(detect_gpu_presence(roots).signs().find("/dev/nvidia0") != std::string::npos);
  check_sentence("doctor.signs_of_a_gpu", detect_gpu_presence(roots).signs());
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
  CHECK(findings_of(facts).empty());  // the other one computes
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
  facts.gpus[0].pcie.most_width.reset();  // not told
  facts.gpus[0].pcie.width = 4;
  CHECK(findings_of(facts).empty());
}

TEST_CASE(
    "clocks held down by heat, power or a user; errors of memory; others' processes; slices") {
  GpusFacts facts = sound();
  facts.gpus[0].clock_limits = {ClockLimit::hardware_temperature};
  facts.gpus[0].celsius = 91;
  only(facts, "hardware temperature (91 degrees Celsius)");
  facts.gpus[0].clock_limits = {ClockLimit::application_clocks};
  CHECK(only(facts, "clocks set by a user").remedy.find("-rac") != std::string::npos);
  facts = sound();
  facts.gpus[0].memory_errors.corrected = 7;
  CHECK(findings_of(facts).empty());
  facts.gpus[0].memory_errors.uncorrected = 1;
  only(facts, "1 memory error that");
  facts = sound();
  facts.gpus[0].memory_errors.row_remap_pending = true;
  only(facts, "waits for a reset");
  facts.gpus[0].memory_errors.row_remap_failed = true;
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
  facts.pairs[0].peer_access = "not with these GPUs";  // their kind
  CHECK(findings_of(facts).empty());
  facts = sound();
  facts.gpus[1].name = "NVIDIA L4";
  only(facts, "NVIDIA H200, NVIDIA L4");
}

TEST_CASE(
    "bits of clock reasons: a slowdown of the hardware is named by its cause where that is told") {
  CHECK(clock_limits_of(0x1).empty());  // idle
  CHECK(clock_limits_of(0x4 | 0x20) ==
        std::vector{ClockLimit::power_limit, ClockLimit::temperature});
  CHECK(clock_limits_of(0x8) == std::vector{ClockLimit::hardware_slowdown});
  CHECK(clock_limits_of(0x8 | 0x40) == std::vector{ClockLimit::hardware_temperature});
}

}  // namespace gpus_test

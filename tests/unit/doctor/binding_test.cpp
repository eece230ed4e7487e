#include "doctor/binding.hpp"
#include "support/catch.hpp"
#include "support/made_up_tree.hpp"
#include <cstdlib>

namespace binding_test {

using namespace trainx::doctor;

namespace {

/// Two NUMA nodes of four cores, with a GPU near each.
struct TwoNodes : trainx::facts::MadeUpTree {
  TwoNodes() {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
    write("sys/devices/system/cpu/online", "0-7\n");
    write("sys/devices/system/node/node0/cpulist", "0-3\n");
    write("sys/devices/system/node/node1/cpulist", "4-7\n");
    write("sys/bus/pci/devices/0000:17:00.0/local_cpulist", "4-7\n");
    write("sys/bus/pci/devices/0000:b3:00.0/local_cpulist", "0-3\n");
  }
  Roots roots() const { return {root / "proc", root / "sys", root / "dev"}; }
};

GpusFacts two_gpus() {
  GpusFacts gpus;
  gpus.gpus.resize(2);
  gpus.gpus[0].name = gpus.gpus[1].name = "A GPU";
  gpus.gpus[0].address = "0000:17:00.0", gpus.gpus[1].address = "0000:b3:00.0";
  return gpus;
}

}  // namespace

TEST_CASE("the binding of a rank for each GPU, or without GPUs for each node") {
  const TwoNodes t;
  const Json gpus = to_json(detect_binding(t.roots(), two_gpus())),
             cpus = to_json(detect_binding(t.roots(), {}));
  CHECK(gpus == Json::parse(R"({"ranks": [{"cores": "4-7", "gpu": "0000:17:00.0"},
                                          {"cores": "0-3", "gpu": "0000:b3:00.0"}]})"));
  CHECK(cpus == Json::parse(R"({"ranks": [{"cores": "0-3"}, {"cores": "4-7"}]})"));
  CHECK(describe(detect_binding(t.roots(), two_gpus())).size() == 2);
}

TEST_CASE("one GPU, or hidden ones, and why ranks are not bound") {
  const TwoNodes t;
  GpusFacts gpus = two_gpus();
  gpus.visible = "";
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CHECK(to_json(detect_binding(t.roots(), gpus)).at("ranks").at(0).at("cores") == "0-3");
  gpus.visible = "1";
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const BindingFacts one = detect_binding(t.roots(), gpus);
  CHECK(one.binding.of_rank.empty());
  CHECK(to_json(one).at("ranks").empty());
  CHECK(to_json(one).at("why_not").get<std::string>().find("one rank") != std::string::npos);
  REQUIRE(describe(one).size() == 1);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace binding_test

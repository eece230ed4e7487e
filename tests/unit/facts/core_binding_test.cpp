#include "facts/core_binding.hpp"
#include "support/catch.hpp"
#include "support/made_up_tree.hpp"
#include <algorithm>
#include <cstdlib>
#include <set>

namespace core_binding_test {

using namespace trainx::facts;

namespace {

using Gpus = std::vector<std::string>;

Cores range(int first, int end) {
  Cores cores;
  for (int core = first; core < end; ++core) cores.push_back(core);
  return cores;
}

/// Below `root`: what a kernel tells of cores, nodes and GPUs.
struct Machine : MadeUpTree {
  Roots roots() const { return {root / "proc", root / "sys", root / "dev"}; }
  void node(int number, const std::string& cores) const {
    write("sys/devices/system/node/node" + std::to_string(number) + "/cpulist", cores + "\n");
  }
  void online(const std::string& cores) const {
    write("sys/devices/system/cpu/online", cores + "\n");
    allowed(cores);
  }
  void allowed(const std::string& cores) const {
    write("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cores + "\n");
  }
  std::string gpu(int number, const std::string& near) const {
    const std::string address = "0000:" + std::to_string(10 + number) + ":00.0";
    write("sys/bus/pci/devices/" + address + "/local_cpulist", near + "\n");
    return address;
  }
  /// Cores k and k + cores are threads of one.
  void two_threads(int cores) const {
    for (int core = 0; core < 2 * cores; ++core)
      write("sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list",
            std::to_string(core % cores) + "," + std::to_string(core % cores + cores) + "\n");
  }
  CoreBinding bind(std::int64_t ranks, const Gpus& gpus = {}) const {
    return bind_ranks(read_core_topology(roots(), gpus), allowed_cores(roots()), ranks, gpus);
  }
};

/// Two nodes of 16 cores, each core with two threads.
struct TwoNodes : Machine {
  TwoNodes() {
    online("0-63");
    node(0, "0-15,32-47");
    node(1, "16-31,48-63");
    two_threads(32);
  }
};

void require_unbound(const CoreBinding& binding, const std::string& part) {
  CAPTURE(binding.why_not);
  CHECK(binding.of_rank.empty());
  CHECK(binding.why_not.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("lists of cores are read as the kernel writes them, and written so") {
  CHECK(cores_in_list("0-3,8") == Cores{0, 1, 2, 3, 8});
  CHECK(cores_in_list("7") == Cores{7});
  for (const char* wrong : {"", "x", "3-1", "-1", "1-", "0-99999999"})
    CHECK(cores_in_list(wrong).empty());
  CHECK(to_list({8, 0, 1, 3, 2}) == "0-3,8");
  CHECK(to_list({5}) == "5");
  CHECK(to_list({}).empty());
}

TEST_CASE("two nodes of four GPUs each: a quarter of the near node for each rank, whole cores") {
  const TwoNodes machine;
  Gpus gpus;
  for (int k = 0; k < 8; ++k) gpus.push_back(machine.gpu(k, k < 4 ? "0-15,32-47" : "16-31,48-63"));
  const CoreBinding binding = machine.bind(8, gpus);
  REQUIRE(binding.of_rank.size() == 8);
  CHECK(binding.why_not.empty());
  std::set<int> taken;
  for (int rank = 0; rank < 8; ++rank) {
    const Cores& cores = binding.of_rank[static_cast<std::size_t>(rank)];
    CAPTURE(rank, to_list(cores));
    CHECK(cores.size() == 8);
    for (const int core : cores) {
      CHECK(core % 32 / 16 == rank / 4);
      CHECK(taken.insert(core).second);
      // both threads of a core
      CHECK(std::ranges::find(cores, (core + 32) % 64) != cores.end());
    }
  }
  CHECK(to_list(binding.of_rank[0]) == "0-3,32-35");
}

TEST_CASE("ranks go to the cores near their own GPUs, in whatever order these are") {
  const TwoNodes machine;
  const Gpus gpus{machine.gpu(1, "16-31,48-63"), machine.gpu(0, "0-15,32-47")};
  const CoreBinding binding = machine.bind(2, gpus);
  REQUIRE(binding.of_rank.size() == 2);
  CHECK(to_list(binding.of_rank[0]) == "16-31,48-63");
  CHECK(to_list(binding.of_rank[1]) == "0-15,32-47");
}

TEST_CASE("GPUs on one of two nodes leave ranks unbound: they would have half of their share") {
  const TwoNodes machine;
  Gpus gpus;
  for (int k = 0; k < 8; ++k) gpus.push_back(machine.gpu(k, "0-15,32-47"));
  require_unbound(machine.bind(8, gpus), "share");
  gpus.resize(3);
  gpus[2] = machine.gpu(2, "16-31,48-63");
  require_unbound(machine.bind(3, gpus), "share");
}

TEST_CASE("GPUs whose near cores are not told, or are all, leave ranks unbound") {
  const TwoNodes machine;
  require_unbound(machine.bind(2, {machine.gpu(0, "0-63"), machine.gpu(1, "0-63")}), "near GPU");
  require_unbound(machine.bind(2, {machine.gpu(0, "0-15,32-47"), "0000:99:00.0"}), "0000:99:00.0");
  // one that is near all beside one that is not
  require_unbound(machine.bind(2, {machine.gpu(0, "0-15,32-47"), machine.gpu(1, "0-63")}), "near");
  // sets that overlap: a rank would have less than its share
  require_unbound(machine.bind(2, {machine.gpu(0, "0-31"), machine.gpu(1, "0-15,32-47")}), "share");
}

TEST_CASE("on CPUs ranks get whole nodes, which those of one node share") {
  const TwoNodes machine;
  CHECK(machine.bind(2).of_rank ==
        std::vector<Cores>{cores_in_list("0-15,32-47"), cores_in_list("16-31,48-63")});
  const CoreBinding four = machine.bind(4);
  REQUIRE(four.of_rank.size() == 4);
  CHECK(four.of_rank[0] == four.of_rank[1]);
  CHECK(four.of_rank[2] == four.of_rank[3]);
  CHECK(to_list(four.of_rank[2]) == "16-31,48-63");
  require_unbound(machine.bind(3), "divide");
  require_unbound(machine.bind(1), "one rank");
}

TEST_CASE("fewer ranks than nodes get neighbouring nodes; nodes without cores are none") {
  const Machine machine;
  machine.online("0-7");
  for (int k = 0; k < 4; ++k)
    machine.node(k, std::to_string(2 * k) + "-" + std::to_string(2 * k + 1));
  machine.node(9, "");  // memory alone
  CHECK(machine.bind(2).of_rank == std::vector<Cores>{range(0, 4), range(4, 8)});
  CHECK(machine.bind(8).of_rank[5] == range(4, 6));
  require_unbound(machine.bind(6), "divide");
}

TEST_CASE("nodes of different sizes leave ranks unbound") {
  const Machine machine;
  machine.online("0-5");
  machine.node(0, "0-3");
  machine.node(1, "4-5");
  require_unbound(machine.bind(2), "share");
}

TEST_CASE("whoever has narrowed the cores has bound the ranks") {
  const TwoNodes machine;
  machine.allowed("0-15,32-47");
  require_unbound(machine.bind(2), "32 of 64");
  machine.allowed("");
  require_unbound(machine.bind(2), "0 of 64");
}

TEST_CASE("one node leaves ranks unbound") {
  const Machine one;
  one.online("0-7");
  one.node(0, "0-7");
  require_unbound(one.bind(2), "one NUMA node");
  require_unbound(one.bind(2, {one.gpu(0, "0-7"), one.gpu(1, "0-7")}), "one NUMA node");
}

TEST_CASE("a kernel that tells nothing leaves ranks unbound") {
  const Machine none;
  require_unbound(none.bind(2), "nothing");
  none.write("sys/devices/system/cpu/online", "many\n");
  require_unbound(none.bind(2), "nothing");
}

TEST_CASE("GPUs are those that CUDA shows, where it is known which these are") {
  const auto gpu = [](const char* name, const char* address) {
    return Gpu{.name = name, .address = address};
  };
  const std::vector<Gpu> gpus{gpu("A", "0000:01:00.0"), gpu("A", "0000:02:00.0")};
  CHECK(visible_addresses(gpus, std::nullopt) == Gpus{"0000:01:00.0", "0000:02:00.0"});
  CHECK(visible_addresses(gpus, "1") == Gpus{"0000:02:00.0"});
  CHECK(visible_addresses(gpus, "1,0") == Gpus{"0000:02:00.0", "0000:01:00.0"});
  for (const char* unknown : {"", "GPU-8f2c", "0,2", "0,x"})
    CHECK(visible_addresses(gpus, unknown).empty());
  CHECK(visible_addresses({gpu("A", "0000:01:00.0"), gpu("B", "0000:02:00.0")}, std::nullopt)
            .empty());
  CHECK(visible_addresses({gpu("A", "")}, std::nullopt).empty());
  CHECK(visible_addresses({}, "0").empty());
}

TEST_CASE("threads that OpenMP's variables bind stay with them") {
  const TwoNodes machine;
  CHECK(binding_of_host(2, {}, machine.roots()).of_rank.size() == 2);
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    ::setenv(name, "1", 1);
    require_unbound(binding_of_host(2, {}, machine.roots()), name);
    ::unsetenv(name);
  }
  require_unbound(binding_of_host(2, {Gpu{.name = "A"}, Gpu{.name = "B"}}, machine.roots()),
                  "which GPU");
}

}  // namespace core_binding_test

#include "doctor/report.hpp"
#include "support/made_up_tree.hpp"
#include "support/catch.hpp"
#include <sys/stat.h>

namespace machine_test {

namespace {

using namespace trainx::facts;
using namespace trainx::doctor;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

struct Tree : MadeUpTree {
  Roots roots() const { return {root / "proc", root / "sys", root / "dev"}; }
};

/// One finding whose problem has `part`, or a failure.
Finding only(const Findings& found, const std::string& part) {
  REQUIRE(found.size() == 1);
  CAPTURE(found[0].problem, found[0].remedy);
  CHECK(found[0].problem.find(part) != std::string::npos);
  CHECK_FALSE(found[0].remedy.empty());
  return found[0];
}

}  // namespace

TEST_CASE("lists of the kernel are counted") {
  CHECK(count_in_list("0-3,8") == 5);
  CHECK(count_in_list("0") == 1);
  CHECK(count_in_list("0-1\n") == 2);
  for (const char* wrong : {"", "x", "3-1", ","}) CHECK_FALSE(count_in_list(wrong));
}

TEST_CASE("a CPU: cores by affinity and quota, nodes, instruction sets by whole words") {
  const Tree t;
  t.write(
      "proc/cpuinfo",
      "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512f avx512_bf16x\n\n");
  t.write("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
  t.write("proc/self/cgroup", "0::/\n");
  t.write("proc/loadavg", "0.50 0.40 0.30 1/100 7\n");
  t.write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  t.write("sys/devices/system/cpu/present", "0-15\n");
  t.write("sys/devices/system/node/node0/x", "");
  t.write("sys/devices/system/node/node1/x", "");
  t.write("sys/devices/system/node/has_cpu", "0-1\n");
  const CpuFacts facts = detect_cpu(t.roots());
  CHECK(facts.model == "A CPU @ 2 GHz");
  CHECK(facts.cores_installed == 16);
  CHECK(facts.cores_by_affinity == 8);
  CHECK(facts.cores_by_quota == 2.5);
  CHECK(facts.cores_usable() == 3);
  CHECK(facts.numa_nodes == 2);
  CHECK(facts.load == 0.5);
  CHECK(facts.instruction_sets == std::vector<std::string>{"AVX2", "AVX-512"});
  CHECK(facts.unread.empty());
  CHECK(findings_of(facts).empty());
}

TEST_CASE("what cannot be read is left out, with the reason") {
  const Tree t;
  const CpuFacts facts = detect_cpu(t.roots());
  CHECK_FALSE(facts.model);
  CHECK_FALSE(facts.cores_usable());
  CHECK(facts.unread.at("model").find("proc/cpuinfo") != std::string::npos);
  CHECK(facts.unread.contains("load"));
  const auto j = to_json(facts);
  CHECK_FALSE(j.contains("model"));
  CHECK(j["unread"].contains("numa_nodes"));
  CHECK(findings_of(facts).empty());
  CHECK(detect_memory(t.roots()).unread.contains("installed_bytes"));
}

TEST_CASE("findings of a CPU: no AVX2, load, a part of a core") {
  CpuFacts facts;
  facts.x86 = true;
  only(findings_of(facts), "AVX2");
  facts.instruction_sets = {"AVX2"};
  facts.cores_installed = 4;
  facts.load = 6;
  CHECK(findings_of(facts).empty());
  facts.load = 6.1;
  only(findings_of(facts), "load is 6.1 on 4 cores");
  facts.load = 0;
  facts.cores_by_quota = 0.5;
  only(findings_of(facts), "0.5 of a core");
}

TEST_CASE("memory: what is free below the cgroup's limit") {
  const Tree t;
  t.write("proc/meminfo",
          "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:   6291456 kB\n");
  CHECK(detect_memory(t.roots()).free_bytes == 6144 * mebibyte);
  CHECK(findings_of(detect_memory(t.roots())).empty());
  t.write("proc/self/cgroup", "4:memory:/\n");
  t.write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2048 * mebibyte));
  t.write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(1024 * mebibyte));
  const MemoryFacts facts = detect_memory(t.roots());
  CHECK(facts.installed_bytes == 8192 * mebibyte);
  CHECK(facts.free_bytes == 1024 * mebibyte);
  CHECK(only(findings_of(facts), "cgroup's limit").remedy.find("--memory") != std::string::npos);
}

TEST_CASE("limits: those of /proc, unlimited ones, and what is left of threads") {
  const Tree t;
  t.write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max open files            512                  524288               files     \n"
          "Max locked memory         unlimited            unlimited            bytes     \n");
  t.write("proc/self/cgroup", "0::/\n");
  t.write("sys/fs/cgroup/pids.max", "300\n");
  t.write("sys/fs/cgroup/pids.current", "60\n");
  std::filesystem::create_directories(t.root / "dev/shm");
  LimitFacts facts = detect_limits(t.roots());
  REQUIRE(facts.open_files);
  CHECK(facts.open_files->soft == 512);
  CHECK(facts.open_files->hard == 524288);
  REQUIRE(facts.locked_memory_bytes);
  CHECK_FALSE(facts.locked_memory_bytes->soft);
  CHECK(to_json(facts)["locked_memory_bytes"]["soft"] == "unlimited");
  CHECK(facts.processes_left == 240);
  CHECK_FALSE(facts.infiniband);
  CHECK(facts.shared_memory_bytes.value_or(0) > 0);
  facts.shared_memory_bytes = facts.shared_memory_free_bytes = 1024 * mebibyte;
  const Findings found = findings_of(facts);
  REQUIRE(found.size() == 2);
  CHECK(found[0].problem.find("512 files") != std::string::npos);
  CHECK(found[1].problem.find("240 more threads") != std::string::npos);
}

TEST_CASE(
    "shared memory: Docker's default, a full one, none; locked memory matters with InfiniBand") {
  LimitFacts facts;
  facts.shared_memory_bytes = facts.shared_memory_free_bytes = 64 * mebibyte;
  CHECK(only(findings_of(facts), "/dev/shm holds 64 MiB").remedy.find("--shm-size") !=
        std::string::npos);
  facts.shared_memory_bytes = 65 * mebibyte;
  only(findings_of(facts), "/dev/shm is full");
  facts.shared_memory_free_bytes = 65 * mebibyte;
  CHECK(findings_of(facts).empty());
  facts.locked_memory_bytes = LimitFacts::Limit{8 * mebibyte, std::nullopt};
  CHECK(findings_of(facts).empty());
  facts.infiniband = true;
  only(findings_of(facts), "InfiniBand");
  only(findings_of(LimitFacts{}), "/dev/shm cannot be used");
}

TEST_CASE(
    "the file system is that of the longest mount point; the later of two covers; spaces are "
    "escaped") {
  const std::string mounts =
      "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "28 27 0:3 / /data rw shared:1 - nfs4 server:/x rw\n"
      "29 28 0:4 / /data/my\\040runs rw - xfs /dev/b rw\n"
      "30 27 0:5 / /data rw - ceph c rw\n"
      "broken line\n";
  CHECK(file_system_of("/home", mounts) == "ext4");
  CHECK(file_system_of("/data", mounts) == "ceph");
  CHECK(file_system_of("/database", mounts) == "ext4");
  CHECK(file_system_of("/data/my runs/a", mounts) == "xfs");
  CHECK(file_system_of("/x", "").empty());
}

TEST_CASE("a disk is measured and nothing is left; a folder that is none is an error") {
  const Tree t;
  CHECK(output_folder(t.root) == t.root);
  const DiskSpeed speed = measure_disk(t.root, 16 * mebibyte, 1);
  CHECK(speed.writable);
  CHECK(speed.write_bytes_per_second.value_or(0) > 0);
  CHECK(speed.read_bytes_per_second.value_or(0) > 0);
  CHECK(speed.direct.has_value());
  CHECK(std::filesystem::is_empty(t.root));
  const DiskSpeed small = measure_disk(t.root, 1000, 1);
  CHECK(small.writable);
  CHECK_FALSE(small.write_bytes_per_second);
  t.write("outputs", "a file");
  CHECK(output_folder(t.root) == (t.root / "outputs").string());
  const DiskFacts none = detect_disk(output_folder(t.root), {});
  CHECK(only(findings_of(none), "it is no folder").weight == Finding::Weight::error);
}

TEST_CASE("findings of a disk: slow, full, in memory") {
  DiskFacts facts;
  facts.folder = "/runs";
  facts.speed.writable = true;
  CHECK(findings_of(facts).empty());  // nothing measured, nothing claimed
  facts.speed.failed = true;          // a quota, a broken disk
  facts.speed.problem = "writing failed: No space left on device";
  CHECK(only(findings_of(facts), "No space left").weight == Finding::Weight::error);
  facts.speed.failed = false;
  facts.speed.write_bytes_per_second = 99e6;
  facts.speed.read_bytes_per_second = 100e6;
  CHECK(only(findings_of(facts), "writing to /runs").weight == Finding::Weight::warning);
  facts.speed.write_bytes_per_second = 1e9;
  facts.file_system = "tmpfs";
  only(findings_of(facts), "in memory");
  facts.file_system = "ext4";
  facts.free_bytes = 1000 * mebibyte;
  only(findings_of(facts), "1000 MiB are free");
}

TEST_CASE(
    "the triad and an update in place move data on any number of threads, over arrays beyond the "
    "caches") {
  const Tree t;
  CHECK(triad_array_bytes(t.root / "sys", 1 << 30) == 64 * mebibyte);
  for (const std::string core : {"cpu0", "cpu1", "cpu2"}) {
    t.write("sys/devices/system/cpu/" + core + "/cache/index3/size", "102400K\n");
    t.write("sys/devices/system/cpu/" + core + "/cache/index3/shared_cpu_list",
            core == "cpu2" ? "2\n" : "0-1\n");
  }
  CHECK(triad_array_bytes(t.root / "sys", std::int64_t{1} << 40) == 200 * mebibyte);
  CHECK(triad_array_bytes(t.root / "sys", 160 * mebibyte) == 10 * mebibyte);
  for (const std::int64_t threads : {1, 3}) {
    const MemoryBandwidthFacts facts = measure_memory_bandwidth(threads, mebibyte + 8);
    CHECK(facts.bytes_per_second.value_or(0) > 1e6);
    CHECK(facts.in_place_bytes_per_second.value_or(0) > 1e6);
    CHECK(to_json(facts).contains("in_place_bytes_per_second"));
    CHECK(describe(facts).at(0).find(" GB/s in place") != std::string::npos);
  }
}

TEST_CASE("the worker: one that is missing, silent, of another version, without its libraries") {
  const Tree t;
  const auto detected = [&](const std::string& script) {
    t.write("worker", "#!/bin/sh\n" + script + "\n");
    ::chmod((t.root / "worker").c_str(), 0755);
    return detect_installation(t.root / "worker", {"Release", "GNU", ""});
  };
  CHECK(only(findings_of(detect_installation(t.root / "none", {})), "it is not there").weight ==
        Finding::Weight::error);
  only(findings_of(detected("echo broken >&2; exit 3")), "exit code 3: broken");
  only(findings_of(detected("echo hello")), "otherwise");
  only(findings_of(detected("echo '{\"trainx\": \"0.0.1\"}'")), "of trainx 0.0.1");
  InstallationFacts facts =
      detected("echo '{\"trainx\": \"" + detect_installation("", {}).version + "\"}'");
  CHECK(findings_of(facts).empty());
  CHECK_FALSE(facts.libtorch);
  read_loaded_libraries(
      "\tlinux-vdso.so.1 (0x7)\n\tlibtorch_cpu.so => /a/torch/lib/libtorch_cpu.so "
      "(0x7)\n\tlibc10.so => not found\n",
      facts);
  CHECK(facts.libtorch == "/a/torch/lib/libtorch_cpu.so");
  only(findings_of(facts), "does not find libc10.so");
}

TEST_CASE("versions as their programs write them") {
  CHECK(nvcc_version("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, "
                     "V13.0.88\nBuild x\n") == "13.0.88");
  CHECK(nvcc_version("something else").empty());
  CHECK(nccl_version(22809) == "2.28.9");
  CHECK(nccl_version(2708) == "2.7.8");
}

TEST_CASE("a report has every section, errors before warnings, and says when nothing is wrong") {
  MachineReport report;
  report.trainx.version = report.trainx.worker_version.emplace("1");
  report.disk.speed.writable = true;
  report.limits.shared_memory_bytes = 1024 * mebibyte;
  CHECK(describe(report).ends_with("nothing is wrong\n"));
  report.limits.shared_memory_bytes = mebibyte;
  report.disk.speed = {};
  const auto j = to_json(report);
  for (const char* key :
       {"trainx", "cpu", "memory", "memory_bandwidth", "limits", "disk", "gpus", "versions"})
    CHECK(j.contains(key));
  REQUIRE(j["findings"].size() == 2);
  CHECK(j["findings"][0]["weight"] == "error");
  CHECK(j["findings"][1]["weight"] == "warning");
  CHECK(describe(report).find("\nfinding, ") != std::string::npos);
}

}  // namespace machine_test

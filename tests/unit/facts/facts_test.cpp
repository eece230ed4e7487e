#include "facts/cgroup.hpp"
#include "facts/facts.hpp"
#include "facts/gpus.hpp"
#include "support/made_up_tree.hpp"
#include "support/catch.hpp"
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <filesystem>

namespace facts_test {

namespace {

using namespace trainx;
using namespace trainx::facts;
namespace fs = std::filesystem;

struct Tree : MadeUpTree {
  CgroupLimits limits() const { return cgroup_limits(root / "proc", root / "sys"); }
};

ExitCode code_of_gather(const recipe::Recipe& r) {
  try {
    gather_facts(r);
    return ExitCode::ok;
  } catch (const UserError& error) { return error.code(); }
}

}  // namespace

TEST_CASE("cgroup version 2: the tightest limit up to the root counts, max is none") {
  const Tree t;
  t.write("proc/self/cgroup", "0::/job/step\n");
  t.write("sys/fs/cgroup/job/memory.max", "8589934592\n");
  t.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  t.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  t.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  CHECK(t.limits().memory_bytes == 8589934592);
  CHECK(t.limits().cpus == 1.5);
}

TEST_CASE(
    "what is left below a cgroup's limits: version 2 by its tightest group, the page cache given "
    "back; version 1 alike; none without a limit") {
  const Tree t;
  t.write("proc/self/cgroup", "0::/job/step\n");
  t.write("sys/fs/cgroup/job/memory.max", "1000000\n");
  t.write("sys/fs/cgroup/job/memory.current", "700000\n");
  t.write("sys/fs/cgroup/job/memory.stat", "anon 400000\ninactive_file 300000\n");
  t.write("sys/fs/cgroup/job/pids.max", "100\n");
  t.write("sys/fs/cgroup/job/pids.current", "120\n");  // begun before the limit was set
  t.write("sys/fs/cgroup/job/step/pids.max", "max\n");
  CHECK(t.limits().memory_left_bytes == 600000);
  CHECK(t.limits().processes == 100);
  CHECK(t.limits().processes_left == 0);
  t.write("proc/self/cgroup", "8:pids:/\n4:memory:/\n");
  CHECK_FALSE(t.limits().processes);
  t.write("sys/fs/cgroup/pids/pids.max", "50\n");
  t.write("sys/fs/cgroup/pids/pids.current", "8\n");
  t.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  t.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  CHECK(t.limits().processes_left == 42);
  CHECK_FALSE(t.limits().memory_left_bytes);
}

TEST_CASE(
    "cgroup version 1: controllers of one hierarchy, -1 and 2^63 are none, a container's own mount "
    "is found") {
  const Tree t;
  t.write("proc/self/cgroup", "9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  t.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  t.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  t.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  t.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(t.limits().memory_bytes == 1073741824);
  CHECK_FALSE(t.limits().cpus.has_value());
  t.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  CHECK(t.limits().cpus == 4.0);
}

TEST_CASE("no cgroups, no limits") {
  const Tree t;
  CHECK_FALSE(t.limits().memory_bytes.has_value());
  CHECK_FALSE(t.limits().cpus.has_value());
}

TEST_CASE(
    "what was detected is remembered until the key is another; a broken or unwritable file is "
    "asked past") {
  const Tree t;
  const std::string file = t.root / "cache/gpus.json";
  int asked = 0;
  auto ask = [&](const std::string& where, const std::string& key) {
    return remembered(where, key, [&] {
      return ++asked, std::vector<Gpu>{{"GPU of " + key, 90, 1 << 30}};
    });
  };
  CHECK(ask(file, "a") == std::vector<Gpu>{{"GPU of a", 90, 1 << 30}});
  CHECK(ask(file, "a") == std::vector<Gpu>{{"GPU of a", 90, 1 << 30}});
  CHECK(asked == 1);
  CHECK(ask(file, "b") == std::vector<Gpu>{{"GPU of b", 90, 1 << 30}});
  CHECK(asked == 2);
  for (const char* broken : {"", "{", "[1]", R"({"key": "b"})", R"({"key": "b", "gpus": [1]})",
                             R"({"key": 1, "gpus": ["x"]})",
                             R"({"key": "b", "gpus": [{"name": "x", "memory_bytes": 1}]})"}) {
    t.write("cache/gpus.json", broken);
    CHECK(ask(file, "b") == std::vector<Gpu>{{"GPU of b", 90, 1 << 30}});
  }
  CHECK(asked == 9);
  CHECK(ask("/proc/nowhere/gpus.json", "c") == std::vector<Gpu>{{"GPU of c", 90, 1 << 30}});
}

TEST_CASE("the machine has cores, memory and a name") {
  const HardwareFacts h = detect_hardware();
  CHECK(h.cpu_cores >= 1);
  CHECK(h.cpu_cores <= ::sysconf(_SC_NPROCESSORS_CONF));
  CHECK(h.memory_bytes > (std::int64_t{64} << 20));
  CHECK_FALSE(h.cpu.empty());
  CHECK_FALSE(h.host.empty());
}

TEST_CASE("facts survive JSON, every field of them") {
  Facts f;
  f.hardware = {"host", "a CPU", 3, 12345678901, {{"GPU a", 90, 5, 6, 7, 8}, {"GPU b", 80, 7}},
                true,   false,   2, 4e11,        1e-5,
                5e10,   1.4e11};
  f.hardware.gpus[0].links = {5, 16, 25e9, {0, 18}, {true, true}};
  f.data = {true, false, 11, 7, 513, 1.0 / 3, "train is gone", "eval is gone"};
  const std::string config =
      R"({"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 64, "n_inner": 200, "n_positions": 128, "vocab_size": 513, "layer_norm_epsilon": 1e-6})";
  f.model_folder =
      ModelFolderFacts{"models/x", config, architectures::dims_from_config(config, "config.json")};
  f.adapter_folder = AdapterFolderFacts{"adapters/x", "{}", {"a", "b"}};
  const auto j = to_json(f);
  const Facts g = facts_from_json(nlohmann::json::parse(j.dump()));
  CHECK(to_json(g) == j);
  CHECK(g.data.entropy_floor_nats == 1.0 / 3);
  CHECK(g.hardware.gpus == f.hardware.gpus);
  CHECK_FALSE(g.hardware.has_cuda_parts);
  CHECK(g.hardware.host_update_bytes_per_s == 1.4e11);
  REQUIRE(g.adapter_folder);
  CHECK(g.adapter_folder->tensors == std::vector<std::string>{"a", "b"});
  REQUIRE(g.model_folder);
  const auto& dims = std::get<architectures::Gpt2Dims>(g.model_folder->dims);
  CHECK(dims.intermediate_size == 200);
  CHECK(dims.layer_norm_epsilon == 1e-6);
  const auto plain = to_json(facts_from_json(to_json(Facts{})));
  CHECK(plain["data"]["entropy_floor_nats"].is_null());
  CHECK(plain["model_folder"].is_null());
}

TEST_CASE("stories: both splits are there, with the vocabulary and the floor") {
  recipe::Recipe r;
  r.data.source = options::StoriesOptions{1000, 16};
  const Facts f = gather_facts(r);
  CHECK(f.data.train_present);
  CHECK(f.data.eval_present);
  CHECK(f.data.train_samples == 1000);
  CHECK(f.data.eval_samples == 16);
  CHECK(f.data.vocab_size > 300);
  REQUIRE(f.data.entropy_floor_nats);
  CHECK(*f.data.entropy_floor_nats > 0);
}

TEST_CASE("missing data is noted, split by split; malformed data is thrown; text needs no eval") {
  const Tree t;
  recipe::Recipe r;
  r.data.sequence_length = 8;
  r.data.source = options::TextOptions{(t.root / "absent.txt").string(), std::nullopt};
  const Facts absent = gather_facts(r);
  CHECK_FALSE(absent.data.train_present);
  CHECK(absent.data.problem.find("absent.txt") != std::string::npos);
  CHECK(absent.data.eval_problem.empty());

  t.write("train.txt", std::string(100, 'a'));
  r.data.source =
      options::TextOptions{(t.root / "train.txt").string(), (t.root / "absent.txt").string()};
  const Facts half = gather_facts(r);
  CHECK(half.data.train_present);
  CHECK(half.data.problem.empty());
  CHECK_FALSE(half.data.eval_present);
  CHECK(half.data.eval_problem.find("absent.txt") != std::string::npos);

  t.write("odd.bin", "not a token file");
  r.data.source = options::TokensOptions{(t.root / "odd.bin").string(), std::nullopt, {}};
  CHECK(code_of_gather(r) == ExitCode::bad_data);
}

TEST_CASE("lines are counted, not read; a mixture has the samples of all its sources") {
  const Tree t;
  recipe::Recipe r;
  t.write("train.jsonl", "{\"input_ids\": [1, 2]}\nnot JSON\n{}\n\n");
  t.write("eval.csv", "input_ids,label\n1 2,0\n3,1\n");
  r.data.source = options::JsonlOptions{(t.root / "train.jsonl").string(),
                                        (t.root / "absent.jsonl").string(), false};
  const Facts lines = gather_facts(r);
  CHECK(lines.data.train_samples == 3);
  CHECK(lines.data.vocab_size == 0);
  CHECK_FALSE(lines.data.eval_present);
  CHECK(lines.data.eval_problem.find("absent.jsonl") != std::string::npos);
  t.write("train.csv", "input_ids,label\n4 5,0\n6,1\n");
  r.data.source = options::MixtureOptions{
      {{1, options::JsonlOptions{(t.root / "train.jsonl").string(), std::nullopt, false}},
       {2, options::CsvOptions{
               (t.root / "train.csv").string(), (t.root / "eval.csv").string(), false, {}}}}};
  const Facts mixture = gather_facts(r);
  CHECK(mixture.data.train_samples == 5);
  CHECK(mixture.data.eval_samples == 2);
  CHECK_FALSE(mixture.data.entropy_floor_nats);
}

TEST_CASE("a model folder's dimensions are facts; a missing one is input missing") {
  const Tree t;
  recipe::Recipe r;
  r.model.init_from = t.root / "model";
  CHECK(code_of_gather(r) == ExitCode::input_missing);
  t.write(
      "model/config.json",
      R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 64, "vocab_size": 300})");
  const Facts f = gather_facts(r);
  REQUIRE(f.model_folder);
  CHECK(std::get<architectures::Gpt2Dims>(f.model_folder->dims).num_layers == 2);
  CHECK(architectures::vocab_size(f.model_folder->dims) == 300);
}

}  // namespace facts_test

#include "tests/net/print_decisions.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/explain/memory_anatomy.hpp"
#include "plan/explain/operations.hpp"
#include "tests/net/written.hpp"
#include <nlohmann/json.hpp>

namespace net {
namespace {

using namespace trainx;

template <class T>
std::string row(const std::string& name, const T& value) {
  return name + " " + written(value) + "\n";
}

/// What a plan says of a GPU that this build has no kernels for depends on the build.
bool is_of_build(std::string_view note) {
  return note.find("this is a plan alone: ") != std::string_view::npos;
}

std::string decisions_text(const plan::RunPlan& p, int rank) {
  std::string out = recipe::dump(p.recipe);
  out += row("batch", p.batch) +
         row("mesh", std::vector{p.mesh.world, p.mesh.shard, p.mesh.experts});
  out += row("mode", p.mode) + row("every_micro_step", p.every_micro_step) + row("rank", rank);
  out += row("turns_kept", p.turns_kept) + row("groups_on_device", p.groups_on_device);
  out += row("groups_on_disk", p.groups_on_disk) + row("compute", p.compute);
  out += row("on_gpu", p.on_gpu) + row("compute_capability", p.compute_capability);
  out += row("threads", p.threads) + row("fp8_fallback", p.fp8_fallback);
  out += row("casts_weights_once", p.casts_weights_once) + row("budget_bytes", p.budget_bytes);
  out += row("master", p.master) + row("update", p.update) + row("loss_scale", p.loss_scale);
  out += row("tokens_per_step", p.tokens_per_step) + row("nominal_targets", p.nominal_targets);
  out += row("row_lengths", p.row_lengths) + row("target_lengths", p.target_lengths());
  out += row("train_samples", p.train_samples) + row("eval_samples", p.eval_samples);
  out += row("host_memory_bytes", p.host_memory_bytes) + row("disk_free_bytes", p.disk_free_bytes);
  out += row("rates", p.rates);
  out += row("total_steps", p.total_steps) + row("total_seconds", p.total_seconds);
  out += row("schedule", p.schedule) + row("checkpoint_every", p.checkpoint_every);
  out += row("eval_every", p.eval_every) + row("metrics_every", p.metrics_every);
  out += row("release_cache_every", p.release_cache_every);
  return out + row("generate_every", p.generate_every);
}

std::string memory_text(const plan::MemoryPlan& m) {
  return row("plan", m) + row("total", m.total_bytes());
}

std::string time_text(const plan::RunPlan& p, const plan::RankRole& role) {
  if (!role.time) return {};
  return row("time", *role.time) + row("estimated", p.rates_are_estimated) +
         row("rates", p.step_rates) + row("assumed_link", p.assumed_link_bytes_per_s) +
         row("ranks_per_host", p.ranks_per_host) + row("network", p.network) +
         row("peak_flops", p.peak_flops) + row("flops_per_token", p.flops_per_token());
}

std::string lines(const auto& all) {
  std::string out;
  for (const auto& each : all) out += each + "\n";
  return out;
}

/// Real numbers with as many digits as elsewhere.
void shorten(nlohmann::json& value) {
  if (value.is_number_float()) value = written_number(value.get<double>());
  if (value.is_structured())
    for (auto& each : value) shorten(each);
}

/// What `trainx plan` and `trainx bench` say of a run that took what was planned.
std::string anatomy_text(const plan::RunPlan& p) {
  plan::MeasuredMemory measured{.arena_bytes = p.memory.arena_bytes,
                                .peak_bytes = p.memory.arena_bytes + p.memory.library_bytes / 2,
                                .process_bytes = p.memory.total_bytes()};
  for (const program::Buffer& b : p.role().train.front().program.buffers)
    measured.operand_bytes.push_back(b.bytes());
  std::string out;
  for (const plan::MemoryRow& r : plan::memory_anatomy(p, measured)) out += row("memory", r);
  for (const auto& [key, arithmetic] : plan::arithmetic_of(p))
    out += written(key) + " " + written(arithmetic) + "\n";
  return out;
}

/// For people and for programs, as the launcher says it: the first rank's alone.
std::string described_text(const plan::RunPlan& p, int rank) {
  if (rank > 0) return {};
  std::string out;
  std::string all = plan::describe(p, false);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    const std::string line = all.substr(at, end - at);
    if (!is_of_build(line)) out += line + "\n";
    at = end == std::string::npos ? all.size() : end + 1;
  }
  out += anatomy_text(p);
  nlohmann::json json = plan::to_json(p, false);
  json.erase("notes");
  json.erase("choices");
  json.erase("fingerprint");  // of the last digits, too
  shorten(json);
  for (const auto& [key, value] : json.items()) out += key + " " + value.dump() + "\n";
  return out;
}

}  // namespace

std::map<std::string, std::string> decision_texts(const plan::RunPlan& p, int rank) {
  const plan::RankRole& role = p.role(rank);
  std::map<std::string, std::string> out{{"decisions", decisions_text(p, rank)},
                                         {"memory", memory_text(role.memory)},
                                         {"time", time_text(p, role)},
                                         {"choices", lines(p.choices)},
                                         {"described", described_text(p, rank)}};
  if (p.on_gpu) {
    const program::ModelGraph& graph = role.train.back().graph;
    out["expected kernels"] =
        row("all", plan::expected_kernels(p, graph, 0, 0, role)) +
        row("half of the targets",
            plan::expected_kernels(p, graph, graph.target_rows / 2, p.mesh.world - 1, role));
  }
  for (const double rate : p.lr_table) out["learning rates"] += written_number(rate) + "\n";
  return out;
}

}  // namespace net

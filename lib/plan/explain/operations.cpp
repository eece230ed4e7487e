#include "plan/explain/operations.hpp"
#include "plan/explain/printed.hpp"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

using program::BlockSpec;
using program::How;
using program::Instruction;
using program::Op;
using program::Use;

// Operations for each parameter, counted off the formulas of AdamW and of its norm.
constexpr double parameter_update = 16;

bool writes_slot(const Instruction& i, program::Slot slot) {
  return std::ranges::any_of(
      i.uses, [&](const Use& u) { return u.slot == slot && program::writes(u.how); });
}

void add(Arithmetic& to, double flops, double bytes) { to.flops += flops, to.bytes += bytes; }

void count_block(std::map<OperationKey, Arithmetic>& sums, const Instruction& i,
                 const program::ModelGraph& graph) {
  const BlockSpec& block = graph.blocks[static_cast<std::size_t>(i.block)];
  const Op op = i.op == Op::recompute ? Op::forward : i.op;
  const auto phase = block.phases.find(op);
  if (phase == block.phases.end()) return;
  const Direction direction = direction_of(i.op);
  const auto sum = [&](Operations o) -> Arithmetic& { return sums[{direction, o}]; };
  const double element = static_cast<double>(size_of(graph.compute));
  const auto takes_part = [&](program::Slot output) {
    return i.op != Op::recompute || output == program::none || writes_slot(i, output);
  };
  for (const program::Gemm& g : phase->second.gemms) {
    if (!takes_part(g.output)) continue;
    const double m = static_cast<double>(g.m), n = static_cast<double>(g.n),
                 k = static_cast<double>(g.k), count = static_cast<double>(g.count);
    add(sum(Operations::contractions), 2 * m * n * k * count,
        (m * k + k * n) * (g.fp8 ? 1 : element) * count +
            m * n * (g.a_transposed ? 4 : element) * count);
  }
  if (phase->second.attention_flops > 0 && takes_part(phase->second.attention_output))
    sum(Operations::attention).flops += phase->second.attention_flops;
  for (const program::ElementWork& w : phase->second.element_work)
    if (takes_part(w.output)) add(sum(operations_of(w.work)), w.flops, w.bytes);
  for (const program::ParameterCast& c : phase->second.parameter_casts)
    if (writes_slot(i, c.copy)) add(sum(operations_of(Work::copy)), 0, c.bytes);
}

struct Sums {
  double ms = 0, flops = 0, bytes = 0;
};
Sums sums_of(const std::vector<OperationRow>& rows) {
  Sums s;
  for (const OperationRow& r : rows)
    s.ms += r.ms, s.flops += r.arithmetic.flops, s.bytes += r.arithmetic.bytes;
  return s;
}

Sums of_direction(const std::vector<OperationRow>& rows, Direction direction) {
  std::vector<OperationRow> some;
  std::ranges::copy_if(rows, std::back_inserter(some),
                       [&](const OperationRow& r) { return r.key.first == direction; });
  return sums_of(some);
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::string_view name_of(Operations o) {
  constexpr std::string_view names[] = {"contractions", "attention", "statistical",
                                        "element-wise", "optimizer", "other"};
  return names[static_cast<std::size_t>(o)];
}

std::string_view name_of(Direction d) {
  constexpr std::string_view names[] = {"forward",  "loss",   "recompute",
                                        "backward", "update", "other"};
  return names[static_cast<std::size_t>(d)];
}

Operations operations_of(Work work) {
  switch (work) {
    case Work::matrix_product: return Operations::contractions;
    case Work::attention: return Operations::attention;
    case Work::norm:
    case Work::loss:
    case Work::sum: return Operations::statistical;
    case Work::activation:
    case Work::dropout:
    case Work::embedding: return Operations::element_wise;
    case Work::optimizer: return Operations::optimizer;
    case Work::copy:
    case Work::communication:
    case Work::scalar:
    case Work::wait:
    case Work::other: break;
  }
  return Operations::other;
}

Direction direction_of(Op op) {
  switch (op) {
    case Op::forward: return Direction::forward;
    case Op::loss: return Direction::loss;
    case Op::recompute: return Direction::recompute;
    case Op::backward: return Direction::backward;
    case Op::measure:
    case Op::update:
    case Op::balance:
    case Op::grad_norm: return Direction::update;
    default: return Direction::other;
  }
}

std::map<OperationKey, Arithmetic> arithmetic_of(const RunPlan& plan) {
  const PlacedProgram& placed = plan.role().train.back();
  std::map<OperationKey, Arithmetic> sums;
  for (const Instruction& i : placed.program.steady) {
    const Direction direction = direction_of(i.op);
    if (direction == Direction::update) {
      double bytes = 0;
      for (const Use& u : i.uses)
        bytes += static_cast<double>(program::bytes_of(placed.program, u)) *
                 (u.how == How::modify ? 2 : 1);
      const double elements =
          i.op == Op::update
              ? static_cast<double>(placed.graph.groups[static_cast<std::size_t>(i.group)].elements)
              : 0;
      add(sums[{direction, Operations::optimizer}], elements * parameter_update, bytes);
    } else if (direction != Direction::other) {
      count_block(sums, i, placed.graph);
    }
  }
  return sums;
}

std::vector<OperationRow> operation_rows(const RunPlan& plan,
                                         const std::map<OperationKey, double>& measured_ms) {
  std::map<OperationKey, OperationRow> rows;
  for (const auto& [key, arithmetic] : arithmetic_of(plan)) rows[key].arithmetic = arithmetic;
  for (const auto& [key, ms] : measured_ms) rows[key].ms = ms;
  std::vector<OperationRow> out;
  for (auto& [key, row] : rows) {
    row.key = key;
    out.push_back(row);
  }
  return out;
}

std::string describe_operations(const RunPlan& plan, const std::vector<OperationRow>& rows,
                                double step_ms) {
  const Sums all = sums_of(rows);
  const auto row = [](std::string name, double ms, const Sums& of, double flops, double bytes) {
    name = "  " + name;
    name.resize(std::max<std::size_t>(34, name.size() + 1), ' ');
    char cells[160];
    std::snprintf(cells, sizeof cells, "%10.3f ms %7.1f %% %7.1f %% %7.1f %%\n", ms,
                  100 * share(ms, of.ms), 100 * share(flops, of.flops),
                  100 * share(bytes, of.bytes));
    return name + cells;
  };
  std::string out = "operations of a step                measured     time    FLOPs    bytes\n";
  std::map<Operations, Sums> groups;
  for (const OperationRow& r : rows) {
    Sums& s = groups[r.key.second];
    s.ms += r.ms, s.flops += r.arithmetic.flops, s.bytes += r.arithmetic.bytes;
  }
  for (const auto& [operations, s] : groups)
    out += row(std::string(name_of(operations)), s.ms, all, s.flops, s.bytes);
  out += "by direction\n";
  for (const OperationRow& r : rows)
    if (r.ms > 0 || r.arithmetic.flops > 0)
      out += row(std::string(name_of(r.key.first)) + ", " + std::string(name_of(r.key.second)),
                 r.ms, all, r.arithmetic.flops, r.arithmetic.bytes);
  const Sums forward = of_direction(rows, Direction::forward),
             backward = of_direction(rows, Direction::backward);
  out += "backward takes " + printed("%.2f", share(backward.ms, forward.ms)) +
         " times as long as forward, at " + printed("%.2f", share(backward.flops, forward.flops)) +
         " times the FLOPs and " + printed("%.2f", share(backward.bytes, forward.bytes)) +
         " times the bytes\n";
  out += "step " + printed("%.3f ms", step_ms) + ", of it " + printed("%.3f ms", step_ms - all.ms) +
         " between operations; " + human_count(all.flops) + " FLOPs, " +
         human_bytes(static_cast<std::int64_t>(all.bytes)) + " over memory at least\n";
  if (plan.time)
    out += "predicted: " + printed("%.3f ms", plan.time->step_s * 1e3) + ", matrix products " +
           printed("%.3f", plan.time->gemm_s * 1e3) + ", attention " +
           printed("%.3f", plan.time->attention_s * 1e3) + ", memory traffic " +
           printed("%.3f", plan.time->memory_s * 1e3) + "\n";
  return out;
}

nlohmann::json operations_json(const RunPlan& plan, const std::vector<OperationRow>& rows,
                               double step_ms) {
  const Sums all = sums_of(rows);
  nlohmann::json j{
      {"step_ms", step_ms}, {"operations_ms", all.ms}, {"flops", all.flops}, {"bytes", all.bytes}};
  for (const OperationRow& r : rows)
    j["rows"].push_back({{"direction", name_of(r.key.first)},
                         {"operations", name_of(r.key.second)},
                         {"ms", r.ms},
                         {"flops", r.arithmetic.flops},
                         {"bytes", r.arithmetic.bytes},
                         {"time_share", share(r.ms, all.ms)},
                         {"flops_share", share(r.arithmetic.flops, all.flops)},
                         {"bytes_share", share(r.arithmetic.bytes, all.bytes)}});
  if (plan.time) j["predicted_step_ms"] = plan.time->step_s * 1e3;
  return j;
}

}  // namespace trainx::plan

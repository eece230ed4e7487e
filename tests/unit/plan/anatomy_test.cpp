#include "plan/explain/memory_anatomy.hpp"
#include "plan/explain/operations.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace anatomy_test {

using namespace trainx;

namespace {

plan::RunPlan planned(const std::string& more = "", const std::string& gpu = "") {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{16} << 30;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return plan::make_run_plan(
      recipe::parse_recipe(
          "model: {type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 256, "
          "max_positions: 128, vocab_size: 1000}}\n"
          "data: {type: stories, sequence_length: 128}\nbatch: {global_batch_size: 32, "
          "micro_batch_size: 8}\noptimizer: {type: adamw}\n" +
              more,
          "test")
          .recipe,
      f, {gpu});
}

/// As if every instruction had been given exactly its buffers.
plan::MeasuredMemory as_planned(const plan::RunPlan& p) {
  plan::MeasuredMemory m;
  for (const auto& b : p.role().train.back().program.buffers) m.operand_bytes.push_back(b.bytes());
  m.arena_bytes = p.memory.arena_bytes;
  m.peak_bytes = m.arena_bytes + p.memory.library_bytes;
  m.process_bytes = m.peak_bytes + 12345;
  return m;
}

double sum(const std::vector<plan::OperationRow>& rows, plan::Direction d,
           double plan::Arithmetic::*what) {
  double s = 0;
  for (const auto& r : rows)
    if (r.key.first == d) s += r.arithmetic.*what;
  return s;
}

}  // namespace

TEST_CASE(
    "measured categories add up to the process, and are the planned ones where operands are as "
    "planned") {
  for (const char* precision :
       {"precision: fp32\n", "precision: bf16\n",
        "precision: {compute: bf16, master: fp32}\nmemory: {activation_checkpoint: full}\n"}) {
    const auto p = planned(precision);
    const auto measured = as_planned(p);
    const auto rows = plan::memory_anatomy(p, measured);
    std::int64_t all = 0;
    for (const auto& r : rows) {
      CAPTURE(precision, r.name);
      all += r.measured;
      if (r.name != "process") CHECK(r.measured == r.predicted);
    }
    CHECK(all == measured.process_bytes);
    const auto j = plan::memory_json(p, rows);
    CHECK(j.at("measured_bytes") == all);
    CHECK(j.at("optimizers").at(0).at("gb_of_3b") == 24.0);
    CHECK(plan::describe_memory(p, rows).find("mixed precision, AdamW") != std::string::npos);
  }
}

TEST_CASE("a category that operations were given less of is seen") {
  const auto p = planned();
  auto measured = as_planned(p);
  for (std::size_t b = 0; b < measured.operand_bytes.size(); ++b)
    if (p.role().train.back().program.buffers[b].role == program::Role::state)
      measured.operand_bytes[b] /= 2;
  for (const auto& r : plan::memory_anatomy(p, measured))
    if (r.name == "optimizer state") CHECK(r.measured < r.predicted);
}

TEST_CASE("arithmetic of operations: all of the step's FLOPs, backward twice forward's") {
  const auto p = planned("precision: bf16\n", "h200");
  const auto rows = plan::operation_rows(p, {});
  double products = 0;
  for (const auto& r : rows)
    if (r.key.second == plan::Operations::contractions ||
        r.key.second == plan::Operations::attention)
      products += r.arithmetic.flops;
  CHECK(std::abs(products / plan::step_flops(p.role().train.back()) - 1) < 1e-12);
  const auto of = [&](plan::Direction d, plan::Operations o) {
    for (const auto& r : rows)
      if (r.key == plan::OperationKey{d, o}) return r.arithmetic;
    return plan::Arithmetic{};
  };
  using D = plan::Direction;
  using O = plan::Operations;
  CHECK(of(D::backward, O::contractions).flops == 2 * of(D::forward, O::contractions).flops);
  CHECK(of(D::backward, O::attention).flops == 2.5 * of(D::forward, O::attention).flops);
  for (const O o : {O::contractions, O::attention, O::statistical, O::element_wise}) {
    CAPTURE(name_of(o));
    CHECK(of(D::forward, o).bytes > 0);
    CHECK(of(D::backward, o).bytes > of(D::forward, o).bytes);
  }
  CHECK(of(D::update, O::optimizer).bytes > 0);
  // Contractions are nearly all of the FLOPs, and less of the bytes.
  const double flops = sum(rows, D::forward, &plan::Arithmetic::flops),
               bytes = sum(rows, D::forward, &plan::Arithmetic::bytes);
  CHECK(of(D::forward, O::contractions).flops > 0.9 * flops);
  CHECK(of(D::forward, O::contractions).bytes < 0.8 * bytes);
  CHECK(sum(plan::operation_rows(planned("memory: {activation_checkpoint: full}\n"), {}),
            D::recompute, &plan::Arithmetic::flops) > 0);
}

TEST_CASE("measured times are told beside it") {
  const auto p = planned();
  const auto rows =
      plan::operation_rows(p, {{{plan::Direction::forward, plan::Operations::contractions}, 3.0},
                               {{plan::Direction::backward, plan::Operations::contractions}, 6.0},
                               {{plan::Direction::other, plan::Operations::other}, 1.0}});
  const auto j = plan::operations_json(p, rows, 12);
  CHECK(j.at("operations_ms") == 10.0);
  double time = 0, flops = 0, bytes = 0;
  for (const auto& r : j.at("rows"))
    time += r.at("time_share").get<double>(), flops += r.at("flops_share").get<double>(),
        bytes += r.at("bytes_share").get<double>();
  CHECK(std::abs(time - 1) < 1e-9);
  CHECK(std::abs(flops - 1) < 1e-9);
  CHECK(std::abs(bytes - 1) < 1e-9);
  CHECK(plan::describe_operations(p, rows, 12).find("backward takes 2.00 times") !=
        std::string::npos);
  for (int w = 0; w <= static_cast<int>(Work::other); ++w)
    CHECK_FALSE(plan::name_of(plan::operations_of(static_cast<Work>(w))).empty());
}

}  // namespace anatomy_test

#include "plan_gpus.hpp"
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "inputs.hpp"
#include "plan/explain/gpu_table.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

plan::GpuRow row_of(const std::string& gpu, const Prepared& p) {
  if (p.plan.on_gpu) return plan::gpu_row(gpu, p.plan);
  plan::GpuRow row;
  row.gpu = gpu;
  row.refusal = p.plan.choices.empty() ? "it computes on the CPU" : p.plan.choices.front();
  return row;
}

bool is_of_gpu(const UserError& refused) {
  return refused.code() == ExitCode::out_of_memory || refused.code() == ExitCode::invalid_recipe;
}

}  // namespace

int plan_all_gpus(const recipe::LoadedRecipe& loaded, std::int64_t hosts, double price,
                  const Context& context) {
  std::vector<plan::GpuRow> rows;
  for (const std::string& gpu : hardware::hardware_names()) {
    try {
      rows.push_back(row_of(gpu, prepare(loaded, gpu, hosts)));
    } catch (const UserError& refused) {
      if (!is_of_gpu(refused)) throw;
      plan::GpuRow& row = rows.emplace_back();
      row.gpu = gpu;
      row.refusal = refused.what();
    }
  }
  const bool all_alike = std::ranges::all_of(rows, [&](const plan::GpuRow& row) {
    return !row.fits && row.refusal == rows.front().refusal;
  });
  if (all_alike) prepare(loaded, rows.front().gpu, hosts);  // throws what is wrong with the recipe
  plan::sort_rows(rows);
  if (context.output.json)
    print(nlohmann::json{{"gpus", plan::to_json(rows, price)}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print(plan::describe(rows, price));
  return 0;
}

}  // namespace trainx::app

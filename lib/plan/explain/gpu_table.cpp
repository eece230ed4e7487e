#include "plan/explain/gpu_table.hpp"
#include "plan/explain/human_time.hpp"
#include "core/units.hpp"
#include "plan/explain/energy.hpp"
#include "plan/explain/printed.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace trainx::plan {
namespace {

using Cells = std::vector<std::string>;

/// Columns as wide as their widest cell. The first and the last stand left.
std::string table_of(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const Cells& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  std::string out;
  for (const Cells& line : lines) {
    std::string text = line.front();
    text.resize(widths.front(), ' ');
    for (std::size_t k = 1; k + 1 < line.size(); ++k)
      text += "  " + std::string(widths[k] - line[k].size(), ' ') + line[k];
    out += text + "  " + line.back() + "\n";
  }
  return out;
}

Cells cells_of(const GpuRow& row, double price) {
  Cells line{row.gpu};
  const auto add = [&](bool known, const std::string& text) { line.push_back(known ? text : "-"); };
  const double gib = 1024.0 * 1024 * 1024;
  add(row.step_s > 0, human_time(row.step_s));
  add(row.step_s > 0, human_count(row.tokens_per_s));
  add(row.fits, printed("%.1f", static_cast<double>(row.bytes) / gib) +
                    printed(" of %.1f", static_cast<double>(row.budget_bytes) / gib));
  add(row.tokens_per_joule > 0, printed("%.3g", row.tokens_per_joule));
  add(row.length.gpu_hours > 0, human_seconds(row.length.seconds));
  add(row.length.gpu_hours > 0, human_amount(row.length.gpu_hours));
  if (price > 0) add(row.length.gpu_hours > 0, human_amount(price * row.length.gpu_hours));
  // the rest of a refusal is what would help
  line.push_back(!row.fits          ? "no: " + row.refusal.substr(0, row.refusal.find("; "))
                 : row.is_estimated ? "fits; time by data sheet"
                                    : "fits; time by measured rates");
  return line;
}

}  // namespace

GpuRow gpu_row(const std::string& gpu, const RunPlan& plan) {
  GpuRow row;
  row.gpu = gpu;
  row.fits = true;
  row.is_estimated = plan.rates_are_estimated;
  row.bytes = plan.memory.total_bytes();
  row.budget_bytes = plan.memory.budget_bytes;
  row.length = run_length(plan);
  row.batch = plan.batch;
  if (!plan.time) return row;
  row.step_s = plan.time->step_s;
  row.tokens_per_s = static_cast<double>(plan.tokens_per_step) / row.step_s;
  if (const double watts = training_watts(gpu, plan.compute); watts > 0)
    row.tokens_per_joule = row.tokens_per_s / (watts * plan.mesh.ranks());
  return row;
}

void sort_rows(std::vector<GpuRow>& rows) {
  std::ranges::stable_sort(rows, [](const GpuRow& a, const GpuRow& b) {
    return std::tuple(!a.fits, -a.tokens_per_s) < std::tuple(!b.fits, -b.tokens_per_s);
  });
}

std::string describe(const std::vector<GpuRow>& rows, double price) {
  Cells heads{"GPU", "step", "tokens/s", "GiB a rank", "tokens/J", "whole run", "GPU hours"};
  if (price > 0) heads.emplace_back("EUR");
  heads.emplace_back("fits");
  std::vector<Cells> lines{heads};
  for (const GpuRow& row : rows) lines.push_back(cells_of(row, price));
  return table_of(lines);
}

nlohmann::json to_json(const std::vector<GpuRow>& rows, double price) {
  auto all = nlohmann::json::array();
  for (const GpuRow& row : rows) {
    nlohmann::json j{{"gpu", row.gpu}, {"fits", row.fits}};
    const auto known = [](double x) { return x > 0 ? nlohmann::json(x) : nlohmann::json(nullptr); };
    if (row.fits) {
      j["rates"] = row.is_estimated ? "estimated" : "measured";
      j["total_bytes"] = row.bytes;
      j["budget_bytes"] = row.budget_bytes;
      j["micro_batch_size"] = row.batch.micro_batch_size;
      j["grad_accum_steps"] = row.batch.grad_accum_steps;
      j["step_ms"] = known(row.step_s * 1e3);
      j["tokens_per_second"] = known(row.tokens_per_s);
      j["tokens_per_joule"] = known(row.tokens_per_joule);
      j["run"] = to_json(row.length, price);
    } else {
      j["refusal"] = row.refusal;
    }
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace trainx::plan

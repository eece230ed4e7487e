#include "launch/worker_models.hpp"
#include "launch/ask_worker.hpp"
#include "launch/asked_gpu.hpp"
#include "launch/job.hpp"
#include "launch/worker_refusal.hpp"
#include "plan/batch.hpp"
#include "plan/device.hpp"
#include "plan/model_dims.hpp"
#include "plan/precision.hpp"
#include "plan/run_plan.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/exported.hpp"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

namespace trainx::launch {

using nlohmann::json;

namespace {

/// Of a problem that the worker found: files of an export have codes of their own.
ExitCode code_of(const json& said) {
  const auto code = static_cast<ExitCode>(said.value("code", 0));
  const bool of_files = code == ExitCode::bad_data || code == ExitCode::input_missing ||
                        code == ExitCode::io_error;
  return of_files || is_of_gpu(code) ? code : ExitCode::invalid_recipe;
}

/// Does the plan choose the micro-batch?
bool is_chosen(const recipe::Recipe& recipe) {
  return recipe.memory.fit ||
         (recipe.batch.micro_batch_size.is_auto() && !recipe.batch.grad_accum_steps);
}

/// That modules are measured with, ascending: what others take lies between.
std::vector<std::int64_t> micro_batch_sizes(const recipe::Recipe& recipe) {
  const plan::BatchPlan batch = plan::plan_batch(recipe.batch, 1);
  std::vector<std::int64_t> sizes{1};
  const bool is_written = !recipe.batch.micro_batch_size.is_auto() ||
                          recipe.batch.grad_accum_steps.has_value();
  const std::int64_t ranks = recipe.parallel.world_size.value.value_or(1),
                     most = is_written ? batch.micro_batch_size
                                       : std::max<std::int64_t>(1, batch.global_batch_size / ranks);
  if (is_chosen(recipe))
    while (2 * sizes.back() < most) sizes.push_back(2 * sizes.back());
  if (most > 1) sizes.push_back(most);
  return sizes;
}

/// More than the plan may use need not be measured.
std::int64_t budget_of(const recipe::Recipe& recipe, const facts::Facts& facts) {
  if (const auto& budget = recipe.memory.budget.value) return budget->bytes;
  const bool on_gpu = plan::computes_on_gpu(recipe, facts) && !facts.hardware.gpus.empty();
  return on_gpu ? facts.hardware.gpus.front().memory_bytes
                : facts.hardware.memory_bytes / facts.hardware.local_ranks;
}

/// Sizes and times of a folder's files: an answer about it holds while they stay.
json state_of(const std::string& folder) {
  json files = json::object();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    files[entry.path().filename().string()] = {
        entry.file_size(error), entry.last_write_time(error).time_since_epoch().count()};
  return files;
}

}  // namespace

void measure_model(const recipe::Recipe& recipe, facts::Facts& facts) {
  if (!std::holds_alternative<architectures::CustomOptions>(recipe.model.options)) return;
  recipe::Recipe copy = recipe;
  const auto dims = plan::plan_model_dims(copy, facts);
  const std::set<DType> types{plan::dtype_of(copy.precision.compute),
                              plan::evaluation_dtype_of(copy)};
  json sizes = json::array();
  for (const std::int64_t samples : micro_batch_sizes(copy))
    for (const DType compute : types)
      for (const std::int64_t length : recipe::row_lengths(copy.data))
        sizes.push_back({samples, length, name_of(compute)});
  json question{{"config", architectures::config_text(dims, DType::f32)},
                {"threads", facts.hardware.threads_of_rank()},
                {"sizes", sizes}};
  if (is_chosen(copy)) question["budget"] = budget_of(copy, facts);
  if (const auto gpu = gpu_of(recipe, facts)) question["gpu"] = *gpu;
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  if (const std::string folder = custom ? architectures::export_folder(custom->options) : "";
      !folder.empty()) {
    const std::int64_t longest = copy.data.sequence_length;
    question["export"] = {{"folder", folder},
                          {"files", state_of(folder)},
                          {"longest", {longest, architectures::target_length(*custom, longest)}}};
  }
  const std::string worker = worker_path();
  const json said = ask_about_gpu(worker, "--describe-graph", question);
  if (!said.is_object())
    refuse_worker(
        worker, "answers --describe-graph otherwise than a worker of trainx does; build it again");
  if (const auto problem = said.find("problem"); problem != said.end())
    throw UserError(code_of(said), problem->get<std::string>());
  try {
    facts.model_shapes.clear();
    for (const json& shape : said.at("shapes"))
      facts.model_shapes.push_back(architectures::custom_shape_from_json(shape));
  } catch (const json::exception& e) {
    refuse_worker(
        worker,
        std::string("describes its model otherwise than this trainx reads; build it again: ") +
            e.what());
  }
}

}  // namespace trainx::launch

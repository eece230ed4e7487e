#include "launch/worker_models.hpp"
#include "launch/ask_worker.hpp"
#include "launch/job.hpp"
#include "launch/worker_refusal.hpp"
#include "plan/batch.hpp"
#include "plan/model_dims.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/exported.hpp"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::launch {

using nlohmann::json;

namespace {

/// Of a problem that the worker found: files of an export have codes of their own.
ExitCode code_of(const json& said) {
  const auto code = static_cast<ExitCode>(said.value("code", 0));
  const bool of_files = code == ExitCode::bad_data || code == ExitCode::input_missing ||
                        code == ExitCode::io_error;
  return of_files ? code : ExitCode::invalid_recipe;
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
  const std::int64_t micro_batch_size = plan::plan_batch(copy.batch, 1).micro_batch_size;
  json sizes = json::array();
  for (const std::int64_t length : recipe::row_lengths(copy.data)) {
    // what a smaller micro-batch would take lies between
    if (micro_batch_size > 1) sizes.push_back({1, length});
    sizes.push_back({micro_batch_size, length});
  }
  const bool low = copy.precision.compute == recipe::Compute::bf16;
  json question{{"config", architectures::config_text(dims, DType::f32)},
                {"compute", name_of(low ? DType::bf16 : DType::f32)},
                {"threads", facts.hardware.threads_of_rank()},
                {"sizes", sizes}};
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  if (const std::string folder = custom ? architectures::export_folder(custom->options) : "";
      !folder.empty()) {
    const std::int64_t longest = copy.data.sequence_length;
    question["export"] = {{"folder", folder},
                          {"files", state_of(folder)},
                          {"longest", {longest, architectures::target_length(*custom, longest)}}};
  }
  const std::string worker = worker_path();
  const json said =
      json::parse(ask_worker(worker, "--describe-graph", question.dump()), nullptr, false);
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

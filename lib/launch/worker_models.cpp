#include "launch/worker_models.hpp"
#include "launch/ask_worker.hpp"
#include "launch/job.hpp"
#include "launch/worker_refusal.hpp"
#include "plan/batch.hpp"
#include "plan/model_dims.hpp"
#include "architectures/custom_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {

using nlohmann::json;

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
  const json question{{"config", architectures::config_text(dims, DType::f32)},
                      {"compute", name_of(low ? DType::bf16 : DType::f32)},
                      {"threads", facts.hardware.threads_of_rank()},
                      {"sizes", sizes}};
  const std::string worker = worker_path();
  const json said =
      json::parse(ask_worker(worker, "--describe-graph", question.dump()), nullptr, false);
  if (!said.is_object())
    refuse_worker(
        worker, "answers --describe-graph otherwise than a worker of trainx does; build it again");
  if (const auto problem = said.find("problem"); problem != said.end())
    throw UserError(ExitCode::invalid_recipe, problem->get<std::string>());
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

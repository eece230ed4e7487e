#include "describe.hpp"
#include "core/error.hpp"
#include "core/version.hpp"
#include "model/custom/measure.hpp"
#include "model/custom/registry.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/exported.hpp"
#include "execute/threads.hpp"
#include "metrics/report.hpp"
#include <c10/util/Exception.h>
#include <nlohmann/json.hpp>

namespace trainx::worker {

using nlohmann::json;

std::string describe_models() {
  json models = json::array();
  for (const auto& model : architectures::described_models())
    if (!architectures::is_exported(model)) models.push_back(architectures::to_json(model));
  return json{{"trainx", version}, {"models", std::move(models)}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string describe_graph(const std::string& question) {
  const json asked = json::parse(question);
  auto dims = architectures::custom_dims_from_config(asked.at("config").get<std::string>(),
                                                     "--describe-graph");
  if (!dims)
    throw UserError(ExitCode::usage,
                    "--describe-graph asks for a model that this worker does not have");
  if (const auto given = asked.find("export"); given != asked.end())
    architectures::set_export(*dims, given->at("folder").get<std::string>(),
                              architectures::export_config(dims->options));
  const DType compute = asked.at("compute").get<std::string>() == name_of(DType::bf16) ? DType::bf16
                                                                                       : DType::f32;
  const auto threads = asked.at("threads").get<std::int64_t>();
  execute::set_compute_threads(threads);
  json answer;
  try {
    for (const json& size : asked.at("sizes")) {
      const architectures::CustomShape shape = model::custom::measure_model(
          *dims, size.at(0).get<std::int64_t>(), size.at(1).get<std::int64_t>(), compute, threads);
      for (const std::string& metric : shape.metrics)
        if (metrics::is_own_key(metric))
          throw UserError(ExitCode::invalid_recipe,
                          "model " + dims->options.name + ": its loss has a metric '" + metric +
                              "', which lines of metrics.jsonl have of trainx's own; call it "
                              "otherwise");
      answer["shapes"].push_back(architectures::to_json(shape));
    }
  } catch (const UserError& e) {
    answer = {{"problem", e.what()}, {"code", static_cast<int>(e.code())}};
  } catch (const c10::Error& e) {  // of the modules' own backward
    answer = {{"problem", "model " + dims->options.name + ": " + e.what_without_backtrace()}};
  }
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace trainx::worker

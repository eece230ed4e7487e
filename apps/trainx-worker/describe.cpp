#include "describe.hpp"
#include "core/error.hpp"
#include "core/version.hpp"
#include "model/custom/measure.hpp"
#include "model/custom/registry.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/exported.hpp"
#include "options/field_json.hpp"
#include "options/own_json.hpp"
#include "execute/threads.hpp"
#include "metrics/report.hpp"
#include <c10/util/Exception.h>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::worker {

using nlohmann::json;

namespace {

template <class Part>
const Part& named(const std::vector<Part>& known, const std::string& name) {
  const auto found = std::ranges::find(known, name, &Part::name);
  if (found == known.end())
    throw UserError(ExitCode::usage,
                    "this worker is asked about '" + name + "', which it does not have");
  return *found;
}

template <class Part>
void set_options(Part& part, const json& values) {
  if (const std::string problem = options::set_values(part.fields, part.name, values);
      !problem.empty())
    throw UserError(ExitCode::invalid_recipe, problem);
}

std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string describe_own_parts() {
  const auto all = [](const auto& parts) {
    json list = json::array();
    for (const auto& part : parts) list.push_back(to_json(part));
    return list;
  };
  auto models = architectures::described_models();
  std::erase_if(models, architectures::is_exported);
  return text_of({{"trainx", version},
                  {"models", all(models)},
                  {"optimizers", all(options::described_optimizers())},
                  {"schedules", all(options::described_schedules())},
                  {"data", all(options::described_data_sources())}});
}

std::string describe_schedule(const std::string& question) {
  const json asked = json::parse(question);
  options::OwnSchedule own = named(options::described_schedules(), asked.at("schedule"));
  json answer;
  try {
    set_options(own, asked.at("options"));
    const ScheduleFunction function = options::checked_function(own);
    ScheduleStep step{asked.at("warmup"), asked.at("total"), asked.at("warmup"), asked.at("lr")};
    answer["factors"] = json::array();
    for (; step.applied < std::max<std::int64_t>(step.total, 1); ++step.applied)
      answer["factors"].push_back(function(step));
  } catch (const UserError& e) { answer = {{"problem", e.what()}}; }
  return text_of(answer);
}

std::string describe_data(const std::string& question) {
  const json asked = json::parse(question);
  options::OwnDataOptions own = named(options::described_data_sources(), asked.at("data"));
  json answer = json::object();
  try {
    set_options(own, asked.at("options"));
    const bool trains = asked.at("split") == "train";
    if (const auto source = options::open_checked(own, trains ? DataSplit::train : DataSplit::eval))
      answer = {{"length", source->length()}, {"vocab_size", source->vocab_size()}};
  } catch (const UserError& e) {
    answer = {{"problem", e.what()}, {"code", static_cast<int>(e.code())}};
  }
  return text_of(answer);
}

std::string describe_graph(const std::string& question) {
  const json asked = json::parse(question);
  auto dims = architectures::custom_dims_from_config(asked.at("config").get<std::string>(),
                                                     "--describe-graph");
  if (!dims)
    throw UserError(ExitCode::usage,
                    "--describe-graph asks for a model that this worker does not have");
  if (const auto given = asked.find("export"); given != asked.end()) {
    architectures::set_export(*dims, given->at("folder").get<std::string>(),
                              architectures::export_config(dims->options));
    architectures::set_target_length(*dims, given->at("longest").at(0), given->at("longest").at(1));
  }
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
  return text_of(answer);
}

}  // namespace trainx::worker

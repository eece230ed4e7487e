#include "describe.hpp"
#include "core/error.hpp"
#include "core/version.hpp"
#include "measure_rule.hpp"
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
#include <chrono>
#include <limits>
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

/// What the run computes on.
std::unique_ptr<model::custom::MeasuredDevice> device_of(const json& asked) {
  const auto gpu = asked.find("gpu");
  if (gpu == asked.end()) return model::custom::measured_cpu();
  return model::custom::measured_gpu({.tf32 = gpu->at("tf32").get<bool>(),
                                      .deterministic = gpu->at("deterministic").get<bool>(),
                                      .captures = gpu->at("captures").get<bool>()});
}

void require_known_metrics(const architectures::CustomDims& dims,
                           const architectures::CustomShape& shape) {
  for (const std::string& metric : shape.metrics)
    if (metrics::is_own_key(metric))
      throw UserError(ExitCode::invalid_recipe,
                      "model " + dims.options.name + ": its loss has a metric '" + metric +
                          "', which lines of metrics.jsonl have of trainx's own; call it "
                          "otherwise");
}

/// A module may need more than one sample in training, as BatchNorm1d does: two are measured then
/// in place of one, if the run has micro-batches of more.
architectures::CustomShape measured(const architectures::CustomDims& dims, const json& size,
                                    std::int64_t largest, std::int64_t threads,
                                    model::custom::MeasuredDevice& device) {
  const auto samples = size.at(0).get<std::int64_t>();
  const auto measure = [&](std::int64_t of) {
    return model::custom::measure_model(
        dims, of, size.at(1).get<std::int64_t>(),
        architectures::compute_from_name(size.at(2).get<std::string>()), threads, device);
  };
  try {
    return measure(samples);
  } catch (const UserError& e) {
    if (samples > 1 || largest == 1 || e.code() != ExitCode::invalid_recipe) throw;
  }
  return measure(2);
}

/// Sizes ascend. Where the plan chooses among them, those are left out that are larger than one
/// that exceeds its budget, has no room, or took long to measure.
void describe_sizes(const architectures::CustomDims& dims, const json& asked,
                    model::custom::MeasuredDevice& device, json& answer) {
  constexpr std::chrono::seconds enough{20};
  const auto begin = std::chrono::steady_clock::now();
  const auto threads = asked.at("threads").get<std::int64_t>();
  const auto budget = asked.find("budget");
  std::int64_t largest = std::numeric_limits<std::int64_t>::max(), most = 1;
  for (const json& size : asked.at("sizes")) most = std::max(most, size.at(0).get<std::int64_t>());
  for (const json& size : asked.at("sizes")) {
    const auto samples = size.at(0).get<std::int64_t>();
    if (samples > largest) break;
    try {
      const architectures::CustomShape shape = measured(dims, size, most, threads, device);
      require_known_metrics(dims, shape);
      answer["shapes"].push_back(architectures::to_json(shape));
      std::int64_t bytes = shape.library_bytes;
      for (const architectures::CustomModule& m : shape.modules) bytes += m.graph_bytes;
      const bool late = std::chrono::steady_clock::now() - begin > enough;
      if (budget != asked.end() && (late || bytes > budget->get<std::int64_t>())) largest = samples;
    } catch (const UserError& e) {
      if (budget == asked.end() || samples == 1 || e.code() != ExitCode::out_of_memory) throw;
      break;
    }
  }
}

}  // namespace

std::string describe_own_parts() {
  const auto all = [](const auto& parts) {
    json list = json::array();
    using architectures::to_json;
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

std::string describe_rule(const std::string& question) {
  const json asked = json::parse(question);
  options::OwnOptimizerOptions own = named(options::described_optimizers(), asked.at("optimizer"));
  json answer;
  try {
    set_options(own, asked.at("options"));
    const auto device = device_of(asked);
    const facts::OwnRuleFacts found = measure_rule(optim::OwnRule(own), *device);
    answer = {{"bytes_per_element", found.bytes_per_element},
              {"seconds_per_element", found.seconds_per_element},
              {"not_captured", found.not_captured}};
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
  execute::set_compute_threads(asked.at("threads").get<std::int64_t>());
  json answer;
  try {
    const auto device = device_of(asked);
    describe_sizes(*dims, asked, *device, answer);
  } catch (const UserError& e) {
    answer = {{"problem", e.what()}, {"code", static_cast<int>(e.code())}};
  } catch (const c10::Error& e) {  // of the modules' own backward
    answer = {{"problem", "model " + dims->options.name + ": " + e.what_without_backtrace()}};
  }
  return text_of(answer);
}

}  // namespace trainx::worker

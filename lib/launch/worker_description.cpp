#include "launch/worker_description.hpp"
#include "architectures/custom_json.hpp"
#include "core/version.hpp"
#include "launch/ask_worker.hpp"
#include "launch/worker_data_source.hpp"
#include "launch/worker_refusal.hpp"
#include "launch/worker_schedule.hpp"
#include "options/own_json.hpp"
#include "recipe/worker_parts.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {

using nlohmann::json;

void describe_worker(const std::string& worker) {
  const json said = json::parse(ask_worker(worker, "--describe", ""), nullptr, false);
  if (!said.is_object() || !said.contains("trainx") || !said.contains("models"))
    refuse_worker(worker,
                  "answers --describe otherwise than a worker of trainx does "
                  "(trainx::worker_main)");
  recipe::WorkerParts parts;
  try {
    if (const auto its = said.at("trainx").get<std::string>(); its != version)
      refuse_worker(
          worker, "is of trainx " + its + ", this is " + std::string(version) + "; build it again");
    for (const json& model : said.at("models"))
      parts.models.push_back(architectures::custom_options_from_json(model));
    for (const json& optimizer : said.at("optimizers"))
      parts.optimizers.push_back(options::own_optimizer_from_json(optimizer));
    for (const json& schedule : said.at("schedules")) {
      auto& own = parts.schedules.emplace_back(options::own_schedule_from_json(schedule));
      own.build = asked_schedule(worker, own.name);
    }
    for (const json& source : said.at("data")) {
      auto& own = parts.data.emplace_back(options::own_data_from_json(source));
      own.open = asked_data_source(worker, own.name);
    }
  } catch (const json::exception& e) {
    refuse_worker(worker,
                  std::string("describes what it has otherwise than this trainx reads; build it "
                              "again: ") +
                      e.what());
  }
  if (const std::string problem = recipe::make_known(std::move(parts)); !problem.empty())
    refuse_worker(worker, "cannot be used: " + problem);
}

}  // namespace trainx::launch

#include "recipe/worker_parts.hpp"
#include "recipe/walk.hpp"

namespace trainx::recipe {
namespace {

struct KeyCollector {
  std::set<std::string> keys{"type"};
  template <class T>
  void operator()(std::string_view key, T&, const Limits&, std::string_view) {
    keys.emplace(key);
  }
};

/// Keys that every alternative of the section has.
template <class Section>
std::set<std::string> keys_of(Section section) {
  KeyCollector collector;
  visit_fields(collector, section);
  return collector.keys;
}

std::string check(const WorkerParts& parts) {
  std::string problem =
      options::check_description(parts.models, alternative_names(options::ModelOptions{}));
  if (problem.empty())
    problem = options::check_description(parts.optimizers,
                                         alternative_names(options::OptimizerOptions{}));
  if (problem.empty())
    problem = options::check_description(
        parts.schedules, alternative_names(options::ScheduleOptions{}), keys_of(ScheduleSection{}));
  if (problem.empty()) {
    std::set<std::string> keys = keys_of(DataSection{});
    keys.merge(keys_of(options::MixtureEntry{}));  // whose sources may be the worker's
    problem =
        options::check_description(parts.data, alternative_names(options::DataOptions{}), keys);
  }
  return problem;
}

}  // namespace

std::string make_known(WorkerParts parts) {
  const std::string problem = check(parts);
  if (!problem.empty()) return problem;
  options::set_described_models(std::move(parts.models));
  options::set_described_optimizers(std::move(parts.optimizers));
  options::set_described_schedules(std::move(parts.schedules));
  options::set_described_data_sources(std::move(parts.data));
  return {};
}

}  // namespace trainx::recipe

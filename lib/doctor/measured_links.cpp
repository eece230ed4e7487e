#include "doctor/gpus.hpp"
#include "doctor/program_output.hpp"
#include "facts/links.hpp"

namespace trainx::doctor {

using namespace facts;
namespace {

// a second for two GPUs; eight have 56 directions
constexpr double links_patience_seconds = 120;

}  // namespace

void measure_links(const std::string& worker, GpusFacts& facts) {
  if (facts.gpus.empty() || facts.built_cuda.empty()) return;
  const ProgramOutput said = run_program(worker, {"--measure-links"}, {}, links_patience_seconds);
  try {
    if (said.fine())
      facts.links = link_rates_from_json(Json::parse(said.out));
    else
      facts.unread["links"] = said.problem;
  } catch (const Json::exception&) {
    facts.unread["links"] =
        "the worker answers --measure-links otherwise than a worker of trainx does";
  }
  if (!facts.links) return;
  std::vector<std::string> names;
  for (const GpuFacts& gpu : facts.gpus) names.push_back(gpu.name);
  remember_links(*facts.links, names);
}

}  // namespace trainx::doctor

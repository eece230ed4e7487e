#include "doctor/installation.hpp"
#include "core/version.hpp"
#include "doctor/program_output.hpp"
#include <unistd.h>
#include <sstream>

namespace trainx::doctor {

using namespace facts;
namespace {

// the worker's start takes half a second, from a cold disk a few
constexpr double patience_seconds = 10;

void ask_version(InstallationFacts& facts) {
  // Asked anew: an answer that the cache kept would hide a LibTorch that has gone since.
  const ProgramOutput said = run_program(facts.worker, {"--describe"}, {}, patience_seconds);
  if (!said.fine()) {
    facts.worker_problem = said.problem;
    return;
  }
  const auto answer = nlohmann::json::parse(said.out, nullptr, false);
  if (answer.is_object() && answer.value("trainx", nlohmann::json()).is_string())
    facts.worker_version = answer["trainx"].get<std::string>();
  else
    facts.worker_problem = "it answers --describe otherwise than a worker of trainx does";
}

}  // namespace

void read_loaded_libraries(const std::string& listing, InstallationFacts& facts) {
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, path;
    if (!(words >> name >> arrow >> path) || arrow != "=>") continue;
    if (path == "not")
      facts.missing_libraries.push_back(name);
    else if (name == "libtorch_cpu.so")
      facts.libtorch = path;
  }
}

InstallationFacts detect_installation(const std::string& worker, const BuildFacts& build) {
  InstallationFacts facts;
  facts.version = version;
  facts.build = build;
  facts.worker = worker;
  facts.worker_present = ::access(worker.c_str(), F_OK) == 0;
  if (!facts.worker_present) {
    facts.worker_problem = "it is not there";
    return facts;
  }
  ask_version(facts);
  // With this the loader lists what it would load and runs nothing, as ldd does.
  const ProgramOutput listing =
      run_program(worker, {"--describe"}, {"LD_TRACE_LOADED_OBJECTS=1"}, patience_seconds);
  read_loaded_libraries(listing.out, facts);
  if (!facts.libtorch)
    facts.unread["libtorch"] = facts.missing_libraries.empty()
                                   ? "the loader lists no libtorch_cpu.so for the worker"
                                   : "the loader does not find " + joined(facts.missing_libraries);
  return facts;
}

Findings findings_of(const InstallationFacts& facts) {
  if (!facts.missing_libraries.empty())
    return {{Finding::Weight::error,
             "the worker " + facts.worker + " does not find " + joined(facts.missing_libraries),
             "install torch 2.11.0 and build with TRAINX_TORCH_DIR set to its folder, or set "
             "LD_LIBRARY_PATH to where the libraries are"}};
  if (!facts.worker_version)
    return {{Finding::Weight::error,
             "the worker " + facts.worker + " cannot be used: " + facts.worker_problem,
             "build trainx-worker beside trainx, or name another worker with --worker "
             "(TRAINX_WORKER)"}};
  if (*facts.worker_version != facts.version)
    return {{Finding::Weight::error,
             "the worker " + facts.worker + " is of trainx " + *facts.worker_version +
                 ", this is " + facts.version,
             "build both from the same sources"}};
  return {};
}

Json to_json(const InstallationFacts& facts) {
  Json j{{"version", facts.version},
         {"build",
          {{"type", facts.build.type},
           {"compiler", facts.build.compiler},
           {"cuda", facts.build.cuda.empty() ? Json() : Json(facts.build.cuda)}}}};
  j["worker"] = {{"path", facts.worker},
                 {"present", facts.worker_present},
                 {"answers", facts.worker_version.has_value()}};
  put(j["worker"], "version", facts.worker_version);
  if (!facts.worker_problem.empty()) j["worker"]["problem"] = facts.worker_problem;
  put(j, "libtorch", facts.libtorch);
  if (!facts.missing_libraries.empty()) j["missing_libraries"] = facts.missing_libraries;
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const InstallationFacts& facts) {
  Lines lines{joined({facts.version, facts.build.type, facts.build.compiler,
                      facts.build.cuda.empty() ? "without CUDA" : "CUDA " + facts.build.cuda})};
  lines.push_back("worker " + facts.worker +
                  (facts.worker_version ? " answers" : ": " + facts.worker_problem));
  if (facts.libtorch) lines.push_back("LibTorch " + *facts.libtorch);
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor

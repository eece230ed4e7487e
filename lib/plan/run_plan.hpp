// Everything that is decided before anything runs: a pure function of the recipe and the facts; no
// files, no clock, no device.
#pragma once
#include "plan/roles.hpp"
#include "plan/timetable.hpp"

namespace trainx::plan {

/// Made whole by make_run_plan and never edited. Memory and time are those of the role that takes
/// the most.
struct RunPlan : Draft, Timetable, Prediction {
  ProgramSet program_set;
  /// What the rank runs; of the first, which has all duties, where none is named.
  const RankRole& role(int rank = 0) const { return program_set.of(rank); }
  double flops_per_token() const;  // of the model in a step: what is recomputed does not count
};

struct PlanOptions {
  std::string gpu;  // plan for this device instead of the CPU, as --gpu takes it
  // between the ranks of a host; nothing: this machine's, or of --gpu's data sheet
  std::optional<hardware::LinkKind> links = {};
  // the program is to be run: it holds all micro-steps, however many
  bool every_micro_step = false;
  std::set<std::string> fp8_fallback = {};  // Draft
};

/// Throws UserError: 78 what the recipe asks for is not possible (batch arithmetic, dimensions), 71
/// it does not fit memory.budget (by how much, what would).
RunPlan make_run_plan(const recipe::Recipe& recipe, const facts::Facts& facts,
                      const PlanOptions& options = {});

/// The plan of a run whose products have fallen back: batch, memory and all else that was decided
/// stay. Throws UserError 71 where values in `compute` do not fit.
RunPlan with_fallback(const RunPlan& plan, const facts::Facts& facts,
                      const std::set<std::string>& fp8_fallback);

/// For people and for --json.
std::string describe(const RunPlan& plan, bool with_program);
nlohmann::json to_json(const RunPlan& plan, bool with_program);
/// Hash of all that workers do (programs, placements, lr table): launcher and workers must agree.
std::string fingerprint(const RunPlan& plan);

}  // namespace trainx::plan

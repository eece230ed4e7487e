// A pipeline's schedule as a table of stages by time.
#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// A line for each stage; a column for as long as a forward of a chunk takes where chunks are
/// alike, with the number of the micro-step that is computed, of a backward in brackets, and of
/// chunks behind a letter: a, b, ... At most `columns` of them, then says how many follow. ""
/// without stages.
std::string schedule_table(const RunPlan& plan, int columns = 60);

/// [{"stage", "turns": [{"backward", "chunk", "micro_step", "begin", "end"}]}], in forwards of a
/// chunk; empty without stages.
nlohmann::json schedule_json(const RunPlan& plan);

}  // namespace trainx::plan

#pragma once
#include "metrics/console.hpp"
#include "plan/run_plan.hpp"
#include <map>
#include <string>

namespace trainx::worker {

/// Files that the run's checkpoints have beside their weights, by name: those of the folder where
/// it began (a checkpoint, model.init_from; may be empty), and where that has no tokenizer, the one
/// that the training data was made with, so that text goes in and out of what was trained. A chat
/// template that the data were written by takes the place of the folder's. `console` (may be null)
/// is told what is missing.
std::map<std::string, std::string> carried_files(const std::string& began_from,
                                                 const plan::RunPlan& plan,
                                                 metrics::Console* console);

/// Path of the tokenizer that text goes in and out by: in the folder where the run began, else the
/// one that the training data was made with; empty: there is none.
std::string tokenizer_beside(const std::string& began_from, const plan::RunPlan& plan);

}  // namespace trainx::worker

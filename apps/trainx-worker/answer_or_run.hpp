#pragma once
#include "launch/job.hpp"
#include "metrics/console.hpp"
#include <functional>
#include <string>
#include <vector>

namespace trainx::worker {

/// Does the training of a job; returns the exit code, or throws what people are told.
using Train = std::function<int(const launch::Job&, metrics::Console&)>;

/// Does a launcher ask so (`--describe` and its like)?
bool is_question(const std::string& argument);

/// Answers the questions of a launcher, or does the job that it handed
/// over. Returns the exit code.
int answer_or_run(const std::vector<std::string>& arguments, const Train& train);

}  // namespace trainx::worker

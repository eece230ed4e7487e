// What a worker of the user's own adds to what a recipe may name.
#pragma once
#include "options/model/custom.hpp"
#include "options/data/own.hpp"
#include "options/optim/own.hpp"
#include "options/schedule/own.hpp"

namespace trainx::recipe {

struct WorkerParts {
  std::vector<options::CustomOptions> models;
  std::vector<options::OwnOptimizerOptions> optimizers;
  std::vector<options::OwnSchedule> schedules;
  std::vector<options::OwnDataOptions> data;
};

/// Makes them known to the reader of recipes. Returns a sentence about what forbids that (a name
/// that is taken, a key twice); empty: nothing.
std::string make_known(WorkerParts parts);

}  // namespace trainx::recipe

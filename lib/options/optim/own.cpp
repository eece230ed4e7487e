#include "options/optim/own.hpp"
#include "options/described.hpp"
#include <cmath>

namespace trainx::options {
namespace {

std::vector<OwnOptimizerOptions>& optimizers() {
  static std::vector<OwnOptimizerOptions> all;
  return all;
}

std::string check_states(const OwnOptimizerOptions& o) {
  std::set<std::string> names{"ema"};  // of optimizer.ema_decay
  for (const program::StateSpec& s : o.kept) {
    if (!is_name(s.name, "_"))
      return "has a state '" + s.name + "': names are of letters, digits and '_'";
    if (!names.insert(s.name).second)
      return s.name == "ema" ? "has a state 'ema', which is that of optimizer.ema_decay"
                             : "has the state '" + s.name + "' twice";
    if (!std::isfinite(s.initial)) return "begins its state '" + s.name + "' with no finite number";
  }
  return {};
}

}  // namespace

const std::vector<OwnOptimizerOptions>& described_optimizers() { return optimizers(); }
void set_described_optimizers(std::vector<OwnOptimizerOptions> described) {
  optimizers() = std::move(described);
}

double* weight_decay_of(OwnOptimizerOptions& o) {
  for (OptionField& f : o.fields)
    if (f.key == "weight_decay") return std::get_if<double>(&f.value);
  return nullptr;
}

std::string check_description(const std::vector<OwnOptimizerOptions>& described,
                              const std::vector<std::string>& taken) {
  std::set<std::string> names(taken.begin(), taken.end());
  for (OwnOptimizerOptions o : described) {
    if (std::string problem = check_described("optimizer", o.name, o.fields, names);
        !problem.empty())
      return problem;
    for (const OptionField& f : o.fields)
      if (f.key == "weight_decay" && !weight_decay_of(o))
        return "optimizer " + o.name + " has an option 'weight_decay' that is no double";
    if (const std::string problem = check_states(o); !problem.empty())
      return "optimizer " + o.name + " " + problem;
  }
  return {};
}

}  // namespace trainx::options

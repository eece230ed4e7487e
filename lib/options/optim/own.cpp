#include "options/optim/own.hpp"
#include "options/described.hpp"
#include "options/registry.hpp"
#include <cmath>

namespace trainx::options {
namespace {

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

const std::vector<OwnOptimizerOptions>& described_optimizers() {
  return registry<OwnOptimizerOptions>();
}
void set_described_optimizers(std::vector<OwnOptimizerOptions> described) {
  registry<OwnOptimizerOptions>() = std::move(described);
}

double* weight_decay_of(OwnOptimizerOptions& o) {
  for (OptionField& f : o.fields)
    if (f.key == "weight_decay") return std::get_if<double>(&f.value);
  return nullptr;
}

std::string check_description(const std::vector<OwnOptimizerOptions>& described,
                              const std::vector<std::string>& taken) {
  return check_all_described("optimizer", described, taken, {}, [](OwnOptimizerOptions o) {
    for (const OptionField& f : o.fields)
      if (f.key == "weight_decay" && !weight_decay_of(o))
        return std::string("has an option 'weight_decay' that is no double");
    return check_states(o);
  });
}

}  // namespace trainx::options

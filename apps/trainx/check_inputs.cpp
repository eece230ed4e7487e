#include "check_inputs.hpp"
#include "architectures/architecture.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "core/units.hpp"
#include "data/target_check.hpp"
#include "plan/source_options.hpp"

namespace trainx::app {
namespace {

// Parsed in a few hundredths of a second.
constexpr std::int64_t most_bytes = std::int64_t{2} << 20;

std::int64_t bytes_of(const data::Source& source) {
  std::int64_t bytes = 0;
  for (const data::DataFile& file : source.files()) bytes += file.bytes;
  return bytes;
}

void check_split(const Prepared& p, data::Split split, std::vector<std::string>& notes) {
  const auto& data = p.plan.recipe.data.source;
  data::SourceOptions how = plan::source_options(p.plan);
  how.scan = false;
  const auto source = data::open_source(data, split, how);
  if (!source || source->files().empty()) return;  // generated, or of the user's own
  const std::string name = split == data::Split::train ? "data.train" : "data.eval";
  if (const std::int64_t bytes = bytes_of(*source); bytes > most_bytes) {
    notes.push_back("not checked: " + name + " (" + human_bytes(bytes) +
                    "), which train looks through before its first step");
    return;
  }
  how.scan = true;
  const auto scanned = data::open_source(data, split, how);
  for (std::string& sentence : data::check_targets(*scanned, split))
    notes.push_back(std::move(sentence));
}

/// Weights that a run begins with, unless it goes on from a checkpoint.
void check_weights(const Prepared& p) {
  const auto& from = p.plan.recipe.model.init_from;
  if (!from || !checkpoint::Store(run_folder_of(p.plan.recipe)).list().empty()) return;
  const checkpoint::WeightsFolder weights(*from);  // reads the headers of its files
  weights.require_read([&](const std::string& name) {
    return !architectures::parameter_name(p.plan.dims, name).empty();
  });
}

}  // namespace

std::vector<std::string> check_inputs(const Prepared& p, MissingWeights weights) {
  std::vector<std::string> notes;
  Refusals refusals;
  const facts::DataFacts& data = p.facts.data;
  refusals.collect([&] {
    try {
      check_weights(p);
    } catch (const UserError& missing) {
      if (weights == MissingWeights::refused || missing.code() != ExitCode::input_missing) throw;
      notes.push_back(std::string("train would be refused: ") + missing.what());
    }
  });
  // the plan notes what is not there
  if (data.train_present) refusals.collect([&] { check_split(p, data::Split::train, notes); });
  if (data.eval_present) refusals.collect([&] { check_split(p, data::Split::eval, notes); });
  refusals.throw_all();
  return notes;
}

}  // namespace trainx::app

#include "start.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "recipe/resolved.hpp"

namespace trainx::worker {
namespace {

using recipe::Resume;

/// UserError 83 where there are checkpoints and none is valid: a run that began anew would replace
/// what could not be read.
checkpoint::Found newest(const std::string& folder, metrics::Console& console) {
  std::vector<checkpoint::Skipped> skipped;
  const checkpoint::Found found = checkpoint::Store(folder).newest_valid(&skipped);
  if (found.path.empty() && !skipped.empty()) {
    std::string all;
    for (const auto& s : skipped) all += "\n  " + s.path + ": " + s.why;
    throw UserError(ExitCode::no_checkpoint,
                    folder +
                        " holds no checkpoint that can be read, and nothing was changed; mend one, "
                        "give run.name another value, or begin anew with `--overwrite`, which "
                        "removes them:" +
                        all);
  }
  for (const auto& s : skipped) console.skipped_checkpoint(s.path, s.why);
  return found;
}

std::string states_of(const recipe::Recipe& r) {
  std::string names;
  for (const auto& s :
       std::visit([](const auto& o) { return options::states(o); }, r.optimizer.options))
    names += s.name + " " + std::string(name_of(s.dtype)) + " ";
  if (const auto* o = std::get_if<options::AdamW8bitOptions>(&r.optimizer.options))
    names += std::to_string(o->min_8bit_size) + (o->embeddings_32bit ? " without embeddings" : "");
  if (r.optimizer.ema_decay) names += " average";
  for (const recipe::ParameterGroup& group : r.optimizer.groups)
    if (group.freeze) names += " " + group.match + (*group.freeze ? " frozen" : " trained");
  return names;
}

}  // namespace

Start find_start(const std::string& folder, const std::string& fork_source,
                 const recipe::Recipe& recipe, metrics::Console& console) {
  const auto& resume = recipe.checkpoint.resume;
  const bool never = !resume.is_auto() && *resume.value == Resume::never,
             must = !resume.is_auto() && *resume.value == Resume::must;
  if (never && !checkpoint::Store(folder).list().empty())
    throw UserError(ExitCode::cannot_create,
                    folder +
                        " already holds checkpoints and checkpoint.resume is never; give run.name "
                        "another value or remove the folder");
  Start start{newest(folder, console)};
  start.own = !start.from.path.empty();
  if (start.own) return start;
  if (fork_source.empty()) {
    if (must)
      throw UserError(ExitCode::no_checkpoint,
                      folder +
                          " holds no valid checkpoint and checkpoint.resume is must; set it to "
                          "auto to begin anew");
    return start;
  }
  start.from = newest(fork_source, console);
  if (start.from.path.empty())
    throw UserError(ExitCode::no_checkpoint,
                    "--fork: " + fork_source + " holds no valid checkpoint to begin from");
  const std::string resolved = fork_source + "/resolved.yaml";
  start.with_states = states_of(recipe::read_resolved(resolved).recipe) == states_of(recipe);
  if (!start.with_states)
    console.warning(
        "--fork: the optimizer keeps other states than the run's; it begins at step 0 with the "
        "weights alone");
  return start;
}

}  // namespace trainx::worker

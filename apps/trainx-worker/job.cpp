#include "checkpoint/checkpoint.hpp"
#include "checkpoint/weights_folder.hpp"
#include "comm/failed_elsewhere.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/memory_limit.hpp"
#include "core/thread_limit.hpp"
#include "log/crash_ring.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::worker {
namespace {

const std::filesystem::filesystem_error* file_error(const std::exception& e) {
  return dynamic_cast<const std::filesystem::filesystem_error*>(&e);
}

}  // namespace

ExitCode exit_code_of(const std::exception& e) {
  if (const auto* user = dynamic_cast<const UserError*>(&e)) return user->code();
  if (is_thread_limit(e)) return ExitCode::out_of_memory;
  if (file_error(e)) return ExitCode::io_error;
  // ATen's allocator throws its general error: only the words tell.
  const bool memory = dynamic_cast<const std::bad_alloc*>(&e) ||
                      std::string_view(e.what()).find("not enough memory") !=
                          std::string_view::npos;
  return memory ? ExitCode::out_of_memory : ExitCode::bug;
}

ExitCode cause_of(const std::exception& e) {
  const auto* elsewhere = dynamic_cast<const comm::FailedElsewhere*>(&e);
  return elsewhere ? elsewhere->cause() : exit_code_of(e);
}

std::string sentence_of(const std::exception& e) {
  if (const auto* file = file_error(e))
    return file->path1().string() + ": " + file->code().message();
  return is_thread_limit(e) ? thread_limit_sentence() : e.what();
}

int report_error(const std::exception& e, metrics::Console& console) {
  const ExitCode code = exit_code_of(e);
  std::string before = no_memory_sentence() + "; lower batch.micro_batch_size: ";
  if (dynamic_cast<const UserError*>(&e) || is_thread_limit(e) || file_error(e)) before = "";
  if (code == ExitCode::bug) before = "a bug in trainx, please report it: ";
  console.error(static_cast<int>(code), before + sentence_of(e));
  if (code == ExitCode::bug) log::write_ring("ended by a bug in trainx");
  return static_cast<int>(code);
}

plan::RunPlan plan_of(const launch::Job& job, const recipe::Recipe& recipe) {
  plan::RunPlan plan = plan::make_run_plan(recipe, job.facts);
  if (plan::fingerprint(plan) != job.plan_fingerprint)
    throw InternalError(
        "trainx and trainx-worker make different plans of this recipe; they are of different "
        "builds");
  const bool leaves_out = std::ranges::any_of(
      plan.role().train, [](const plan::PlacedProgram& p) { return p.program.repeats > 0; });
  if (leaves_out)
    plan = plan::make_run_plan(recipe, job.facts, {.gpu = {}, .every_micro_step = true});
  plan.choices = job.choices;
  return plan;
}

std::string weights_folder(const launch::Job& job) {
  if (!job.checkpoint.empty()) return job.checkpoint;
  if (checkpoint::has_weights(job.run_folder)) return job.run_folder;
  std::vector<checkpoint::Skipped> skipped;
  const checkpoint::Found found = checkpoint::Store(job.run_folder).newest_valid(&skipped);
  if (!found.path.empty()) return found.path;
  std::string why;
  for (const auto& s : skipped) why += "; " + s.path + ": " + s.why;
  throw UserError(
      ExitCode::input_missing,
      job.run_folder + " holds no valid checkpoint and no weights" + why + "; train it first");
}

}  // namespace trainx::worker

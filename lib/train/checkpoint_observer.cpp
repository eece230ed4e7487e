#include "train/checkpoint_observer.hpp"
#include "checkpoint/twice.hpp"
#include "core/error.hpp"
#include "log/log.hpp"
#include "train/callbacks.hpp"
#include "tensor/large_memory.hpp"
#include <algorithm>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

namespace trainx::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds between checkpoints under checkpoint.every: auto: training stands still for a hundredth
/// of the time at most, and is written beside for a tenth.
double seconds_between(double waited_s, double seconds) {
  return std::max({plan::least_checkpoint_seconds, 100 * waited_s, 10 * seconds});
}

/// On a thread of its own; where none is to be had, at once, and training waits.
template <class Work>
auto begin_beside(Work work) {
  const auto shared = std::make_shared<Work>(std::move(work));
  try {
    return std::async(std::launch::async, [shared] { return (*shared)(); });
  } catch (const std::system_error&) {
    std::packaged_task<decltype(work())()> task([shared] { return (*shared)(); });
    auto done = task.get_future();
    task();
    return done;
  }
}

}  // namespace

CheckpointObserver::CheckpointObserver(TrainingParts& parts, checkpoint::Store* store,
                                       metrics::Console& console,
                                       std::optional<std::int64_t> saved_step, std::int64_t threads,
                                       std::map<std::string, std::string> carried,
                                       const TrainState& state)
    : parts_(parts),
      store_(store),
      console_(console),
      threads_(threads),
      carried_(std::move(carried)),
      every_(parts.plan.checkpoint_every, state),
      saved_(saved_step),
      saved_best_(state.best_step),
      saved_lr_(state.own_lr) {
  asynchronous_ = all_write_beside();
  if (asynchronous_ && !shares() && !takes_snapshots()) parts_.device->expect_downloads();
}

/// Of ranks that share a checkpoint the hosts may have chosen otherwise, by the memory that they
/// have.
bool CheckpointObserver::all_write_beside() const {
  const bool here = parts_.plan.writes_beside_training();
  if (!shares()) return here;
  const std::string yes = "beside";
  const std::vector<std::string> all = parts_.ranks.exchange(here ? yes : "");
  return std::ranges::count(all, yes) == std::ssize(all);
}

bool CheckpointObserver::needs_rest_after(std::int64_t step) const { return every_.due_at(step); }

void CheckpointObserver::on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) {
  step_s_ = step.step_time_s;
  const bool due = every_.due_at(state.step);
  every_.watch(state);
  // evaluated just before, lower than ever: `best` has to be on disk
  const bool best = state.best_step == state.step;
  const bool act = at_rest && (best || due);
  if (writing_ && (act || !step.any_is_busy)) finish_writing();
  if (!act) return;
  try {
    save(state);
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
    tell_failure(e);
  }
  every_.acted(state);
}

void CheckpointObserver::on_end(TrainState& state, execute::Request) {
  save_now(state);  // what fails now ends the run
}

std::string CheckpointObserver::save_now(TrainState& state) {
  if (writing_) finish_writing();
  // the last evaluation may have found the best after the save
  if (!has_saved(state)) {
    save(state);
    every_.acted(state);
  }
  if (writing_) complete_writing();
  return store_ ? store_->folder() + "/checkpoint-" + std::to_string(state.step) : "";
}

void CheckpointObserver::complete_writing() {
  try {
    const std::string path = end_of_writing();
    saved(*writing_, path);
  } catch (const UserError&) {
    writing_.reset();
    throw;
  }
  writing_.reset();
}

void CheckpointObserver::save(TrainState& state) {
  const auto begun = Clock::now();
  const execute::Ranks::Busy busy(parts_.ranks, "saving a checkpoint");
  log::debug("checkpoint of step " + std::to_string(state.step) + " begun" +
             (asynchronous_ ? ", written beside training" : ""));
  before_save_();
  if (asynchronous_) return begin_writing(state, begun);
  parts_.device->download();
  const auto contents =
      checkpoint_contents(parts_.plan, parts_.resident, state, threads_, carried_);
  const std::int64_t keep_last = parts_.plan.recipe.checkpoint.keep_last;
  const bool is_best = state.best_step == state.step;
  std::string path;
  if (shares()) {
    // ranks gather as they write: if one fails, which all learn of, all do it again
    path = checkpoint::twice([&] {
      state::SharedSave shared(parts_.ranks, store_, state.step, contents);
      shared.write(contents);
      return shared.finish(keep_last, is_best);
    });
  } else {
    path = store_->save(state.step, contents, keep_last, is_best);
  }
  const Writing written{.step = state.step,
                        .best_step = state.best_step,
                        .own_lr = state.own_lr,
                        .begun = begun,
                        .waited_s = seconds_since(begun),
                        .shared = {},
                        .done = {}};
  saved(written, path);
}

void CheckpointObserver::begin_writing(TrainState& state, Clock::time_point begun) {
  const bool copies = takes_snapshots();
  if (shares() || copies)
    parts_.device->download();
  else
    parts_.device->begin_download();
  if (copies && !snapshot_) snapshot_.emplace(parts_.role.train.front(), parts_.plan.update.states);
  const state::ResidentState& resident =
      copies ? snapshot_->take({parts_.device->residents(), parts_.device->host()})
             : parts_.resident;
  auto contents = checkpoint_contents(parts_.plan, resident, state, threads_, carried_);
  Writing& writing = writing_.emplace();
  writing.step = state.step;
  writing.best_step = state.best_step;
  writing.own_lr = state.own_lr;
  writing.begun = begun;
  writing.step_s = step_s_;
  try {
    if (shares()) {
      state::SharedSave& shared =
          writing.shared.emplace(parts_.ranks, store_, state.step, contents);
      shared.gather(contents);
      writing.done = begin_beside([&shared] {
        shared.write_gathered();
        return Written{};
      });
    } else {
      const bool is_best = state.best_step == state.step;
      writing.done = begin_beside([device = copies ? nullptr : parts_.device.get(), store = store_,
                                   step = state.step, contents = std::move(contents),
                                   keep_last = parts_.plan.recipe.checkpoint.keep_last, is_best,
                                   on_gpu = parts_.plan.on_gpu] {
        std::optional<tensor::OneThread> alone;
        if (!on_gpu) alone.emplace();  // the other cores compute steps
        const double copied_s = device ? device->end_download() : 0;
        return Written{store->save(step, contents, keep_last, is_best), copied_s};
      });
    }
  } catch (const UserError&) {
    writing_.reset();
    throw;
  }
  writing.waited_s = seconds_since(begun);
}

std::string CheckpointObserver::end_of_writing() {
  const auto begin = Clock::now();
  const execute::Ranks::Busy busy(parts_.ranks, "saving a checkpoint");
  auto [path, copied_s] = writing_->done.get();
  // the next step's update came after the copy, its forward and backward beside it
  writing_->waited_s += std::max(0.0, copied_s - writing_->step_s);
  if (writing_->shared)
    path = writing_->shared->finish(parts_.plan.recipe.checkpoint.keep_last,
                                    writing_->best_step == writing_->step);
  writing_->waited_s += seconds_since(begin);
  return path;
}

void CheckpointObserver::finish_writing() {
  try {
    complete_writing();
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
    tell_failure(e);
  }
}

void CheckpointObserver::tell_failure(const UserError& e) {
  if (store_)
    console_.warning(std::string(e.what()) + "; the run goes on, " +
                     (saved_ ? "checkpoint-" + std::to_string(*saved_) + " stays the newest"
                             : std::string("without a checkpoint so far")));
}

void CheckpointObserver::saved(const Writing& written, const std::string& path) {
  saved_ = written.step;
  saved_best_ = written.best_step;
  saved_lr_ = written.own_lr;
  const double seconds = seconds_since(written.begun);
  log::debug("checkpoint of step " + std::to_string(written.step) + " is whole in " + path);
  if (parts_.plan.recipe.checkpoint.every.is_auto()) {
    const double next = seconds_between(written.waited_s, seconds);
    // all that save do so at the same steps
    every_.recur_every(shares() ? std::stod(parts_.ranks.from_first(std::to_string(next))) : next);
  }
  if (!store_) return;
  console_.checkpoint({written.step, path, written.waited_s, seconds});
  call_save_callbacks({written.step, path});
}

void CheckpointObserver::settle() noexcept {
  if (!writing_) return;
  try {
    const std::string path = writing_->done.get().path;
    if (!writing_->shared) saved(*writing_, path);
  } catch (const std::exception& e) {
    console_.warning(std::string(e.what()) + "; the checkpoint of step " +
                     std::to_string(writing_->step) + " is lost, older ones stay");
  }
  writing_.reset();
}

}  // namespace trainx::train

#include "own_loop.hpp"
#include "answer_or_run.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/thread_limit.hpp"
#include "launch/worker_signals.hpp"
#include "library_exit.hpp"
#include "program_end.hpp"
#include "trainx/run_error.hpp"
#include <csignal>
#include <cstdlib>
#include <utility>

namespace trainx::worker {

OwnLoop::OwnLoop(std::vector<std::string> arguments) {
  watch_for_library_exit();
  try {
    worker_ = std::thread([this, words = std::move(arguments)] { work(words); });
  } catch (const std::system_error&) {
    end_at_once(ExitCode::out_of_memory, thread_limit_sentence());
  }
  if (channel_.wait_for_training()) {
    // the worker's handlers are there by now
    const sigset_t held = launch::forwarded_set();
    pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
    watch_program_end(*this);
    return;
  }
  worker_.join();
  expect_exit();
  std::exit(exit_code_);
}

OwnLoop::~OwnLoop() { close(); }

void OwnLoop::work(const std::vector<std::string>& arguments) {
  UserError why(ExitCode::usage, "the run was closed; nothing can be asked of it any more");
  exit_code_ = answer_or_run(arguments, [&](const launch::Job& job, metrics::Console& console) {
    try {
      return train(job, console, &channel_);
    } catch (const std::exception& e) {
      why = UserError(exit_code_of(e), sentence_of(e));
      throw;
    }
  });
  channel_.end(why);
}

int OwnLoop::end(train::LoopCall how) {
  if (!worker_.joinable()) return exit_code_;
  try {
    channel_.call(std::move(how));
  } catch (const RunError&) {
    // always: nothing is answered behind the end, of which the worker has told
  }
  worker_.join();
  expect_exit();
  program_ends_with(exit_code_);
  return exit_code_;
}

}  // namespace trainx::worker

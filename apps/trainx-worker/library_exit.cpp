#include "library_exit.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/memory_limit.hpp"
#include "core/thread_limit.hpp"
#include "log/log.hpp"
#include "metrics/screen.hpp"
#include <omp.h>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>

namespace trainx::worker {
namespace {

std::atomic<bool> expected{false};

bool lacks_threads() {
  try {
    require_threads(omp_get_max_threads());
    return false;
  } catch (const std::system_error& e) { return is_thread_limit(e); }
}

void on_library_exit(int status, void*) {
  if (expected) return;
  if (lacks_threads()) end_at_once(ExitCode::out_of_memory, thread_limit_sentence());
  if (limit_is_reached()) end_at_once(ExitCode::out_of_memory, no_memory_sentence());
  end_at_once(ExitCode::bug, "a library ended the worker with exit code " + std::to_string(status) +
                                 "; its words are above");
}

std::terminate_handler abort_handler = nullptr;

void on_uncaught() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    if (exit_code_of(e) == ExitCode::out_of_memory)
      end_at_once(ExitCode::out_of_memory,
                  is_thread_limit(e) ? sentence_of(e) : no_memory_sentence() + ": " + e.what());
  }
  abort_handler();
}

}  // namespace

void end_at_once(ExitCode code, const std::string& sentence) {
  log::record(log::Level::error, sentence);
  const metrics::Screen screen = metrics::process_screen();
  screen.err("trainx: " + sentence + "\n");
  screen.finish();
  std::_Exit(static_cast<int>(code));
}

void watch_for_uncaught() { abort_handler = std::set_terminate(on_uncaught); }

void watch_for_library_exit() { ::on_exit(on_library_exit, nullptr); }
void expect_exit() { expected = true; }

}  // namespace trainx::worker

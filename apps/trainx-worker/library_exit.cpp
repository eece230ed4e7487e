#include "library_exit.hpp"
#include "core/error.hpp"
#include "core/thread_limit.hpp"
#include "log/log.hpp"
#include "metrics/screen.hpp"
#include <omp.h>
#include <atomic>
#include <cstdlib>
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
  const bool threads = lacks_threads();
  const std::string sentence = threads ? thread_limit_sentence()
                                       : "a library ended the worker with exit code " +
                                             std::to_string(status) + "; its words are above";
  log::record(log::Level::error, sentence);
  const metrics::Screen screen = metrics::process_screen();
  screen.err("trainx: " + sentence + "\n");
  screen.finish();
  std::_Exit(static_cast<int>(threads ? ExitCode::out_of_memory : ExitCode::bug));
}

}  // namespace

void watch_for_library_exit() { ::on_exit(on_library_exit, nullptr); }
void expect_exit() { expected = true; }

}  // namespace trainx::worker

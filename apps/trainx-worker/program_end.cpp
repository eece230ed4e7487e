#include "program_end.hpp"
#include "core/error.hpp"
#include "library_exit.hpp"
#include "own_loop.hpp"
#include "trainx/run_error.hpp"
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

namespace trainx::worker {
namespace {

OwnLoop* open_loop = nullptr;
std::thread::id thread_of_loop;
int code_of_run = 0;
std::terminate_handler handler_before = nullptr;

[[noreturn]] void end_with(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

[[noreturn]] void end_with(const RunError& e) {
  if (open_loop) end_with(open_loop->fail(static_cast<ExitCode>(e.exit_code()), e.what()));
  if (code_of_run != 0) end_with(code_of_run);  // people were told why
  end_at_once(static_cast<ExitCode>(e.exit_code()), e.what());
}

void on_uncaught_exception() {
  if (std::this_thread::get_id() != thread_of_loop) handler_before();
  std::string why = "something that is no std::exception";
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
    why = "a call of std::terminate";
  } catch (const RunError& e) { end_with(e); } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {}
  if (!open_loop) handler_before();
  end_with(open_loop->fail(ExitCode::invalid_recipe,
                           "the run's own loop threw after step " +
                               std::to_string(open_loop->channel().place().finished_steps) + ": " +
                               why));
}

// No clean end from here: what training uses may be destroyed already.
void on_program_exit(int status, void*) {
  if (open_loop && std::this_thread::get_id() == thread_of_loop)
    end_at_once(status == 0 ? ExitCode::invalid_recipe : static_cast<ExitCode>(status),
                "the program ended by exit(" + std::to_string(status) +
                    ") before its run was closed: call close(), or let the trainx::Run go out of "
                    "scope");
  if (!open_loop && status == 0 && code_of_run != 0) end_with(code_of_run);
}

}  // namespace

void watch_program_end(OwnLoop& loop) {
  open_loop = &loop;
  thread_of_loop = std::this_thread::get_id();
  handler_before = std::set_terminate(on_uncaught_exception);
  ::on_exit(on_program_exit, nullptr);
}

void program_ends_with(int exit_code) {
  open_loop = nullptr;
  code_of_run = exit_code;
}

}  // namespace trainx::worker

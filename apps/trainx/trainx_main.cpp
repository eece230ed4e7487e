#include "trainx_main.hpp"
#include "command_line.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "core/memory_limit.hpp"
#include "core/process.hpp"
#include "core/thread_limit.hpp"
#include "launch/torch_folder.hpp"
#include "launch/worker_description.hpp"
#include "metrics/console.hpp"
#include "recipe/recipe.hpp"
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <cstdio>

namespace {

using namespace trainx;

int fail(const app::Context& context, int code, const std::string& sentence,
         const std::vector<Problem>& problems = {}) {
  const auto& o = context.output;
  // a worker that was killed leaves its status line open
  if (code > 128 && ::isatty(STDERR_FILENO) == 1) std::fputc('\n', stderr);
  metrics::Console({o.json, o.quiet, o.verbose, o.color}).error(code, sentence, problems);
  return code;
}

int fail(const app::Context& context, const recipe::RecipeError& error) {
  const auto& problems = error.problems();
  const int code = static_cast<int>(error.code());
  if (problems.size() == 1) return fail(context, code, problems.front().text(), problems);
  return fail(context, code,
              "the recipe has " + std::to_string(problems.size()) + " problems; nothing was done",
              problems);
}

/// What a command makes of a file that was cut meanwhile is not its answer, nor is what it says
/// of the zeros that stand for what is gone.
int run(const app::Context& context) {
  try {
    const int code = context.run();
    require_whole_files();
    return code;
  } catch (const std::exception&) {
    require_whole_files();
    throw;
  }
}

}  // namespace

int trainx::app::trainx_main(int argc, char** argv) {
  // a reader that went away is an error of writing, with a sentence
  std::signal(SIGPIPE, SIG_IGN);
  app::Context context;
  context.argv.assign(argv, argv + argc);
  try {
    app::parse_command_line({argv + 1, argv + argc}, context);
    launch::use_torch_folder(environment_variable("TRAINX_TORCH_DIR"));
    const auto& o = context.output;
    const metrics::Console console({o.json, o.quiet, o.verbose, o.color});  // shows debug lines
    // What it has of the user's own is known before any recipe is read.
    if (context.asks_worker && !context.worker.empty()) launch::describe_worker(context.worker);
    return run(context);
  } catch (const recipe::RecipeError& error) {
    return fail(context, error);
  } catch (const UserError& error) {
    return fail(context, static_cast<int>(error.code()), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(context, static_cast<int>(ExitCode::io_error),
                error.path1().string() + ": " + error.code().message());
  } catch (const std::bad_alloc&) {
    return fail(context, static_cast<int>(ExitCode::out_of_memory), no_memory_sentence());
  } catch (const std::exception& error) {
    if (is_thread_limit(error))
      return fail(context, static_cast<int>(ExitCode::out_of_memory), thread_limit_sentence());
    return fail(context, static_cast<int>(ExitCode::bug),
                std::string("a bug in trainx, please report it: ") + error.what());
  }
}

// trainx: parses the command line, plans, and starts trainx-worker for what computes. Exceptions become exit codes here.
#include "command_line.hpp"
#include "core/error.hpp"
#include "metrics/console.hpp"
#include "recipe/recipe.hpp"
#include <csignal>
#include <cstdio>

namespace {

using namespace trainx;

int fail(const app::Context& context, int code, const std::string& sentence) {
  const auto& o = context.output;
  metrics::Console({o.json, o.quiet, o.verbose, o.color}).error(code, sentence);
  return code;
}

// Problems of a recipe, a line each that editors understand (file:line:col), and a closing sentence where there are several.
int fail(const app::Context& context, const recipe::RecipeError& error) {
  const auto& problems = error.problems();
  const int code = static_cast<int>(error.code());
  if (problems.size() == 1) return fail(context, code, problems.front());
  for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
  std::string sentence = "the recipe has " + std::to_string(problems.size()) + " problems; nothing was done";
  if (context.output.json)
    for (const std::string& problem : problems) sentence += "\n" + problem;
  return fail(context, code, sentence);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);        // a reader that went away is an error of writing, with a sentence
  app::Context context;
  context.argv.assign(argv, argv + argc);
  try {
    app::parse_command_line({argv + 1, argv + argc}, context);
    return context.run();
  } catch (const recipe::RecipeError& error) {
    return fail(context, error);
  } catch (const UserError& error) {
    return fail(context, static_cast<int>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(context, static_cast<int>(ExitCode::out_of_memory), "the machine has no memory left");
  } catch (const std::exception& error) {
    return fail(context, static_cast<int>(ExitCode::bug), std::string("a bug in trainx, please report it: ") + error.what());
  }
}

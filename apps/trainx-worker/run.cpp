#include "trainx/run.hpp"
#include "answer_or_run.hpp"
#include "core/error.hpp"
#include "launch/has_job.hpp"
#include "library_exit.hpp"
#include "own_loop.hpp"
#include "start_launcher.hpp"
#include <exception>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace trainx {
namespace {

using train::LoopAnswer;
using train::LoopCall;

/// A launcher started this process: with a job, or a question.
bool is_worker(const std::vector<std::string>& arguments) {
  return launch::has_job() || (arguments.size() == 2 && worker::is_question(arguments[1]));
}

void require_first_run() {
  static bool made = false;
  if (std::exchange(made, true))
    throw RunError(static_cast<int>(ExitCode::usage),
                   "a program has one trainx::Run; start a program for each run");
}

/// The arguments of a worker; another process becomes the launcher.
std::vector<std::string> worker_arguments(std::vector<std::string> arguments,
                                          const std::string& recipe,
                                          const std::vector<std::string>& settings,
                                          const std::string& launcher) {
  require_first_run();
  if (is_worker(arguments)) return arguments;
  try {
    worker::start_launcher({launcher, recipe, settings, std::move(arguments)});
  } catch (const UserError& e) { worker::end_at_once(e.code(), e.what()); }
}

}  // namespace

struct Run::Inside {
  explicit Inside(std::vector<std::string> of_worker)
      : arguments(worker::handed_arguments()), loop(std::move(of_worker)) {
    if (arguments.empty()) arguments = {"trainx"};  // whose worker this is
  }
  LoopAnswer ask(LoopCall::Kind what, std::optional<double> lr = {}) {
    return loop.channel().call({what, lr, {}, {}});
  }

  int exceptions = std::uncaught_exceptions();
  std::vector<std::string> arguments;  // of the user
  worker::OwnLoop loop;
};

Run::Run(int argc, char** argv, const std::string& recipe, const std::vector<std::string>& settings,
         const std::string& launcher)
    : inside_(std::make_unique<Inside>(
          worker_arguments({argv, argv + argc}, recipe, settings, launcher))) {}

Run::~Run() {
  if (std::uncaught_exceptions() > inside_->exceptions)
    inside_->loop.fail(
        ExitCode::invalid_recipe,
        "an exception left the run's own loop after step " + std::to_string(finished_steps()));
}

std::optional<StepReport> Run::step() {
  LoopAnswer answer = inside_->ask(LoopCall::Kind::step);
  auto* report = std::get_if<StepReport>(&answer);
  return report ? std::optional(std::move(*report)) : std::nullopt;
}

EvaluationReport Run::evaluate() {
  return std::get<EvaluationReport>(inside_->ask(LoopCall::Kind::evaluate));
}

std::string Run::save() { return std::get<std::string>(inside_->ask(LoopCall::Kind::save)); }

void Run::set_lr(std::optional<double> lr) { inside_->ask(LoopCall::Kind::set_lr, lr); }

std::vector<NamedTensor> Run::parameters() {
  const LoopAnswer answer = inside_->ask(LoopCall::Kind::parameters);
  return std::move(*std::get<std::shared_ptr<std::vector<NamedTensor>>>(answer));
}

int Run::close() { return inside_->loop.close(); }

const std::vector<std::string>& Run::arguments() const { return inside_->arguments; }
int Run::rank() const { return inside_->loop.channel().place().rank; }
int Run::world_size() const { return inside_->loop.channel().place().world_size; }
std::int64_t Run::finished_steps() const { return inside_->loop.channel().place().finished_steps; }
std::optional<std::int64_t> Run::total_steps() const {
  return inside_->loop.channel().place().total_steps;
}

}  // namespace trainx

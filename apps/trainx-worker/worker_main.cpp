// All of a worker but the models that a user adds to it.
#include "trainx/worker_main.hpp"
#include "answer_or_run.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "describe.hpp"
#include "core/process.hpp"
#include "library_exit.hpp"
#include "exported/definition.hpp"
#include "facts/links.hpp"
#include "log/crash_ring.hpp"
#include "log/log.hpp"
#include "model/custom/registry.hpp"
#include "architectures/options.hpp"
#include "recipe/walk.hpp"
#include "tensor/allocator_meter.hpp"
#include "execute/device.hpp"
#include "execute/signals.hpp"
#include <unistd.h>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainx {
namespace {

int do_job(const launch::Job& job, metrics::Console& console, const worker::Train& train) {
  if (job.command == "train") return train(job, console);
  execute::remove_signal_handlers();
  if (job.command == "eval") return worker::evaluate(job, console);
  if (job.command == "bench step") return worker::bench_step(job);
  if (job.command == "bench memory-anatomy") return worker::bench_memory_anatomy(job);
  if (job.command == "bench operations") return worker::bench_operations(job);
  if (job.command == "generate") return worker::generate(job, console);
  throw InternalError("no such job: " + job.command);
}

void make_models_known() {
  auto models = model::model_descriptions();
  const std::string problem = architectures::check_description(
      models, recipe::alternative_names(architectures::ModelOptions{}));
  if (!problem.empty()) throw UserError(ExitCode::usage, "this worker: " + problem);
  architectures::set_described_models(std::move(models));
  add_model_definition(exported::definition());
}

metrics::ConsoleOptions console_options(const launch::Job& job) {
  const auto& o = job.output;
  return {.json = o.json,
          .quiet = o.quiet,
          .verbose = o.verbose,
          .color = o.color,
          .secondary = job.membership.rank > 0,
          .descriptor = o.console};
}

/// Rank 0's log goes on with the launcher's.
void begin_log(const launch::Job& job) {
  log::set_rank(job.membership.rank);
  log::install_crash_handlers();
  worker::watch_for_uncaught();
  if (job.membership.rank > 0) return;
  for (const auto& [level, text] : job.log)
    log::record(log::level_named(level).value_or(log::Level::debug), text);
}

int answer(const std::string& text) {
  std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace

int worker::answer_or_run(const std::vector<std::string>& arguments, const Train& train) {
  metrics::ConsoleOptions plain;
  try {
    tensor::install_allocator_meter();
    make_models_known();
    const std::string asked = arguments.size() > 1 ? arguments[1] : "";
    if (asked == "--describe") return answer(worker::describe_models());
    if (asked == "--describe-graph")
      return answer(worker::describe_graph({std::istreambuf_iterator<char>(std::cin), {}}));
    if (asked == "--measure-links") return answer(facts::to_json(execute::measure_links()).dump());
    execute::install_signal_handlers();
    const launch::Job job = launch::receive_job();
    plain = console_options(job);
    begin_log(job);
    metrics::Console console(plain);
    log::debug("worker of " + job.command + " runs as process " + std::to_string(::getpid()) +
               " on " + host_name());
    return do_job(job, console, train);
  } catch (const std::exception& e) {
    metrics::Console console(plain);
    return worker::report_error(e, console);
  }
}

int worker_main(int argc, char** argv) {
  worker::watch_for_library_exit();
  const int code = worker::answer_or_run({argv, argv + argc},
                                         [](const launch::Job& job, metrics::Console& console) {
                                           return worker::train(job, console);
                                         });
  worker::expect_exit();
  return code;
}

}  // namespace trainx

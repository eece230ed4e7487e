// All of a worker but what a user adds to it.
#include "trainx/worker_main.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "describe.hpp"
#include "core/process.hpp"
#include "library_exit.hpp"
#include "facts/links.hpp"
#include "log/crash_ring.hpp"
#include "log/log.hpp"
#include "model/custom/registry.hpp"
#include "optim/own_definitions.hpp"
#include "options/data/own_definitions.hpp"
#include "options/schedule/own_definitions.hpp"
#include "recipe/worker_parts.hpp"
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

int run(const launch::Job& job, metrics::Console& console) {
  if (job.command == "train") return worker::train(job, console);
  execute::remove_signal_handlers();
  if (job.command == "eval") return worker::evaluate(job, console);
  if (job.command == "bench step") return worker::bench_step(job);
  if (job.command == "bench memory-anatomy") return worker::bench_memory_anatomy(job);
  if (job.command == "bench operations") return worker::bench_operations(job);
  if (job.command == "generate") return worker::generate(job, console);
  throw InternalError("no such job: " + job.command);
}

void make_own_parts_known() {
  const std::string problem =
      recipe::make_known({model::model_descriptions(), optim::optimizer_descriptions(),
                          options::schedule_descriptions(), options::data_source_descriptions()});
  if (!problem.empty()) throw UserError(ExitCode::usage, "this worker: " + problem);
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

int answer_or_run(int argc, char** argv) {
  metrics::ConsoleOptions plain;
  try {
    tensor::install_allocator_meter();
    make_own_parts_known();
    const std::string asked = argc > 1 ? argv[1] : "";
    if (asked == "--describe") return answer(worker::describe_own_parts());
    if (asked == "--describe-schedule")
      return answer(worker::describe_schedule({std::istreambuf_iterator<char>(std::cin), {}}));
    if (asked == "--describe-data")
      return answer(worker::describe_data({std::istreambuf_iterator<char>(std::cin), {}}));
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
    return run(job, console);
  } catch (const std::exception& e) {
    metrics::Console console(plain);
    return worker::report_error(e, console);
  }
}

}  // namespace

int worker_main(int argc, char** argv) {
  worker::watch_for_library_exit();
  const int code = answer_or_run(argc, argv);
  worker::expect_exit();
  return code;
}

}  // namespace trainx

// All of a worker but what a user adds to it.
#include "trainx/worker_main.hpp"
#include "answer_or_run.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "describe.hpp"
#include "core/process.hpp"
#include "core/short_slices.hpp"
#include "library_exit.hpp"
#include "exported/definition.hpp"
#include "facts/core_binding.hpp"
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
#include <map>
#include <nlohmann/json.hpp>

namespace trainx {
namespace {

int do_job(const launch::Job& job, metrics::Console& console, const worker::Train& train) {
  if (job.command == "train") return train(job, console);
  execute::remove_signal_handlers();
  if (job.command == "eval") return worker::evaluate(job, console);
  if (job.command == "doctor hosts") return worker::doctor_hosts(job);
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

/// Where the launcher bound this process to some of the host's cores.
std::string words_for_cores(const launch::Job& job) {
  if (job.cores.empty()) return "";
  const std::string cores = facts::to_list(job.cores);
  return facts::to_list(facts::allowed_cores()) == cores
             ? ", bound to cores " + cores
             : ", and could not be bound to cores " + cores;
}

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

/// By a launcher's question; some read more of it from stdin.
const std::map<std::string, std::string (*)()>& answers() {
  static const std::map<std::string, std::string (*)()> all{
      {"--describe", worker::describe_own_parts},
      {"--describe-schedule", [] { return worker::describe_schedule(standard_input()); }},
      {"--describe-data", [] { return worker::describe_data(standard_input()); }},
      {"--describe-graph", [] { return worker::describe_graph(standard_input()); }},
      {"--describe-rule", [] { return worker::describe_rule(standard_input()); }},
      {"--measure-links", [] { return facts::to_json(execute::measure_links()).dump(); }}};
  return all;
}

}  // namespace

bool worker::is_question(const std::string& argument) { return answers().contains(argument); }

int worker::answer_or_run(const std::vector<std::string>& arguments, const Train& train) {
  metrics::ConsoleOptions plain;
  try {
    tensor::install_allocator_meter();
    make_own_parts_known();
    if (arguments.size() > 1 && is_question(arguments[1])) {
      std::printf("%s\n", answers().at(arguments[1])().c_str());
      return 0;
    }
    ask_for_short_slices();  // before other threads begin
    execute::install_signal_handlers();
    const launch::Job job = launch::receive_job();
    plain = console_options(job);
    begin_log(job);
    metrics::Console console(plain);
    log::debug("worker of " + job.command + " runs as process " + std::to_string(::getpid()) +
               " on " + host_name() + words_for_cores(job));
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

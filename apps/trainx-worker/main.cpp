// trainx-worker: computes for one rank. Started by trainx, which hands it a job; users never start it themselves.
#include "core/error.hpp"
#include "commands.hpp"
#include "tensor/allocator_meter.hpp"
#include "train/signals.hpp"
#include <cstdlib>

namespace {

using namespace trainx;

int run(const launch::Job& job, metrics::Console& console) {
  if (job.command == "train") return worker::train(job, console);
  train::remove_signal_handlers();
  if (job.command == "eval") return worker::evaluate(job, console);
  if (job.command == "generate") return worker::generate(job, console);
  throw InternalError("no such job: " + job.command);
}

}  // namespace

int main() {
  metrics::ConsoleOptions plain;
  try {
    train::install_signal_handlers();
    tensor::install_allocator_meter();
    const launch::Job job = launch::receive_job();
    plain = {job.output.json, job.output.quiet, job.output.verbose, job.output.color};
    metrics::Console console(plain);
    return run(job, console);
  } catch (const std::exception& e) {
    const ExitCode code = worker::exit_code_of(e);
    const char* before = code == ExitCode::bug ? "a bug in trainx, please report it: " : dynamic_cast<const UserError*>(&e) ? "" : "the machine has no memory left; lower batch.micro_batch_size: ";
    metrics::Console(plain).error(static_cast<int>(code), std::string(before) + e.what());
    return static_cast<int>(code);
  }
}

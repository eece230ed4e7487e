#include "commands.hpp"
#include "doctor/network.hpp"
#include "execute/measure_network.hpp"
#include "execute/threads.hpp"
#include "facts/network.hpp"
#include "rank_control.hpp"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

/// On stdout, by rank 0.
void print_rates(const NetworkRates& rates, bool as_json) {
  const std::string text = as_json ? facts::to_json(rates).dump(
                                         -1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                         "\n"
                                   : doctor::describe(rates);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw UserError(ExitCode::io_error, "stdout cannot be written");
}

}  // namespace

int doctor_hosts(const launch::Job& job) {
  const facts::HardwareFacts& hardware = job.facts.hardware;
  const bool on_gpu = !hardware.gpus.empty();
  execute::set_compute_threads(hardware.threads_of_rank());
  comm::ControlOptions options;
  options.device = execute::measuring_device(on_gpu, job.membership.local_rank);
  const auto control = meet_ranks(
      job.membership, on_gpu ? "doctor --hosts, GPUs" : "doctor --hosts, CPUs", std::move(options));
  try {
    const NetworkRates rates = execute::measure_network(*control, hardware, on_gpu);
    if (job.membership.local_rank == 0) facts::remember_network(rates);
    if (control->rank() == 0) print_rates(rates, job.output.json);
    control->leave();
  } catch (const std::exception& e) {
    // there is one host: all ranks find that, and none ends because of another
    if (exit_code_of(e) == ExitCode::usage)
      control->leave();
    else if (!control->failed())
      control->leave_with(exit_code_of(e), sentence_of(e));
    throw;
  }
  return 0;
}

}  // namespace trainx::worker

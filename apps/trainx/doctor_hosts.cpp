#include "doctor_hosts.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "facts/facts.hpp"
#include "inputs.hpp"
#include "launch/bind_workers.hpp"
#include "launch/run_workers.hpp"
#include "launch/secret.hpp"
#include "launch/visible_gpus.hpp"
#include "metrics/console.hpp"
#include "recipe/recipe.hpp"
#include <cstdlib>

namespace trainx::app {
namespace {

constexpr const char* run_of_doctor = "doctor-hosts";  // as a run's, of its secret and its meeting

launch::LaunchPlan ranks_of(const launch::LaunchFlags& flags, facts::HardwareFacts& hardware) {
  launch::LaunchRequest request;
  if (!hardware.gpus.empty()) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    request.visible_gpus = launch::visible_gpus(static_cast<int>(hardware.gpus.size()),
                                                visible != nullptr, visible ? visible : "");
  }
  request.run_name = run_of_doctor;
  request.command = "doctor --hosts";
  launch::LaunchPlan plan = launch::decide_membership(environment_variable, flags, request);
  if (plan.owns_all())
    throw UserError(ExitCode::usage,
                    "doctor --hosts measures links between hosts, and this command starts ranks on "
                    "one; start it on each host with --nnodes, --node-rank and --master-addr, or "
                    "under torchrun, srun or mpirun");
  const recipe::Recipe defaults;
  plan.hang_seconds = defaults.run.hang_limit.amount;
  hardware.local_ranks = plan.first.local_world_size;
  launch::bind_workers(plan, hardware.gpus);
  return plan;
}

}  // namespace

int doctor_hosts(const launch::LaunchFlags& flags, const Context& context) {
  launch::Job job = make_job("doctor hosts", context);
  job.facts.hardware = facts::detect_hardware();
  const recipe::Recipe defaults;
  job.run_folder = defaults.run.output_dir + "/" + run_of_doctor;
  launch::LaunchPlan plan = ranks_of(flags, job.facts.hardware);
  const launch::LaunchersSecret secret(flags.secret_file, environment_variable, job.run_folder,
                                       plan.first);
  plan.first.secret = secret.text();
  return launch::run_workers(job, plan, [&](const std::string& text) {
    const auto& o = context.output;
    metrics::Console({o.json, o.quiet, o.verbose, o.color}).warning(text);
  });
}

}  // namespace trainx::app

#include "joined_ranks.hpp"
#include "commands.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "log/log.hpp"
#include "metrics/screen.hpp"
#include "execute/device.hpp"
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace trainx::worker {
namespace {

// Whoever computes finds out at the next collective, and ends as programs do. What takes longer
// than this does not hold up the other ranks.
constexpr std::chrono::seconds grace{3};

void end_soon(ExitCode code, const std::string& sentence) {
  log::record(log::Level::error, sentence);
  const auto end = [code, sentence] {
    std::this_thread::sleep_for(grace);
    const metrics::Screen screen = metrics::process_screen();
    screen.err("trainx: " + sentence + "\n");
    screen.finish();
    std::_Exit(static_cast<int>(code));
  };
  try {
    std::thread(end).detach();
  } catch (const std::system_error&) { end(); }
}

std::string build_of_this() {
  return std::string(version) + " " + hash_hex(read_file(executable_path()));
}

}  // namespace

JoinedRanks::JoinedRanks(const launch::Job& job, const plan::RunPlan& plan) {
  if (job.membership.world_size != plan.mesh.data)
    throw InternalError("the plan is for " + std::to_string(plan.mesh.data) + " ranks and " +
                        std::to_string(job.membership.world_size) + " were started");
  if (job.membership.world_size == 1) return;
  comm::ControlOptions options;
  options.equal_on_all = {{"trainx", build_of_this()}, {"plan", job.plan_fingerprint}};
  options.device = execute::device_identity(plan, job.membership.local_rank);
  options.hang_seconds = plan.recipe.run.hang_limit.amount;
  options.describe = [this] { return progress_.describe(); };
  options.on_failure = end_soon;
  control_ = comm::Control::join(job.membership, std::move(options));
  log::debug("all " + std::to_string(job.membership.world_size) + " ranks have joined");
  // GPUs sum by NCCL; what is saved of their shards is gathered in host memory
  if (!plan.on_gpu || plan.zero_stage() > 0) communicator_ = comm::make_communicator(*control_);
  if (const program::StepProgram& p = plan.train.front().program;
      communicator_ && p.mesh.has_replicas()) {
    const auto part = [&](program::Axis axis) {
      return comm::make_part(*control_, p.mesh.peers(axis, control_->rank()),
                             communicator_->transport());
    };
    shards_ = part(program::Axis::shard);
    replicas_ = part(program::Axis::replica);
  }
}

void JoinedRanks::leave() {
  if (control_) control_->leave();
}

void JoinedRanks::leave_with(const std::exception& e) {
  if (control_ && !control_->failed()) control_->leave_with(exit_code_of(e), sentence_of(e));
}

void JoinedRanks::end_at_once(const std::exception& e, metrics::Console& console) {
  const int code = report_error(e, console);
  leave_with(e);
  metrics::process_screen().finish();
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace trainx::worker

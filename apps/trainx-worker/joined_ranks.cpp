#include "joined_ranks.hpp"
#include "commands.hpp"
#include "metrics/screen.hpp"
#include "execute/device.hpp"
#include "plan/rank_groups.hpp"
#include "rank_control.hpp"
#include <cstdio>
#include <cstdlib>

namespace trainx::worker {
JoinedRanks::JoinedRanks(const launch::Job& job, const plan::RunPlan& plan) {
  if (job.membership.world_size != plan.mesh.world)
    throw InternalError("the plan is for " + std::to_string(plan.mesh.world) + " ranks and " +
                        std::to_string(job.membership.world_size) + " were started");
  if (job.membership.world_size == 1) return;
  comm::ControlOptions options;
  options.device = execute::device_identity(plan, job.membership.local_rank);
  options.hang_seconds = plan.recipe.run.hang_limit.amount;
  options.describe = [this] { return progress_.describe(); };
  control_ = meet_ranks(job.membership, job.plan_fingerprint, std::move(options));
  // GPUs sum by NCCL; what is saved of their shards is gathered in host memory
  if (!plan.on_gpu || plan.in_parts() || plan.shares_layers())
    communicator_ = comm::make_communicator(*control_);
  if (!communicator_) return;
  mesh_ = plan.mesh;
  for (const program::AxisSet along : plan::rank_groups_of(plan.program_set))
    groups_[along] = comm::make_part(*control_, mesh_.peers(along, control_->rank()),
                                     communicator_->transport());
}

execute::Ranks JoinedRanks::ranks() {
  if (!control_) return {};
  std::map<program::AxisSet, comm::Communicator*> groups;
  for (const auto& [along, part] : groups_) groups[along] = part.communicator.get();
  return {control_.get(), {communicator_.get(), mesh_, std::move(groups)}, &progress_};
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

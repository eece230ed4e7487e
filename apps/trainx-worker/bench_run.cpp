#include "bench_run.hpp"
#include "model/model.hpp"
#include "train/threads.hpp"
#include <algorithm>

namespace trainx::worker {

BenchRun::BenchRun(const plan::RunPlan& plan, const launch::Job& job, const std::function<void(const char*)>& phase, train::Ranks ranks)
    : parts_(plan, train::open_split(plan, data::Split::train), nullptr, ranks) {
  const auto done = [&](const char* what) {
    if (phase) phase(what);
  };
  done("opened");
  train::set_compute_threads(job.facts.hardware.threads_of_rank());
  if (!plan.is_replica()) parts_.resident.initialize(model::weight_initializer(plan.dims, static_cast<std::uint64_t>(plan.recipe.run.seed)), train::ResidentState::Memory::new_arena);
  if (plan.recipe.model.init_from && !plan.is_replica()) parts_.resident.load_weights(*plan.recipe.model.init_from, plan.dims, train::MissingHead::keep);
  done("initialized");
  parts_.start({}, [this](const train::StepScalarsReport& r) { loss_ = r.loss_sum / std::max(r.target_count, 1.0); });
  done("uploaded");
}

void BenchRun::run(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) parts_.executor->submit_step();
  parts_.executor->wait_idle();
}

std::vector<train::StepTimes> BenchRun::run_timed(std::int64_t steps) {
  std::vector<train::StepTimes> timed;
  parts_.executor->time_next(steps, [&](const train::StepTimes& t) { timed.push_back(t); });
  run(steps);
  return timed;
}

}  // namespace trainx::worker

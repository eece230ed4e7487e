#include "bench_run.hpp"
#include "model/model.hpp"
#include "plan/choose/offload.hpp"
#include "execute/threads.hpp"
#include "state/load_shared.hpp"
#include <algorithm>
#include <chrono>

namespace trainx::worker {

BenchRun::BenchRun(const plan::RunPlan& plan, const launch::Job& job,
                   const std::function<void(const char*)>& phase, execute::Ranks ranks)
    : parts_(plan, train::open_split(plan, data::Split::train), nullptr, ranks) {
  const auto done = [&](const char* what) {
    if (phase) phase(what);
  };
  done("opened");
  execute::set_compute_threads(job.facts.hardware.threads_of_rank());
  const auto load = [&](bool) {
    const auto seed = static_cast<std::uint64_t>(plan.recipe.run.seed);
    parts_.resident.initialize(model::weight_initializer(plan.dims, seed),
                               state::ResidentState::Memory::new_arena);
    if (plan.recipe.model.init_from)
      parts_.resident.start_from(*plan.recipe.model.init_from, plan.dims, seed);
  };
  if (parts_.role.keeps_weights) state::load_shared(*parts_.device, parts_.resident, ranks, load);
  done("initialized");
  parts_.start({}, [this](const execute::StepScalarsReport& r) {
    loss_ = r.loss_sum / std::max(r.target_count, 1.0);
  });
  done("uploaded");
}

void BenchRun::run(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) parts_.executor->submit_step();
  parts_.executor->wait_idle();
  done_ += steps;
}

double BenchRun::run_between(std::int64_t steps) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (!plan::offloads_optimizer(parts_.plan)) {
    const auto begin = Clock::now();
    run(steps);
    return since(begin);
  }
  execute::Executor& executor = *parts_.executor;
  for (int beside = 0; beside < 2; ++beside) executor.submit_step();
  executor.wait_for_step(++done_);
  const auto begin = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) {
    executor.submit_step();
    executor.wait_for_step(++done_);
  }
  const double seconds = since(begin);
  executor.wait_idle();
  ++done_;
  return seconds;
}

std::vector<execute::StepTimes> BenchRun::run_timed(std::int64_t steps) {
  std::vector<execute::StepTimes> timed;
  parts_.executor->submit_step();  // which the first timed one goes on from
  ++done_;
  parts_.executor->time_next(steps, [&](const execute::StepTimes& t) { timed.push_back(t); });
  run(steps);
  return timed;
}

}  // namespace trainx::worker

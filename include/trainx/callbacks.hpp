// Functions of your own that training calls. Register them before worker_main, or after a
// trainx::Run is made:
//
//   trainx::on_evaluation([](const trainx::EvaluationReport& r) { plot(r.step, r.loss); });
//   return trainx::worker_main(argc, argv);
//
// They are called between steps, on the thread that trains, in the order in which they were
// registered; training waits for them. An exception ends the run with exit code 78 and a sentence
// that names the callback and the step.
#pragma once
#include <trainx/evaluation_report.hpp>
#include <trainx/save_report.hpp>
#include <trainx/step_report.hpp>
#include <functional>

namespace trainx {

/// After each step, on every rank; under parallel.mode: dp on rank 0.
void on_step(std::function<void(const StepReport&)> call);
/// After each evaluation, on every rank; under parallel.mode: dp on rank 0.
void on_evaluation(std::function<void(const EvaluationReport&)> call);
/// Once a checkpoint is whole on disk, on rank 0. With checkpoint.asynchronous that may be some
/// steps later.
void on_save(std::function<void(const SaveReport&)> call);

}  // namespace trainx

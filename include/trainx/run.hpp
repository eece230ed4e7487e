// A training loop of your own: main steps through a recipe.
//
//   int main(int argc, char** argv) {
//     trainx::Run run(argc, argv, "recipe.yaml", {"optimizer.lr=1e-3"});
//     while (const auto step = run.step())
//       if (step->step % 100 == 0) run.evaluate();
//     return run.close();
//   }
//
// The program starts `trainx train RECIPE SETTINGS` in its own place, which plans, starts this
// program again as a worker for each rank (or joins the ranks of torchrun, Slurm or MPI), forwards
// signals and restarts. In the workers Run's constructor returns and the loop begins. So:
//   - Make the Run first in main. What stands before it is executed in the starting process and in
//     each worker. Models of your own (trainx::add_model) have to be added before it.
//   - argv of a worker is trainx's; run.arguments() are those that the user gave. stdin is empty.
//   - All ranks run main, and must call the Run's functions in the same order with the same
//     arguments. Ranks that differ end the run with 79 and a sentence that names both calls.
//   - `trainx --worker PROGRAM eval|plan|verify ...` works with the program, too.
//
// The loop and training take turns: while the loop has control, no step is under way. Steps are
// therefore not begun ahead, which costs little except for steps of a few milliseconds.
#pragma once
#include <ATen/core/Tensor.h>
#include <trainx/evaluation_report.hpp>
#include <trainx/graph.hpp>
#include <trainx/run_error.hpp>
#include <trainx/step_report.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The package's `trainx`; find_package(trainx) defines it.
#ifndef TRAINX_LAUNCHER_PATH
#define TRAINX_LAUNCHER_PATH ""
#endif

namespace trainx {

/// One in a program, used by the thread that made it.
class Run {
 public:
  /// `settings`: what follows the recipe on the command line of `trainx train`: key=value, and
  /// options such as "--overwrite" or "--max-restarts=2". The launcher is $TRAINX_LAUNCHER, the
  /// `trainx` of the package that the program was built with, or that of PATH.
  ///
  /// Returns in workers, at rest before the first step, weights loaded. Ends the process with the
  /// exit code of `trainx train` if there is nothing to train (already done) or nothing can be
  /// trained (a recipe or data that is wrong).
  Run(int argc, char** argv, const std::string& recipe,
      const std::vector<std::string>& settings = {})
      : Run(argc, argv, recipe, settings, TRAINX_LAUNCHER_PATH) {}
  /// As close(). If an exception leaves the loop, the run ends as failed, with 78.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The next step; nothing once run.duration is reached, eval.early_stopping ends the run, or
  /// after a signal that ends it (two more steps may come first; the checkpoint is saved by then).
  /// Evaluations, checkpoints and lines of metrics that the recipe wants after the step are made.
  /// Throws RunError if training fails; what `trainx train` prints has been printed.
  std::optional<StepReport> step();

  /// Evaluates the weights as they are, as eval.every does: metrics.jsonl, console, `best` and
  /// early stopping know it. Costs nothing if the step's evaluation was made already. Throws
  /// RunError 66 without held-out data.
  EvaluationReport evaluate();

  /// Saves, unless the step was saved, and waits until all is on disk. Returns the checkpoint's
  /// folder. Throws RunError 74 if it cannot be written; the run may go on.
  std::string save();

  /// The learning rate of the steps that follow, instead of the schedule's; nothing: the schedule's
  /// again. Parameter groups keep their ratio to it. It is saved in checkpoints: a resumed run goes
  /// on with it. Forks begin with the recipe's. Throws RunError 2 for a rate that is negative or
  /// not finite, 78 under Adafactor's relative_step.
  void set_lr(std::optional<double> lr);

  /// Copies of the exact weights in fp32 on the CPU, with the names and shapes of
  /// model.safetensors. They stay as they are when training goes on; writing to them changes
  /// nothing. All ranks get all of them, from shards as well. Throws RunError 78 under
  /// parallel.mode: dp on GPUs.
  std::vector<NamedTensor> parameters();

  /// Ends the run as `trainx train` does: held-out loss, checkpoint, status.json, closing words.
  /// Returns the exit code: 0, or after a signal 143, 130, 129 or 75. Before the run's end it is
  /// closed with 0, and the program resumes it when started again. A main that returns 0 without
  /// having asked ends with this code, too.
  int close();

  const std::vector<std::string>& arguments() const;  // [0]: the program
  int rank() const;
  int world_size() const;
  std::int64_t finished_steps() const;  // with those of the processes before
  /// run.duration in steps; nothing for a duration in time.
  std::optional<std::int64_t> total_steps() const;

 private:
  Run(int argc, char** argv, const std::string& recipe, const std::vector<std::string>& settings,
      const std::string& launcher);
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace trainx

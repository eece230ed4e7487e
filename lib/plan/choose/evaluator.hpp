// What a choice takes: memory and time, each computed once.
#pragma once
#include "plan/decisions.hpp"
#include "plan/programs.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <map>
#include <optional>

namespace trainx::plan {

/// What a choice takes of the first rank, which has all duties; of stages, of those that take the
/// most.
struct Evaluation {
  std::int64_t bytes = 0;            // of the device; on a CPU of the process
  std::int64_t host_bytes = 0;       // beside a GPU
  std::int64_t offloaded_bytes = 0;  // of activations, that a step copies to the host
  std::int64_t gathers = 0;          // of weights (zero3), in a step; of how many groups:
  std::int64_t gathered_groups = 0;
  double seconds = 0;  // of a step; 0: not asked for, or no rates
};

/// How often a step gathers weights.
std::int64_t gathers_of_step(const program::StepProgram& p);

/// Predicted seconds of a step of the last program, host updates included.
double step_seconds(const Programs& programs, const program::Rates& rates);

/// Choices -> programs -> bytes and seconds, by the longest rows. Keeps what it has computed.
class Evaluator {
 public:
  /// `problem`: the run, whose own choices do not matter. `rates` null: nothing is timed.
  Evaluator(Draft problem, const program::Rates* rates);

  const Draft& problem() const { return problem_; }
  const std::optional<program::Rates>& rates() const { return rates_; }
  std::int64_t samples() const { return samples_; }      // of a step, of one rank
  std::size_t weighed() const { return known_.size(); }  // choices so far
  /// Without seconds, which take longer.
  const Evaluation& memory_of(const Decisions& choice);
  const Evaluation& of(const Decisions& choice);

 private:
  struct Known {
    Evaluation evaluation;
    bool timed = false;
  };
  const Evaluation& known(const Decisions& choice, bool timed);
  /// The run with so many micro-steps.
  Draft sized(const Decisions& choice, std::int64_t micro_steps) const;

  Draft problem_;
  std::optional<program::Rates> rates_;
  std::int64_t samples_ = 1;
  std::map<Decisions, Known> known_;
};

}  // namespace trainx::plan

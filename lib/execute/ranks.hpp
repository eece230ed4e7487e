// This process among those of a run.
#pragma once
#include "comm/communicator.hpp"
#include "execute/executor.hpp"
#include "execute/signals.hpp"
#include <cstdint>
#include <mutex>
#include <optional>

namespace trainx::execute {

/// What a rank has to say after a step.
struct AfterStep {
  Request request = Request::none;
  bool is_busy = false;    // beside the steps
  bool wants_end = false;  // of the run
};

/// What the ranks act upon after a step, the same on each.
struct StepAgreement {
  // the strongest request of all ranks; whether any works behind, or wants the end
  AfterStep said;
  double seconds = 0;        // spent training, by rank 0's clock
  StepScalarsReport report;  // what rank 0 read on its device
};

/// What this rank is at, for the sentence that says where a run stands: told by lanes, read by
/// another thread. Placed programs must outlive it.
class ProgressDescription {
 public:
  void at(const plan::PlacedProgram& placed, const program::Instruction& i);
  void between_steps(std::int64_t step);  // finished steps
  std::string describe() const;

 private:
  mutable std::mutex mutex_;
  std::int64_t step_ = 0;
  const plan::PlacedProgram* placed_ = nullptr;
  // a copy: executors end before the connections that tell of it
  program::Instruction instruction_;
};

/// Null members: there is one rank. References must outlive it.
class Ranks {
 public:
  Ranks() = default;
  Ranks(comm::Control* control, const Communicators& communicators, ProgressDescription* progress)
      : control_(control), communicators_(communicators), progress_(progress) {}
  int rank() const { return control_ ? control_->rank() : 0; }
  int world_size() const { return control_ ? control_->world_size() : 1; }
  bool is_first() const { return rank() == 0; }
  int local_rank() const { return control_ ? control_->membership().local_rank : 0; }
  bool are_on_one_host(const std::vector<int>& ranks) const;
  /// The ranks of this host, ascending, this one among them.
  std::vector<int> ranks_of_host() const;
  /// Does any host have several ranks? The same answer on all.
  bool share_hosts() const;
  comm::Communicator* communicator(program::AxisSet along = program::axes::all) const {
    return communicators_.along(along);
  }
  /// All ranks call it after each step; `mine`: this rank's report, none where its program makes
  /// none. Throws UserError 79 where reports that are to be equal are not.
  StepAgreement agree(std::int64_t step, AfterStep says, double seconds,
                      const std::optional<StepScalarsReport>& mine) const;
  /// Gives an executor what it needs among several ranks; nothing where there is one.
  void connect(ExecutorParts& parts) const;
  /// What each says, on all.
  std::vector<std::string> exchange(const std::string& text) const;
  /// What rank 0 says, on all.
  std::string from_first(const std::string& text) const;
  /// Throws UserError 79, on all ranks, where `text` differs between them; `what` names it.
  void require_equal(const std::string& text, const std::string& what) const;
  /// While it lives the other ranks take this one's standing still for work. `what`: a literal.
  class Busy {
   public:
    Busy(const Ranks& ranks, const char* what)
        : progress_(ranks.control_ ? &ranks.control_->progress() : nullptr) {
      if (progress_) progress_->busy = what;
    }
    ~Busy() {
      if (progress_) progress_->busy = nullptr;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    comm::Progress* progress_;
  };

 private:
  std::function<void()> failure_check() const;
  comm::Control* control_ = nullptr;
  Communicators communicators_;
  ProgressDescription* progress_ = nullptr;
};

}  // namespace trainx::execute

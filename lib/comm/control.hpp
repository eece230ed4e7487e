// How the ranks of a run find each other, agree, and hear of each other's end: TCP connections of
// all ranks to rank 0, beside the collectives of training.
#pragma once
#include "core/error.hpp"
#include "comm/host_pairs.hpp"
#include "comm/membership.hpp"
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::comm {

/// What this rank is at, for the others' sake: written by whoever computes, read by the thread that
/// sends heartbeats. Costs a few stores.
struct Progress {
  std::atomic<std::int64_t> done = 0;  // counts up whenever something was done
  // threads that wait for other ranks, in a collective or an exchange
  std::atomic<int> waiting = 0;
  // with something that may take long, e.g. "saving a checkpoint": then standing still is no hang
  std::atomic<const char*> busy = nullptr;
};

struct ControlOptions {
  // by name ("trainx", "plan", ...): where a value differs between ranks nobody begins
  std::map<std::string, std::string> equal_on_all;
  // e.g. "GPU 3 (uuid)": two ranks of one host with the same one are refused; empty: shared by
  // right, as a CPU is
  std::string device;
  double join_seconds = 300;  // for all ranks to arrive
  double hang_seconds = 60;   // run.hang_limit
  // what this rank is at, as words for people: "step 12: reduce g.h3.mlp"; called on a thread of
  // Control's
  std::function<std::string()> describe;
  // called once, on a thread of Control's, when the run has failed elsewhere
  std::function<void(ExitCode, const std::string&)> on_failure;
};

class Control {
 public:
  /// Returns when all ranks have arrived and found themselves alike. Throws UserError, with the
  /// same sentence on every rank: 69 somebody did not come in time or the port is in use, 78 ranks
  /// that differ or two on one device, 82 somebody ended meanwhile. Closes membership.listener.
  /// world_size 1: opens nothing.
  static std::unique_ptr<Control> join(const Membership& membership, ControlOptions options);
  virtual ~Control() = default;

  const Membership& membership() const { return membership_; }
  int rank() const { return membership_.rank; }
  int world_size() const { return membership_.world_size; }
  virtual const HostRanks& hosts() const = 0;
  /// All ranks run on this host.
  virtual bool one_host() const { return hosts().size() == 1; }
  /// Addresses by which the other hosts reach each rank.
  virtual const std::vector<std::string>& addresses() const = 0;
  /// "rank 2 (host b, pid 77)"
  virtual std::string name_of(int rank) const { return "rank " + std::to_string(rank); }
  /// What each rank gave, by rank. All ranks call it, in the same order. Throws the run's failure.
  virtual std::vector<std::string> exchange(std::string_view mine) = 0;
  virtual Progress& progress() { return progress_; }

  /// The run has failed elsewhere: a rank ended (82), stands still or is stopped (81), or ended
  /// with an error that it told (82).
  virtual bool failed() const { return failed_; }
  /// Throws the failure as UserError, if there is one: FailedElsewhere, with the code of the rank
  /// that failed first.
  virtual void throw_failure() const = 0;
  /// Told by this rank, e.g. of collectives that do not match: ends the others as well.
  virtual void fail(ExitCode code, const std::string& sentence) = 0;
  /// Leaves in peace: waits until all others leave too. Without it, this rank's end is a loss to
  /// the others.
  virtual void leave() = 0;
  /// Leaves with an error of this rank's own, which the others are told.
  virtual void leave_with(ExitCode code, const std::string& sentence) = 0;

 protected:
  explicit Control(Membership membership) : membership_(std::move(membership)) {}
  Membership membership_;
  Progress progress_;
  std::atomic<bool> failed_ = false;
};

}  // namespace trainx::comm

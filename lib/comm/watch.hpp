// Who of the ranks is lost, stopped or stands still: what rank 0 concludes from what it hears,
// without any sockets.
#pragma once
#include "comm/clock.hpp"
#include "comm/failure.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::comm {

/// What a rank says of itself with each heartbeat.
struct Pulse {
  std::int64_t done = 0;
  bool waits_for_peers = false;
  std::string busy, at;
};

class Watch {
 public:
  /// `names`: by rank, "rank 2 (host b, pid 77)". hang_seconds of 0 or less: standing still is no
  /// failure.
  Watch(std::vector<std::string> names, double hang_seconds, Time now);
  void heard(int rank, Pulse pulse, Time now);
  /// Called several times a second; where it was not, all clocks begin anew, since then it was the
  /// watch that stood still. 81, or nothing.
  std::optional<Failure> look(Time now);
  /// 82: the rank's connection ended without a word.
  Failure lost(int rank) const;
  const std::string& at(int rank) const { return ranks_[rank].pulse.at; }

 private:
  struct Rank {
    std::string name;
    Pulse pulse;
    // of the last heartbeat, and of the last that said something else than the one before
    Time heard, since;
  };
  std::optional<Failure> stands_still(Time now) const;
  /// Who else waits where, as words.
  std::string waiting(std::size_t other_than) const;
  std::vector<Rank> ranks_;
  double hang_seconds_;
  Time looked_;
};

/// Sentences about one rank, for those who find it out by themselves. `waiting`: who waits where,
/// empty: nobody.
Failure lost_failure(const std::string& name, const std::string& at, const std::string& waiting);
Failure stopped_failure(const std::string& name, const std::string& at, double silent_seconds,
                        const std::string& waiting);

}  // namespace trainx::comm

// Rank 0's part in the ranks' finding each other: who knocks, whether he is of the run, whether all
// have come and are alike.
#pragma once
#include "comm/failure.hpp"
#include "comm/identity.hpp"
#include "comm/peer_listener.hpp"
#include "comm/wake.hpp"
#include <atomic>
#include <list>
#include <optional>

namespace trainx::comm {

/// One who has proved that he is of the run, and has said who he is.
struct Arrival {
  Connection connection;
  Identity identity;
};

class Rendezvous {
 public:
  /// `own`: rank 0's end of a pair of sockets, over which it joins as the others do; it has
  /// nothing to prove.
  Rendezvous(Descriptor listener, Connection own, const Membership& membership,
             double join_seconds);
  /// By rank, all told who they all are. Empty: they do not come together, which those who came
  /// were told, or `stopping`.
  std::vector<Arrival> run(Wake& wake, const std::atomic<bool>& stopping);

 private:
  void wait(Wake& wake, Time until);
  void hear(Peer& peer);
  void hear_all();
  std::optional<Failure> verdict();
  /// Once: who has not come after some seconds.
  void tell_of_missing();
  std::vector<Arrival> take_all();
  void refuse(const Failure& failure);

  PeerListener listener_;
  Membership membership_;
  double join_seconds_;
  Time began_ = Clock::now(), deadline_;
  bool told_of_missing_ = false;
  std::optional<Time> differed_;  // when ranks that do not fit together were first seen
  bool told_of_refusal_ = false;
  std::list<Peer> peers_;  // proved; their identities are still to come
  std::list<Arrival> arrived_;
};

}  // namespace trainx::comm

// Rank 0's part in the ranks' finding each other: who knocks, whether he is of the run, whether all
// have come and are alike.
#pragma once
#include "comm/connection.hpp"
#include "comm/failure.hpp"
#include "comm/identity.hpp"
#include "comm/wake.hpp"
#include <atomic>
#include <list>
#include <optional>

namespace trainx::comm {

/// One who has shown that he is of the run.
struct Arrival {
  Connection connection;
  Identity identity;
};

class Rendezvous {
 public:
  /// `own`: rank 0's end of a pair of sockets; it knocks there as the others do at the listener.
  Rendezvous(Descriptor listener, Connection own, const Membership& membership,
             double join_seconds);
  /// By rank, all told who they all are. Empty: they do not come together, which those who came
  /// were told, or `stopping`.
  std::vector<Arrival> run(Wake& wake, const std::atomic<bool>& stopping);

 private:
  struct PendingPeer {  // one who has not shown it yet
    Connection connection;
    std::string address, nonce;
    Time leaves;  // when he is no longer waited for
  };
  void wait(Wake& wake, Time until);
  void welcome(Connection connection, const std::string& address);
  void accept_all();
  void hear(PendingPeer& peer);
  void hear_all();
  std::optional<Failure> verdict();
  std::vector<Arrival> take_all();
  void refuse(const Failure& failure);

  Descriptor listener_;
  Membership membership_;
  double join_seconds_;
  Time deadline_;
  std::optional<Time> differed_;  // when ranks that do not fit together were first seen
  std::list<PendingPeer> peers_;
  std::list<Arrival> arrived_;
};

}  // namespace trainx::comm

// Rank 0's thread that all ranks are connected to: it gathers them, passes their messages on, and
// tells all of them where one fails.
#pragma once
#include "comm/rendezvous.hpp"
#include "comm/watch.hpp"
#include <memory>
#include <thread>

namespace trainx::comm {

class Hub {
 public:
  /// `gathering`: not yet run.
  Hub(Rendezvous gathering, double hang_seconds);
  /// Says what is still to be said, and closes all connections: where the ranks did not leave, rank
  /// 0 is lost to them.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

 private:
  struct Member {
    Connection connection;
    Identity identity;
    std::optional<std::string> exchanged;  // what it gave to the exchange that is under way
    bool leaving = false;
  };
  void run();
  void wait(Time until);
  void beat();
  void hear(Member& member);
  void take(Member& member, const Message& message);
  void finish_exchange();
  void finish_leaving();
  void fail(const Failure& failure, const Member* but = nullptr);

  Rendezvous gathering_;
  double hang_seconds_;
  std::vector<Member> members_;
  std::optional<Watch> watch_;
  bool over_ = false;  // failed, or all have left: nobody is watched any more
  Wake wake_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace trainx::comm

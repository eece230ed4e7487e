// A rank's side of Control: its connection to rank 0 and the thread that listens there and sends
// heartbeats.
#pragma once
#include "comm/control.hpp"
#include "comm/failure.hpp"
#include "comm/hub.hpp"
#include "comm/joining.hpp"
#include "comm/wake.hpp"
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace trainx::comm {

class Member final : public Control {
 public:
  /// `hub`: in rank 0 alone.
  Member(const Membership& membership, ControlOptions options, Joined joined,
         std::unique_ptr<Hub> hub);
  ~Member() override;

  const HostRanks& hosts() const override { return hosts_; }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  std::string name_of(int rank) const override { return members_.at(rank).name(); }
  std::vector<std::string> exchange(std::string_view mine) override;
  void throw_failure() const override;
  void fail(ExitCode code, const std::string& sentence) override;
  void leave() override;
  void leave_with(ExitCode code, const std::string& sentence) override;

 private:
  void run();
  void listen();
  void send_pulse();
  void hear(std::unique_lock<std::mutex>& lock);
  void take(const Message& message, std::unique_lock<std::mutex>& lock);
  void find_rank_0_lost(std::unique_lock<std::mutex>& lock);
  void store(const Failure& failure, std::unique_lock<std::mutex>& lock);
  void put(MessageKind kind, std::string_view payload);  // with the mutex held
  void put(MessageKind kind, const Failure& failure);    // as well
  void throw_stored() const;                             // with the mutex held
  std::string waiting() const;

  const ControlOptions options_;
  const std::vector<Identity> members_;
  const HostRanks hosts_;
  std::vector<std::string> addresses_;
  std::unique_ptr<Hub> hub_;  // outlives the connection to it

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Connection connection_;
  std::optional<Failure> failure_;
  std::optional<std::string> exchanged_;
  std::string at_, at_of_rank_0_;  // with the last heartbeats
  // this rank told its own end: rank 0's answer is no failure from elsewhere
  bool told_ = false;
  bool heard_ = false, all_left_ = false;

  Time heard_rank_0_;  // of the thread alone
  Wake wake_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace trainx::comm

// Some of a run's ranks as if they were all: what collectives among them need.
#pragma once
#include "comm/communicator.hpp"

namespace trainx::comm {

class PartControl final : public Control {
 public:
  /// `members`: ranks of the run, ascending, this one among them. All ranks of the run are in some
  /// part, all parts are made at the same time, and their exchanges are made together.
  PartControl(Control& all, std::vector<int> members);

  const HostRanks& hosts() const override { return hosts_; }
  // of all, so that all parts take the same transport
  bool one_host() const override { return all_.one_host(); }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  std::string name_of(int rank) const override {
    return all_.name_of(members_.at(static_cast<std::size_t>(rank)));
  }
  std::vector<std::string> exchange(std::string_view mine) override;
  Progress& progress() override { return all_.progress(); }
  bool failed() const override { return all_.failed(); }
  void throw_failure() const override { all_.throw_failure(); }
  void fail(ExitCode code, const std::string& sentence) override { all_.fail(code, sentence); }
  /// A rank leaves the run, not a part of it: InternalError.
  void leave() override;
  void leave_with(ExitCode code, const std::string& sentence) override;

 private:
  Control& all_;
  std::vector<int> members_;
  std::vector<std::string> addresses_;
  HostRanks hosts_;
};

/// Collectives among some of the ranks, through the transport that all take.
struct Part {
  std::unique_ptr<PartControl> control;
  std::unique_ptr<Communicator> communicator;
};
Part make_part(Control& all, std::vector<int> members, const std::string& transport);

}  // namespace trainx::comm

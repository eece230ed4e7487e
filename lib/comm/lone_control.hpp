// Control of a run of one rank: nobody to hear or to tell.
#pragma once
#include "comm/control.hpp"

namespace trainx::comm {

class LoneControl final : public Control {
 public:
  explicit LoneControl(const Membership& membership)
      : Control(membership), addresses_{membership.address} {}
  const HostRanks& hosts() const override { return hosts_; }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  std::vector<std::string> exchange(std::string_view mine) override;
  void throw_failure() const override;
  void fail(ExitCode code, const std::string& sentence) override;
  void leave() override {}
  void leave_with(ExitCode, const std::string&) override {}

 private:
  std::vector<std::string> addresses_;
  const HostRanks hosts_{{0}};
  ExitCode code_ = ExitCode::ok;
  std::string sentence_;
};

}  // namespace trainx::comm

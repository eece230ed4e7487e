#include "execute/ranks.hpp"
#include "support/catch.hpp"
#include <string>
#include <utility>
#include <vector>

namespace ranks_test {

namespace {

using namespace trainx;

/// Knows where ranks are, and is connected to none of them.
class Placed final : public comm::Control {
 public:
  Placed(comm::Membership membership, comm::HostRanks hosts)
      : Control(std::move(membership)), hosts_(std::move(hosts)) {}
  const comm::HostRanks& hosts() const override { return hosts_; }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  std::vector<std::string> exchange(std::string_view mine) override { return {std::string(mine)}; }
  void throw_failure() const override {}
  void fail(ExitCode, const std::string&) override {}
  void leave() override {}
  void leave_with(ExitCode, const std::string&) override {}

 private:
  comm::HostRanks hosts_;
  std::vector<std::string> addresses_;
};

bool share_hosts(const comm::HostRanks& hosts) {
  Placed control({}, hosts);
  return execute::Ranks(&control, {}, nullptr).share_hosts();
}

}  // namespace

TEST_CASE("ranks share hosts as soon as one host has two of them") {
  CHECK(share_hosts({{0, 1}}));
  CHECK(share_hosts({{0}, {1, 2}}));
  CHECK(share_hosts({{0, 2}, {1}}));
  CHECK_FALSE(share_hosts({{0}, {1}}));
  CHECK_FALSE(execute::Ranks().share_hosts());
}

TEST_CASE("ranks are on one host if a single one has them all") {
  Placed control({}, {{0, 2}, {1, 3}});
  const execute::Ranks ranks(&control, {}, nullptr);
  CHECK(ranks.are_on_one_host({0, 2}));
  CHECK(ranks.are_on_one_host({3}));
  CHECK_FALSE(ranks.are_on_one_host({0, 1}));
  CHECK(ranks.ranks_of_host() == std::vector{0, 2});
}

}  // namespace ranks_test

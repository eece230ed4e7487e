#include "comm/roll_call.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace roll_call_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

Identity rank(int r, const std::string& host = "a") {
  return {.rank = r,
          .world_size = 3,
          .pid = 100 + r,
          .host = host,
          .boot_id = "boot of " + host,
          .device = "",
          .equal_on_all = {{"plan", "p"}, {"trainx", "t"}},
          .address = ""};
}

std::string said(const std::vector<Identity>& arrived) {
  const auto failure = difference(arrived);
  return failure ? std::to_string(static_cast<int>(failure->code)) + ": " + failure->sentence
                 : "nothing";
}

}  // namespace

TEST_CASE("ranks that are alike may train, also on one shared device name per host") {
  auto a = rank(0), b = rank(1, "b"), c = rank(2);
  a.device = b.device = "GPU 0 (uuid)";
  CHECK(said({c, a, b}) == "nothing");
}

TEST_CASE("what differs is said with the ranks and what to do, whatever the order they came in") {
  auto twice = rank(1, "b");
  twice.pid = 7;
  check_error("dist.roll_call/two_processes_say_they_rank", 78, said({rank(1), twice, rank(0)}));
  auto larger = rank(2, "b");
  larger.world_size = 4;
  check_error("dist.roll_call/rank_host_b_pid_run", 78, said({larger, rank(0)}));
  auto other = rank(2, "b"), without = rank(1);
  other.equal_on_all["plan"] = "q";
  without.equal_on_all.erase("trainx");
  check_error("dist.roll_call/rank_host_b_pid_another", 78, said({other, rank(0)}));
  check_error("dist.roll_call/rank_host_pid_another_trainx", 78, said({without, rank(0)}));
  auto x = rank(1), y = rank(2);
  x.device = y.device = "GPU 3 (uuid)";
  check_error("dist.roll_call/ranks_both_compute_gpu_uuid", 78, said({rank(0), y, x}));
}

TEST_CASE("who is missing is named") {
  check_sentence("dist.roll_call/ranks_did_not_arrive_within",
                 missing({rank(1)}, 3, 2.5, "a:29500", "").sentence);
  check_sentence("dist.roll_call/wrong_proof",
                 missing({rank(0), rank(1)}, 3, 300, "a:29500", "10.0.0.7").sentence);
  CHECK(missing({rank(1), rank(0)}, 3, 300, "a:1", "").code == ExitCode::unavailable);
}

}  // namespace roll_call_test

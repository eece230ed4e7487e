#include "dist/roll_call.hpp"
#include "support/catch.hpp"

using namespace trainx;
using namespace trainx::dist;

namespace {

Identity rank(int r, const std::string& host = "a") {
  return {.rank = r, .world_size = 3, .pid = 100 + r, .host = host, .boot_id = "boot of " + host, .device = "", .equal_on_all = {{"plan", "p"}, {"trainx", "t"}}, .address = ""};
}

std::string said(const std::vector<Identity>& arrived) {
  const auto failure = difference(arrived);
  return failure ? std::to_string(static_cast<int>(failure->code)) + ": " + failure->sentence : "nothing";
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
  CHECK(said({rank(1), twice, rank(0)}) == "78: two processes say that they are rank 1: pid 101 on host a and pid 7 on host b; give each process of the run a rank of its own");
  auto larger = rank(2, "b");
  larger.world_size = 4;
  CHECK(said({larger, rank(0)}) == "78: rank 2 (host b, pid 102) is of a run of 4 ranks, rank 0 (host a, pid 100) of one of 3; start all of them for the same number of ranks");
  auto other = rank(2, "b"), without = rank(1);
  other.equal_on_all["plan"] = "q";
  without.equal_on_all.erase("trainx");
  CHECK(said({other, rank(0)}) == "78: rank 2 (host b, pid 102) has another plan than rank 0 (host a, pid 100); start the same trainx with the same recipe and options on all");
  CHECK(said({without, rank(0)}) == "78: rank 1 (host a, pid 101) has another trainx than rank 0 (host a, pid 100); start the same trainx with the same recipe and options on all");
  auto x = rank(1), y = rank(2);
  x.device = y.device = "GPU 3 (uuid)";
  CHECK(said({rank(0), y, x}) == "78: ranks 1 and 2 are both to compute on GPU 3 (uuid) of host a; give each rank a device of its own");
}

TEST_CASE("who is missing is named") {
  CHECK(missing({rank(1)}, 3, 2.5, "a:29500").sentence == "ranks 0, 2 of 3 did not arrive at a:29500 within 2.5 s; see the output of those processes, and whether that address is reached from there");
  CHECK(missing({rank(1), rank(0)}, 3, 300, "a:1").code == ExitCode::unavailable);
}

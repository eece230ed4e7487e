// Whose end decides, and what may pass.
#include "launch/run_end.hpp"
#include "support/catch.hpp"
#include <vector>

namespace run_end_test {

using namespace trainx;

namespace {

constexpr int by_kill = 9, by_segv = 11;  // as waitpid tells of a signal
int exited(int code) { return code << 8; }

struct Row {
  int rank, status, milliseconds;
  bool by_launcher = false;
};

int decisive(const std::vector<Row>& rows) {
  std::vector<launch::RankEnd> ends;
  for (const auto& row : rows)
    ends.push_back(
        {row.rank, row.status,
         std::chrono::steady_clock::time_point() + std::chrono::milliseconds(row.milliseconds),
         row.by_launcher});
  const auto* const end = launch::decisive_end(ends);
  return end ? end->rank : -1;
}

launch::RankEnd end(int status) { return {2, status, {}, false}; }

}  // namespace

TEST_CASE(
    "the first failure decides, one that tells of another's where no other comes within two "
    "seconds") {
  CHECK(decisive({{0, exited(0), 0}, {1, exited(0), 1}}) == -1);
  CHECK(decisive({}) == -1);
  CHECK(decisive({{0, exited(0), 0}, {1, exited(65), 1}, {2, exited(66), 2}}) == 1);
  CHECK(decisive({{0, exited(82), 0}, {1, exited(65), 1999}}) == 1);
  CHECK(decisive({{0, exited(82), 0}, {1, exited(65), 2000}}) == 1);
  CHECK(decisive({{0, exited(82), 0}, {1, exited(65), 2001}}) == 0);
  CHECK(decisive({{0, exited(81), 0}, {1, exited(82), 5}, {2, by_kill, 10}}) == 2);
  CHECK(decisive({{0, exited(81), 0}, {1, exited(82), 5}}) == 0);
  // the launcher killed it
  CHECK(decisive({{0, exited(82), 0}, {1, by_kill, 5, true}}) == 0);
  CHECK(decisive({{0, exited(65), 0}, {1, by_segv, 5}}) == 0);
}

TEST_CASE("stopping with a checkpoint is no failure, and decides where nothing failed") {
  CHECK(decisive({{0, exited(143), 0}, {1, exited(143), 1}}) == 0);
  CHECK(decisive({{0, exited(0), 0}, {1, exited(75), 1}}) == 1);
  CHECK(decisive({{0, exited(143), 0}, {1, exited(74), 9000}}) == 1);
  CHECK_FALSE(end(exited(143)).failed());
  CHECK_FALSE(end(exited(130)).failed());
  CHECK_FALSE(end(exited(129)).failed());
  CHECK_FALSE(end(exited(75)).failed());
  // the signal ended it before it could save
  CHECK(end(15).failed());
}

TEST_CASE("what may pass") {
  for (const int code : {69, 74, 81, 82, 137}) CHECK(launch::may_pass(end(exited(code))));
  for (const int code : {0, 1, 2, 65, 66, 71, 73, 75, 78, 79, 80, 83, 129, 130, 143})
    CHECK_FALSE(launch::may_pass(end(exited(code))));
  CHECK(launch::may_pass(end(by_kill)));
  CHECK(launch::may_pass(end(by_segv)));
}

TEST_CASE("an end in words") {
  CHECK(launch::words_of(end(exited(69))) == "rank 2 ended with 69");
  CHECK(launch::words_of(end(by_kill)).find("signal 9 (Killed)") != std::string::npos);
  CHECK(end(by_kill).exit_code() == 137);
}

}  // namespace run_end_test

#include "comm/communicator.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include "unit/comm/collectives.hpp"
#include <dirent.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <thread>

namespace communicator_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

const std::vector<DType> dtypes = {DType::f32, DType::f64, DType::i64, DType::bf16, DType::f16};

ControlOptions options() {
  ControlOptions o;
  o.join_seconds = 60;
  o.hang_seconds = 60;
  return o;
}

void all_end_well(ForkedRanks& ranks, double limit) {
  for (const RankEnd& e : ranks.wait(limit)) {
    INFO(e.said);
    CHECK(e.code == 0);
  }
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of trainx: other programs have names of their own.
int names_in_shm() {
  int count = 0;
  DIR* folder = ::opendir("/dev/shm");
  while (const dirent* entry = folder ? ::readdir(folder) : nullptr)
    count += std::string_view(entry->d_name).find("trainx") != std::string_view::npos;
  if (folder) ::closedir(folder);
  return count;
}

}  // namespace

TEST_CASE(
    "every collective is what plain loops in rank order make, for all types, sizes, roots and "
    "transports") {
  const int world = GENERATE(1, 2, 3, 4);
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  const int before = names_in_shm();
  ForkedRanks ranks(world, [&](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto c = make_communicator(*control, transport);
    if (m.world_size > 1 && c->transport() != transport) throw InternalError("another transport");
    std::uint64_t seed = 7;
    for (const DType dtype : dtypes)
      for (const std::int64_t n : {0, 1, 63, 1025, 4097, 80'001})
        for (int kind = 0; kind < 9; ++kind, ++seed)
          collectives::check_call(*c, kind, n, dtype, static_cast<int>(seed) % m.world_size, seed);
    // goes through all slots several times
    for (int kind = 0; kind < 9; ++kind)
      collectives::check_call(*c, kind, 1'500'007, DType::f32, 0, ++seed);
    control->leave();
    return std::string();
  });
  INFO(world << " ranks over " << transport);
  all_end_well(ranks, 120);
  CHECK(names_in_shm() == before);
}

TEST_CASE("random calls with random pauses stay right") {
  const int world = GENERATE(2, 4);
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  const auto seed = static_cast<std::uint64_t>(std::time(nullptr));
  ForkedRanks ranks(world, [&](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto c = make_communicator(*control, transport);
    std::mt19937_64 calls(seed), pauses(seed + static_cast<std::uint64_t>(m.rank) + 1);
    for (int i = 0; i < 150; ++i) {
      const int kind = static_cast<int>(calls() % 9),
                root = static_cast<int>(calls() % static_cast<std::uint64_t>(m.world_size));
      const auto n = static_cast<std::int64_t>(calls() % (std::uint64_t{1} << (calls() % 18)));
      const DType dtype = dtypes[calls() % dtypes.size()];
      if (pauses() % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(pauses() % 3000));
      collectives::check_call(*c, kind, n, dtype, root, calls());
      if (i % 10 == 0) control->exchange("between");
    }
    control->leave();
    return std::string();
  });
  INFO(world << " ranks over " << transport << ", seed " << seed);
  all_end_well(ranks, 120);
}

TEST_CASE("what collectives take", "[.bench]") {
  const int world = GENERATE(2, 4);
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  ForkedRanks ranks(world, [&](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto c = make_communicator(*control, transport);
    collectives::Bytes large(4 << 20), small(64);
    double best_large = 1e9, all_large = 0, best_small = 1e9, all_small = 0;
    for (int round = 0; round < 20; ++round) {
      const double l = seconds_of([&] {
                         for (int i = 0; i < 10; ++i)
                           c->all_reduce(large.data(), 1 << 20, DType::f32);
                       }) /
                       10;
      const double s = seconds_of([&] {
                         for (int i = 0; i < 1000; ++i) c->all_reduce(small.data(), 16, DType::f32);
                       }) /
                       1000;
      best_large = std::min(best_large, l), best_small = std::min(best_small, s);
      all_large += l / 20, all_small += s / 20;
    }
    control->leave();
    char text[200];
    std::snprintf(
        text, sizeof text,
        "all_reduce of 4 MB: best %.3f ms, mean %.3f ms; of 64 bytes: best %.2f us, mean %.2f us",
        best_large * 1e3, all_large * 1e3, best_small * 1e6, all_small * 1e6);
    return std::string(text);
  });
  WARN(world << " ranks over " << transport << ": " << ranks.wait(120)[0].said);
}

}  // namespace communicator_test

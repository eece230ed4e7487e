#include "comm/part_control.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include "unit/comm/collectives.hpp"
#include <cstdlib>

namespace part_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

/// Of four ranks, those of one's own half, and those of both halves that have one's place in them.
std::vector<int> half_of(int rank) { return rank < 2 ? std::vector{0, 1} : std::vector{2, 3}; }
std::vector<int> across_from(int rank) { return {rank % 2, rank % 2 + 2}; }

}  // namespace

TEST_CASE(
    "parts of the ranks make every collective among themselves, beside those of all, through "
    "either transport") {
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  ForkedRanks ranks(4, [&](const Membership& m) {
    ControlOptions options;
    options.join_seconds = options.hang_seconds = 60;
    const auto control = Control::join(m, options);
    const auto all = make_communicator(*control, transport);
    const Part half = make_part(*control, half_of(m.rank), transport),
               across = make_part(*control, across_from(m.rank), transport);
    if (half.communicator->size() != 2 || half.communicator->rank() != m.rank % 2 ||
        across.communicator->rank() != m.rank / 2)
      throw InternalError("other ranks than asked for");
    if (across.control->name_of(1) != control->name_of(m.rank % 2 + 2))
      throw InternalError("a rank of a part has another's name");
    if (control->hosts() != HostRanks{{0, 1, 2, 3}} || half.control->hosts() != HostRanks{{0, 1}})
      throw InternalError("ranks of this host are elsewhere");
    std::uint64_t seed = 3;
    for (const std::int64_t n : {1, 4097, 80'001})
      for (int kind = 0; kind < 7; ++kind)
        for (Communicator* c : {half.communicator.get(), all.get(), across.communicator.get()}) {
          ++seed;
          collectives::check_call(*c, kind, n, DType::f32, static_cast<int>(seed) % c->size(),
                                  seed);
        }
    control->leave();
    return std::string();
  });
  for (const RankEnd& e : ranks.wait(60)) {
    INFO(e.said);
    CHECK(e.code == 0);
  }
}

TEST_CASE("a rank that dies ends those who wait for it in another part's collectives too") {
  ForkedRanks ranks(4, [&](const Membership& m) {
    ControlOptions options;
    options.join_seconds = options.hang_seconds = 60;
    const auto control = Control::join(m, options);
    const auto all = make_communicator(*control);
    const Part half = make_part(*control, half_of(m.rank), all->transport()),
               across = make_part(*control, across_from(m.rank), all->transport());
    if (m.rank == 3) std::_Exit(9);
    std::vector<float> data(1000, 1);
    // the first half waits for nobody who died until it asks across
    for (;;) {
      half.communicator->all_reduce(reinterpret_cast<std::byte*>(data.data()), 1000, DType::f32);
      across.communicator->all_reduce(reinterpret_cast<std::byte*>(data.data()), 1000, DType::f32);
    }
    return std::string();
  });
  const auto ends = ranks.wait(30);
  for (std::size_t r = 0; r < 3; ++r) {
    INFO(ends[r].said);
    CHECK(ends[r].code == static_cast<int>(ExitCode::peer_lost));
  }
}

}  // namespace part_test

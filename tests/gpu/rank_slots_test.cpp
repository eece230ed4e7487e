#include "kernels/experts/rank_slots.hpp"
#include "gpu/operands.hpp"
#include "gpu/spread.hpp"
#include "kernels/experts/dispatch_rows.hpp"
#include <tuple>

namespace rank_slots_test {

using namespace trainx::kernels;

namespace {

using Index = std::vector<std::int32_t>;

struct Sizes {
  std::int64_t tokens, per_token, experts, ranks;
};
constexpr Sizes all_sizes[] = {{1, 1, 2, 2},       {17, 2, 4, 2},       {65, 8, 64, 8},
                               {1'000, 3, 256, 4}, {20'000, 6, 160, 8}, {4'099, 8, 64, 64},
                               {300, 4, 4, 4},     {16'384, 8, 64, 2},  {500, 4, 1'024, 1'024}};

Index unfilled(std::int64_t n) { return Index(static_cast<std::size_t>(n), -7); }

OnDevice<std::int32_t> counts_of(std::int64_t experts) {
  return OnDevice<std::int32_t>(unfilled(expert_sort_scratch_bytes(experts) / 4));
}

void compare(const Sizes& s, const Index& indices, std::int64_t room) {
  const std::int64_t pairs = s.tokens * s.per_token, most = std::min(s.per_token, s.ranks),
                     slot = room > 0 ? std::min(room, s.tokens) : s.tokens,
                     in_slots = s.ranks * slot * s.per_token;
  const OnDevice<std::int32_t> in(indices), counts = counts_of(s.experts), kept(unfilled(pairs)),
                                            places(unfilled(s.tokens * most)),
                                            owners(unfilled(in_slots));
  const RankChoices all{s.tokens, s.per_token, s.experts, s.ranks, indices.data()};
  RankChoices some = all, on = all, some_on = all;
  on.indices = some_on.indices = in.data();
  Index want_kept = unfilled(pairs), want_places = unfilled(s.tokens * most),
        want_owners = unfilled(in_slots);
  if (room > 0) {
    kept_choices_reference({all, room, want_kept.data()});
    require_success(kept_choices({on, room, kept.data()}, counts.data(), nullptr), "kept");
    CHECK(kept.host() == want_kept);
    some.indices = want_kept.data(), some_on.indices = kept.data();
  }
  rank_places_reference({some, most, slot, want_places.data()});
  require_success(rank_places({some_on, most, slot, places.data()}, counts.data(), nullptr),
                  "places");
  counts.host();  // its guards
  CHECK(places.host() == want_places);

  const auto weights = random_elements<float>(pairs, 2), d = random_elements<float>(in_slots, 3);
  std::vector<float> want_weights(d.size(), -7), want_d(weights.size(), -7);
  const OnDevice<float> on_weights(weights), on_d(d), to_weights(want_weights), to_d(want_d);
  rank_slots_reference({some, most, slot, want_places.data(), weights.data(), want_owners.data(),
                        want_weights.data()});
  require_success(rank_slots({some_on, most, slot, places.data(), on_weights.data(), owners.data(),
                              to_weights.data()},
                             nullptr),
                  "slots");
  CHECK(owners.host() == want_owners);
  CHECK(same_bits(to_weights.host(), want_weights));
  rank_slots_backward_reference({all, most, slot, want_places.data(), d.data(), want_d.data()});
  require_success(
      rank_slots_backward({on, most, slot, places.data(), on_d.data(), to_d.data()}, nullptr),
      "slots backward");
  CHECK(same_bits(to_d.host(), want_d));
}

}  // namespace

TEST_CASE("slots of ranks that share experts are filled as the reference does", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Spread spread : {Spread::drawn, Spread::one_expert, Spread::none_to_first})
    for (const Sizes& s : all_sizes) {
      const Index indices = spread_indices(spread, s.tokens, s.per_token, s.experts, 3);
      const std::int64_t even = s.tokens * s.per_token / s.ranks;
      for (const std::int64_t room : {std::int64_t{0}, std::int64_t{1}, even + 1, 2 * even + 1}) {
        INFO("tokens " << s.tokens << " of " << s.per_token << " of " << s.experts << " ranks "
                       << s.ranks << " room " << room << " spread " << static_cast<int>(spread));
        compare(s, indices, room);
      }
    }
}

}  // namespace rank_slots_test

#include "data/masking.hpp"
#include "core/error.hpp"
#include "sample.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <cmath>
#include <map>

namespace trainx::data::masking_test {
namespace {

const options::Masking bert{0.15, 103, 1000, {0, 101, 102, 103}};

/// [CLS] 500 501 ... [SEP], then padding.
Sample sentence(std::int32_t length, std::size_t row) {
  Sample sample(row);
  sample.view();
  for (std::int32_t i = 0; i < length; ++i)
    sample.tokens[static_cast<std::size_t>(i)] = i == 0            ? 101
                                                 : i == length - 1 ? 102
                                                                   : 500 + i % 400;
  sample.length[0] = length;
  return sample;
}
SampleView view(Sample& s) { return {s.tokens, s.targets, s.token_types, s.length, s.label}; }

/// Of n expected with probability p; five standard deviations either way.
void check_share(double count, double n, double p) {
  INFO(count << " of " << n << ", expected " << n * p);
  CHECK(std::abs(count - n * p) < 5 * std::sqrt(n * p * (1 - p)));
}

}  // namespace

TEST_CASE(
    "15 % of the ordinary tokens become targets: 80 % masks, 10 % other tokens, 10 % as they "
    "were") {
  double ordinary = 0, targets = 0, masks = 0, others = 0, kept = 0;
  std::map<std::int32_t, int> put_in;
  for (std::int64_t position = 0; position < 4000; ++position) {
    Sample sample = sentence(100, 128);
    const Sample before = sample;
    draw_masks(bert, 42, position, view(sample));
    for (std::size_t i = 0; i < 128; ++i) {
      const bool special = i == 0 || i >= 99;
      ordinary += special ? 0 : 1;
      if (sample.targets[i] == no_target) {
        REQUIRE(sample.tokens[i] == before.tokens[i]);
        continue;
      }
      REQUIRE_FALSE(special);
      REQUIRE(sample.targets[i] == before.tokens[i]);
      ++targets;
      if (sample.tokens[i] == 103)
        ++masks;
      else if (sample.tokens[i] == before.tokens[i])
        ++kept;
      else
        ++others, ++put_in[sample.tokens[i]];
    }
  }
  check_share(targets, ordinary, 0.15);
  check_share(masks, targets, 0.8);
  // one random token in 996 is the one that stood there
  check_share(others, targets, 0.1 * 995 / 996);
  check_share(kept, targets, 0.1 + 0.1 / 996);
  for (const auto& [id, count] : put_in)
    REQUIRE((id > 0 && id < 1000 && id != 101 && id != 102 && id != 103));
  CHECK(put_in.contains(1));
  CHECK(put_in.contains(999));
  // 996 there are, of which some 6000 were drawn
  CHECK(put_in.size() > 950);
}

TEST_CASE("masks are a function of seed, position and tokens") {
  const auto drawn = [](std::uint64_t seed, std::int64_t position, std::size_t row) {
    Sample sample = sentence(60, row);
    draw_masks(bert, seed, position, view(sample));
    sample.tokens.resize(60);
    sample.targets.resize(60);
    return std::pair{sample.tokens, sample.targets};
  };
  CHECK(drawn(1, 7, 64) == drawn(1, 7, 128));  // however long the row
  CHECK(drawn(1, 7, 64) != drawn(1, 8, 64));
  CHECK(drawn(1, 7, 64) != drawn(2, 7, 64));
}

TEST_CASE("a sample with an ordinary token has a target, one without has none") {
  for (std::int64_t position = 0; position < 300; ++position) {
    Sample shortest = sentence(3, 8), specials = sentence(2, 8);
    draw_masks(bert, 5, position, view(shortest));
    CHECK(shortest.targets[1] == 501);
    draw_masks(bert, 5, position, view(specials));
    CHECK(std::ranges::all_of(specials.targets, [](std::int32_t t) { return t == no_target; }));
  }
  // without a length the whole row is the sample
  Sample bare = sentence(8, 8);
  draw_masks({1.0, 103, 1000, {101, 102}}, 5, 0, {bare.tokens, bare.targets});
  CHECK(bare.targets == Ids{no_target, 501, 502, 503, 504, 505, 506, no_target});
  Sample sample = sentence(8, 8);
  CHECK_THROWS_AS(draw_masks({0.15, 0, 2, {0, 1}}, 5, 0, view(sample)), InternalError);
}

}  // namespace trainx::data::masking_test

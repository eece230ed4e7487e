#include "data/labelled/shorten.hpp"
#include "support/catch.hpp"
#include <random>

namespace trainx::data::labelled::shorten_test {
namespace {

using Ids = std::vector<std::int64_t>;
const Ids special{0, 1, 2, 3};  // [PAD] [UNK] [CLS] [SEP]

Ids cut(const Ids& ids, const Ids& types, std::size_t most) {
  Field field{true, ids};
  keep_places(places_to_keep(ids, types, special, most), field);
  return field.values;
}

Ids counting(std::int64_t from, std::size_t count) {
  Ids out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(from + static_cast<std::int64_t>(i));
  return out;
}

Ids joined(std::initializer_list<Ids> parts) {
  Ids out;
  for (const Ids& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

TEST_CASE("truncation keeps the tokens around a text") {
  CHECK(cut({2, 10, 11, 12, 3}, {}, 4) == Ids{2, 10, 11, 3});
  CHECK(cut({10, 11, 12, 3}, {}, 2) == Ids{10, 3});
  CHECK(cut({2, 10, 11, 12}, {}, 2) == Ids{2, 10});
  CHECK(cut({2, 10, 3}, {}, 2) == Ids{2, 3});
  // nothing to keep, or no room for it: whoever asks takes the beginning
  CHECK(places_to_keep(Ids{10, 11, 12}, {}, special, 2).empty());
  CHECK(places_to_keep(Ids{2, 10, 11, 3}, {}, special, 1).empty());
  CHECK(places_to_keep(Ids{2, 10, 11, 3}, {}, {}, 3).empty());
  // a special token inside a text is none between two
  CHECK(cut({2, 10, 3, 11, 3}, {0, 0, 0, 0, 0}, 4) == Ids{2, 10, 3, 3});
}

TEST_CASE("of a pair the longer text is shortened first, as one token after another would be") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::size_t a = 1 + random() % 12, b = 1 + random() % 12, most = 3 + random() % 24;
    const bool doubled = random() % 2 == 0, typed = random() % 2 == 0;
    const Ids between = doubled ? Ids{3, 3} : Ids{3};
    const Ids ids = joined({{2}, counting(10, a), between, counting(50, b), {3}});
    Ids types(ids.size(), 0);
    for (std::size_t at = 1 + a + between.size(); at < ids.size(); ++at) types[at] = 1;
    const std::size_t around = 2 + between.size();
    if (ids.size() <= most || around > most) continue;
    std::size_t x = a, y = b;
    // of two that are as long the first gives first, unless it began as the longer one
    while (x + y + around > most) x > y || (x == y && a <= b) ? --x : --y;
    INFO(a << " and " << b << " in " << most);
    CHECK(cut(ids, typed ? types : Ids{}, most) ==
          joined({{2}, counting(10, x), between, counting(50, y), {3}}));
  }
}

}  // namespace trainx::data::labelled::shorten_test

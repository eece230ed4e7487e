#include "data/mixture/mixture.hpp"
#include "core/error.hpp"
#include "data/mixture/mixture_order.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <map>

namespace trainx::data::mixture_test {
namespace {

const std::vector<MixturePart> three{{100, 0.7}, {37, 0.2}, {5, 0.1}};

std::size_t source_of(std::int64_t sample, const std::vector<MixturePart>& parts) {
  std::size_t s = 0;
  for (; sample >= parts[s].samples; ++s) sample -= parts[s].samples;
  return s;
}

/// `count` lines whose first id tells them apart.
std::string lines(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "{\"input_ids\": [" + std::to_string(first + i) + ", 1]}\n";
  return text;
}

}  // namespace

TEST_CASE("quotas are the shares as exactly as a block of 512 to 1024 samples has them") {
  // of 1020: exact
  CHECK(mixture_quotas({{1, 0.7}, {1, 0.3}}) == std::vector<std::int64_t>{714, 306});
  CHECK(mixture_quotas({{1, 1}, {1, 1}}) == std::vector<std::int64_t>{512, 512});
  CHECK(mixture_quotas({{9, 5}}) == std::vector<std::int64_t>{1024});
  const auto thirds = mixture_quotas({{1, 1}, {1, 1}, {1, 1}});
  CHECK(thirds == std::vector<std::int64_t>(3, thirds[0]));
  const auto tiny = mixture_quotas({{1, 1}, {1, 1e-9}, {1, 1e-9}});
  CHECK(tiny[1] == 1);
  CHECK(tiny[2] == 1);
  for (int seed = 0; seed < 200; ++seed) {
    std::vector<MixturePart> parts;
    double sum = 0;
    for (int s = 0; s < 1 + seed % 9; ++s)
      sum += parts.emplace_back(MixturePart{1, 0.01 + std::fmod(seed * 0.618 + s * 0.377, 1.0)})
                 .weight;
    const auto quotas = mixture_quotas(parts);
    const double block =
        static_cast<double>(std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0}));
    REQUIRE((block >= 512 && block <= 1024));
    for (std::size_t s = 0; s < parts.size(); ++s)
      REQUIRE(std::abs(static_cast<double>(quotas[s]) / block - parts[s].weight / sum) < 1.0 / 512);
  }
  CHECK_THROWS_AS(mixture_quotas({}), InternalError);
}

TEST_CASE(
    "every block has its shares exactly, every source each of its samples once before any again, "
    "and seeking is free") {
  for (const bool shuffle : {true, false}) {
    const Order order = mixture_order(three, 42, shuffle);
    const auto quotas = mixture_quotas(three);
    const std::int64_t block = std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0});
    REQUIRE(order.samples() == 142);
    std::vector<std::vector<std::int64_t>> drawn(3);  // of each source, block after block
    for (std::int64_t b = 0; b < 5; ++b) {
      std::vector<std::vector<std::int64_t>> here(3);
      for (std::int64_t p = b * block; p < (b + 1) * block; ++p) {
        const std::int64_t sample = order.sample_at(p);
        REQUIRE((sample >= 0 && sample < 142));
        here[source_of(sample, three)].push_back(sample);
      }
      for (std::size_t s = 0; s < 3; ++s) {
        REQUIRE(static_cast<std::int64_t>(here[s].size()) == quotas[s]);
        drawn[s].insert(drawn[s].end(), here[s].begin(), here[s].end());
      }
    }
    // What a source gave by then is whole epochs of its own and a part of the next: counts differ
    // by one at most.
    for (std::size_t s = 0; s < 3; ++s) {
      std::map<std::int64_t, std::int64_t> counts;
      for (const std::int64_t sample : drawn[s]) ++counts[sample];
      const auto whole = static_cast<std::int64_t>(drawn[s].size()) / three[s].samples;
      INFO("source " << s << ", " << whole << " epochs of its own");
      if (whole > 0) CHECK(static_cast<std::int64_t>(counts.size()) == three[s].samples);
      for (const auto& [sample, count] : counts) REQUIRE((count == whole || count == whole + 1));
    }
    // A stream met in the middle is the same stream.
    const Order again = mixture_order(three, 42, shuffle);
    for (const std::int64_t p : {4999, 17, 1'000'000'007, 0})
      CHECK(again.sample_at(p) == order.sample_at(p));
  }
  CHECK(mixture_order(three, 42, true).sample_at(12345678901) ==
        mixture_order(three, 42, true).sample_at(12345678901));
}

TEST_CASE("without shuffling each source goes in order and the shares are even in any stretch") {
  const Order order = mixture_order(three, 42, false);
  std::vector<std::int64_t> next(3), first{0, 100, 137};
  for (std::int64_t p = 0; p < 3000; ++p) {
    const std::int64_t sample = order.sample_at(p);
    const std::size_t s = source_of(sample, three);
    REQUIRE(sample == first[s] + next[s]++ % three[s].samples);
    for (std::size_t i = 0; i < 3; ++i)
      REQUIRE(std::abs(static_cast<double>(next[i]) -
                       three[i].weight * static_cast<double>(p + 1)) < 3);
  }
}

TEST_CASE("shuffled mixtures differ by block and by seed, and sources do not come in runs") {
  const Order order = mixture_order({{100000, 1}, {100000, 1}}, 42, true);
  std::vector<int> sources;
  int changes = 0;
  for (std::int64_t p = 0; p < 2048; ++p) {
    sources.push_back(order.sample_at(p) >= 100000);
    if (p > 0 && sources[static_cast<std::size_t>(p)] != sources[static_cast<std::size_t>(p) - 1])
      ++changes;
  }
  // as coins would: five standard deviations
  CHECK(std::abs(changes - 1024) < 120);
  CHECK_FALSE(std::equal(sources.begin(), sources.begin() + 1024, sources.begin() + 1024));
  CHECK(order.sample_at(5) != mixture_order({{100000, 1}, {100000, 1}}, 43, true).sample_at(5));
}

TEST_CASE("a mixture is its sources one after another; eval has the eval sets that there are") {
  const ScratchFolder folder;
  const options::MixtureOptions options{
      {{3, options::JsonlOptions{folder.write("a.jsonl", lines(10, 4)),
                                 folder.write("a_eval.jsonl", lines(30, 2)), false}},
       {1,
        options::CsvOptions{
            folder.write("b.csv", "input_ids\n20 1 1\n21 1\n"), std::nullopt, false, {}}},
       {1, options::TextOptions{folder.write("c.txt", "abcdefghijk"),
                                folder.write("c_eval.txt", "xyzxyzxyz")}}}};
  SourceOptions how;
  how.sequence_length = 5;
  const auto train = open_source(options, Split::train, how),
             eval = open_source(options, Split::eval, how);
  REQUIRE(train->samples() == 4 + 2 + 2);
  // the largest that is known
  CHECK(train->vocab_size() == 256);
  CHECK(read_sample(*train, 3, 5).tokens == Ids{13, 1, 0, 0, 0});
  CHECK(read_sample(*train, 4, 5).tokens == Ids{20, 1, 1, 0, 0});
  CHECK(read_sample(*train, 6, 5).tokens == Ids{'a', 'b', 'c', 'd', 'e'});
  CHECK(train->length(3) == 2);
  CHECK(train->length(4) == 3);
  CHECK(train->length(7) == 0);
  REQUIRE(train->parts().size() == 3);
  CHECK(train->parts()[1].samples == 2);
  CHECK(train->parts()[0].weight == 3);
  REQUIRE(eval->samples() == 2 + 1);
  CHECK(read_sample(*eval, 1, 5).tokens == Ids{31, 1, 0, 0, 0});
  CHECK(read_sample(*eval, 2, 5).tokens == Ids{'x', 'y', 'z', 'x', 'y'});
  CHECK_THROWS_AS(read_sample(*train, 8, 5), InternalError);

  const Order order = make_order(
      std::shared_ptr<const Source>(open_source(options, Split::train, how)), {42, true, false, 1});
  std::int64_t of_first = 0;
  for (std::int64_t p = 0; p < 5100; ++p) of_first += order.sample_at(p) < 4;
  CHECK(of_first == 3060);  // five blocks of 1020

  options::MixtureOptions no_eval = options;
  no_eval.sources = {options.sources[1]};
  CHECK(open_source(no_eval, Split::eval, how) == nullptr);
  CHECK(make_vocabulary(options) != nullptr);
  CHECK(make_vocabulary(no_eval) == nullptr);
  how.vocab_limit = 15;
  expect_user_error(ExitCode::bad_data, {"b.csv:2: ", "input_ids[0] is 20"},
                    [&] { open_source(no_eval, Split::train, how); });
}

}  // namespace trainx::data::mixture_test

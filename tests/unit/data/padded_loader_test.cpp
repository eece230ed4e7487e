#include "data/loader.hpp"
#include "core/error.hpp"
#include "sample.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace trainx::data::padded_loader_test {
namespace {

/// Sample i has 1 + i % 10 tokens, all 10 + i, of which the odd samples name their targets.
class Steps final : public Source {
 public:
  std::int64_t samples() const override { return 40; }
  std::int64_t vocab_size() const override { return 0; }
  std::int64_t length(std::int64_t index) const override { return 1 + index % 10; }
  bool read(std::int64_t index, SampleView out) const override {
    const auto n = static_cast<std::size_t>(length(index));
    std::fill_n(out.tokens.begin(), n, static_cast<std::int32_t>(10 + index));
    // given: 7, and of every eighth that there is none
    if (index % 2 == 1 && index % 8 != 3) out.targets[0] = 7;
    out.length[0] = static_cast<std::int32_t>(n);
    out.label[0] = static_cast<std::int32_t>(index % 3);
    return index % 2 == 1;
  }
};

struct Batch {
  Batch(std::size_t b, std::size_t row)
      : tokens(b * row, 99),
        targets(b * row, 99),
        token_types(b * row, 99),
        lengths(b, 99),
        labels(b, 99),
        positions(b) {}
  BatchView view() { return {tokens, targets, positions, token_types, lengths, labels}; }
  Ids tokens, targets, token_types, lengths, labels;
  std::vector<std::int64_t> positions;
};

LoaderOptions options_of(std::int64_t global, std::int64_t micro) {
  LoaderOptions options;
  options.global_batch_size = global;
  options.micro_batch_size = micro;
  options.row_lengths = {2, 4, 8, 10};
  return options;
}

}  // namespace

TEST_CASE("all micro-batches of a step have the row that holds the step's longest sample") {
  Loader loader(std::make_shared<Steps>(), Order(40, 1, false), options_of(4, 2));
  // longest of 4: 4, 8, 10 (then 1, 2), 6, 10
  const std::vector<std::size_t> shapes{1, 2, 3, 2, 3};
  const std::vector<std::int64_t> tokens{10, 26, 22, 18, 34};
  for (std::int64_t step = 0; step < 5; ++step) {
    INFO("step " << step);
    const auto at = static_cast<std::size_t>(step);
    CHECK(loader.shape_of(step) == shapes[at]);
    CHECK(loader.tokens_of(step) == tokens[at]);
    const std::size_t row = std::vector<std::size_t>{2, 4, 8, 10}[loader.shape_of(step)];
    for (int m = 0; m < 2; ++m) {
      Batch batch(2, row);
      loader.fetch(step, m, batch.view());
      for (std::size_t b = 0; b < 2; ++b) {
        const std::int64_t index = 4 * step + 2 * m + static_cast<std::int64_t>(b),
                           length = 1 + index % 10;
        CHECK(batch.lengths[b] == length);
        CHECK(batch.labels[b] == index % 3);
        for (std::size_t t = 0; t < row; ++t) {
          CHECK(batch.tokens[b * row + t] ==
                (static_cast<std::int64_t>(t) < length ? 10 + index : 0));
          CHECK(batch.targets[b * row + t] ==
                (index % 2 == 1 && index % 8 != 3 && t == 0 ? 7 : no_target));
          CHECK(batch.token_types[b * row + t] == 0);
        }
      }
    }
  }
  Batch wrong(2, 4);
  CHECK_THROWS_AS(loader.fetch(1, 0, wrong.view()), InternalError);  // step 1 has rows of 8
}

TEST_CASE(
    "masks are drawn for samples that bring no targets, not for those that say there are none; the "
    "same for any cut and past the last step") {
  std::vector<Ids> seen;
  for (const std::int64_t micro : {8, 4, 2}) {
    auto options = options_of(8, micro);
    options.masking = options::Masking{0.3, 3, 100, {0, 3}};
    options.seed = 5;
    // step 2 is read where it is asked for
    options.last_step = 2;
    Loader loader(std::make_shared<Steps>(), Order(40, 1, false), options);
    Ids tokens, targets;
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::size_t row = static_cast<std::size_t>(options.row_lengths[loader.shape_of(step)]);
      for (int m = 0; m < 8 / micro; ++m) {
        Batch batch(static_cast<std::size_t>(micro), row);
        loader.fetch(step, m, batch.view());
        tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
        targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
        for (std::size_t b = 0; b < static_cast<std::size_t>(micro); ++b) {
          const std::int64_t index = batch.positions[b];
          const auto first = batch.targets.begin() + static_cast<std::ptrdiff_t>(b * row);
          const auto targets_here = std::count_if(first, first + static_cast<std::ptrdiff_t>(row),
                                                  [](std::int32_t t) { return t != no_target; });
          if (index % 8 == 3)
            CHECK(targets_here == 0);
          else if (index % 2 == 1)
            CHECK((targets_here == 1 && *first == 7));
          else
            CHECK(std::count(first, first + static_cast<std::ptrdiff_t>(row), 10 + index) ==
                  targets_here);
          CHECK((targets_here >= 1 || index % 8 == 3));
        }
      }
    }
    seen.push_back(tokens);
    seen.push_back(targets);
  }
  for (std::size_t i = 2; i < seen.size(); ++i) CHECK(seen[i] == seen[i % 2]);
}

}  // namespace trainx::data::padded_loader_test

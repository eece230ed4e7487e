// What the batches of a step need on a GPU. Needs no GPU.
#ifdef TRAINX_CUDA
#include "execute/cuda/step_needs.hpp"
#include <algorithm>
#include <vector>
#include "support/catch.hpp"

namespace step_needs_test {

using namespace trainx;

TEST_CASE(
    "a step is padded where one of its samples is, and computes whole chunks of rows with a "
    "target, at least one") {
  std::vector<std::int32_t> tokens(12), targets(12, data::no_target), lengths{4, 4, 4};
  std::vector<std::int64_t> positions(3);
  data::BatchView batch{tokens, targets, positions};
  batch.lengths = lengths;
  program::ModelGraph all_rows, chunks;
  chunks.target_chunk = 5;
  const operations::BatchNeeds none{.padded = false};
  CHECK(execute::with_batch(none, batch, all_rows) == none);
  CHECK(execute::with_batch(none, batch, chunks) == operations::BatchNeeds{false, 5});
  for (const auto& [found, rows] :
       {std::pair{1, 5}, {5, 5}, {6, 10}, {10, 10}, {11, 12}, {12, 12}}) {
    for (int i = 0; i < 12; ++i)
      targets[static_cast<std::size_t>(i)] = i < found ? 3 : data::no_target;
    CHECK(execute::with_batch(none, batch, chunks) == operations::BatchNeeds{false, rows});
    CHECK(execute::with_batch(none, batch, all_rows) == none);
  }
  lengths[1] = 3;
  const operations::BatchNeeds padded = execute::with_batch(none, batch, chunks);
  CHECK(padded == operations::BatchNeeds{true, 12});
  lengths[1] = 4;
  std::ranges::fill(targets, data::no_target);
  // of the step's micro-batches together
  CHECK(execute::with_batch(padded, batch, chunks) == padded);
  batch.lengths = {};
  CHECK(execute::with_batch(none, batch, all_rows) == none);
}

}  // namespace step_needs_test
#endif

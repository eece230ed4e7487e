// Models and batches that the tests of the blocks share.
#pragma once
#include "plain_run.hpp"
#include "reference_gpt2.hpp"
#include <cstdint>

namespace trainx::model::test {

struct Case {
  const char* name;
  architectures::Gpt2Dims dims;
  std::int64_t batch, length;
  double without_target = 0.2;  // share of targets that are -100
};

const std::vector<Case>& cases();
/// With weights and batch filled in, ready to run.
PlainRun make_run(const Case& t, DType compute);
PlainRun make_run(const Case& t, const program::ModelGraph& graph);
/// Of the run's weights and batch.
ReferenceResult reference_of(PlainRun& run, const Case& t, at::ScalarType compute = at::kDouble);

}  // namespace trainx::model::test

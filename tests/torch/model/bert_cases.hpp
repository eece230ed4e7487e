// BERT models and batches that the tests of the blocks share.
#pragma once
#include "plain_run.hpp"
#include "reference_bert.hpp"
#include <cstdint>

namespace trainx::model::test {

struct BertCase {
  const char* name;
  architectures::BertDims dims;
  std::int64_t batch, length;
  std::vector<int> lengths = {};  // of the samples; empty: no padding
  bool without_targets = false;
};

const std::vector<BertCase>& bert_cases();
/// With weights and batch filled in, ready to run. As many masked_lm targets as the graph expects,
/// tokens 0 and no targets in padding.
PlainRun make_run(
    const BertCase& t, DType compute,
    architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(2));
BertBatch batch_of(PlainRun& run, const BertCase& t);
/// Of the run's weights and batch.
BertResult reference_of(PlainRun& run, const BertCase& t, at::ScalarType compute = at::kDouble);

}  // namespace trainx::model::test

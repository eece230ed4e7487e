#pragma once
#include "core/dtype.hpp"
#include <string_view>

namespace trainx::plan {

/// What a GPU, named as for --gpu, takes while it trains in `compute`, in watts: the median over
/// the recorded steps of trainx on one such GPU (bench/results, joules for a token times tokens a
/// second; tests/e2e/results_test.py computes it again). 0: nothing was measured.
double training_watts(std::string_view gpu, DType compute);

}  // namespace trainx::plan

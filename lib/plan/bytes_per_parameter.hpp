// What a model's parameters take while it trains, in bytes for each of them: the rules of thumb
// that people plan by, and what they come to.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::plan {

struct ParameterBytes {
  std::string name;
  double weights = 0, optimizer = 0, gradients = 0;  // for each parameter
  double total() const { return weights + optimizer + gradients; }
};
/// Weights 4 in fp32, 6 in mixed precision (fp32 and 16 bits); AdamW 8, 8-bit AdamW 2, SGD with
/// momentum 4; gradients 4: 18 for mixed precision with AdamW. For inference in mixed precision 6,
/// in 16 bits alone 2, without the rest.
std::vector<ParameterBytes> rules_of_thumb();

/// What an optimizer keeps of a model.
struct OptimizerBytes {
  std::string name;
  double per_parameter = 0;  // without what comes for whole rows, columns or blocks
  double extra_bytes = 0;    // that comes for those
  // of the model: per_parameter times its parameters, and the extra
  double bytes = 0;
};
/// A tensor of so many rows and columns, and how many of them there are; one row: a vector.
struct TensorCount {
  std::int64_t rows = 1, columns = 1, count = 1;
};
double parameters_of(const std::vector<TensorCount>& tensors);
/// AdamW: two fp32 moments. Adafactor with a first moment (Shazeer & Stern 2018, arXiv:1804.04235):
/// that in fp32, of the second the sums of rows and columns. 8-bit AdamW (Dettmers et al. 2022,
/// arXiv:2110.02861): two moments of a byte, and an fp32 scale of each for every 2048 elements.
std::vector<OptimizerBytes> optimizer_table(const std::vector<TensorCount>& tensors);
/// T5 of 3B parameters (Raffel et al. 2020, arXiv:1910.10683): the model that the table is known
/// for.
std::vector<TensorCount> t5_3b();

}  // namespace trainx::plan

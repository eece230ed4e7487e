#pragma once
#include <string>

namespace trainx::graph {

/// A linear layer whose operands are cast to fp8, unless it is left out. Its tensors keep their
/// numbers (operations::Fp8Site) whichever layers are left out.
struct Fp8Product {
  std::string weight;  // name of its parameter; of several as one tensor, of the first
  int block = 0;       // of the model
  int input = 0;       // number of the input, which other layers of the block may read too
  int number = 0;      // of the weight and of the output gradient
  bool left_out = false;
  bool gains_nothing = false;  // why it is left out: Fp8Gains
};

}  // namespace trainx::graph

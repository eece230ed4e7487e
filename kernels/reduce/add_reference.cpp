#include "kernels/reduce/add.hpp"

namespace trainx::kernels {

void add_reference(float* sum, const float* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) sum[i] += in[i];
}

void add_reference(float* sum, const Bf16* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) sum[i] += widened(in[i]);
}

void add_reference(double* sum, const double* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) sum[i] += in[i];
}

}  // namespace trainx::kernels

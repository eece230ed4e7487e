#include "optim/weights.hpp"
#include "optim/chunks.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {
namespace {

// Eight running sums whose order the source fixes, so that every instruction set adds alike; the
// square of a float is exact in double.
TRAINX_OPTIM_CLONES double squares(const float* x, std::int64_t n) {
  constexpr int lanes = 8;
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int j = 0; j < lanes; ++j)
      sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  }
  for (; i < n; ++i) sums[i % lanes] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

double squared_norm(const program::GroupSpec& group, const float* gradient) {
  const auto chunks = chunks_of(group);
  std::vector<double> sums(chunks.size());
  for_each_chunk(chunks, [&](std::size_t i, const Chunk& chunk) {
    sums[i] = squares(gradient + chunk.begin, chunk.elements);
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace trainx::optim

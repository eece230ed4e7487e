#include "kernels/random/dropout.hpp"
#include "kernels/random/philox.hpp"

namespace trainx::kernels {
namespace {

template <class T>
void dropout_elements(T* out, const T* in, const DropoutRows& rows, const DropoutKey& key) {
  const auto threshold = static_cast<std::uint32_t>(std::ldexp(key.probability, 32));
  const auto scale = static_cast<float>(1 / (1 - key.probability));
  const std::int64_t all = rows.all_columns > 0 ? rows.all_columns : rows.columns;
  for (std::int64_t r = 0; r < rows.rows; ++r)
    for (std::int64_t c = 0; c < rows.columns; ++c) {
      const std::int64_t row = rows.first_row + r,
                         element = row % rows.length * all + rows.first_column + c,
                         i = r * rows.columns + c;
      const auto position = static_cast<std::uint64_t>(rows.positions[row / rows.length]);
      const FourWords words = philox(
          {{static_cast<std::uint32_t>(element / 4), key.block << 8 | key.site,
            static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)}},
          key.seed);
      narrow(widened(in[i]) * (words.at[element % 4] >= threshold ? scale : 0.0f), out[i]);
    }
}

}  // namespace

void dropout_reference(float* out, const float* in, const DropoutRows& rows,
                       const DropoutKey& key) {
  dropout_elements(out, in, rows, key);
}
void dropout_reference(Bf16* out, const Bf16* in, const DropoutRows& rows, const DropoutKey& key) {
  dropout_elements(out, in, rows, key);
}
void dropout_reference(Fp16* out, const Fp16* in, const DropoutRows& rows, const DropoutKey& key) {
  dropout_elements(out, in, rows, key);
}

}  // namespace trainx::kernels

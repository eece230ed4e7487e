#include "plan/bytes_per_parameter.hpp"

namespace trainx::plan {

std::vector<ParameterBytes> rules_of_thumb() {
  return {{"mixed precision, AdamW", 6, 8, 4},
          {"mixed precision, 8-bit AdamW", 6, 2, 4},
          {"mixed precision, SGD with momentum", 6, 4, 4},
          {"fp32, AdamW", 4, 8, 4},
          {"mixed precision, inference", 6, 0, 0},
          {"16 bits alone, inference", 2, 0, 0}};
}

double parameters_of(const std::vector<TensorCount>& tensors) {
  double n = 0;
  for (const TensorCount& t : tensors) n += static_cast<double>(t.rows * t.columns * t.count);
  return n;
}

std::vector<OptimizerBytes> optimizer_table(const std::vector<TensorCount>& tensors) {
  const double n = parameters_of(tensors);
  double factors = 0, scales = 0;
  for (const TensorCount& t : tensors) {
    const std::int64_t elements = t.rows * t.columns;
    // a vector's second moment is kept whole
    factors += 4.0 * static_cast<double>((t.rows == 1 ? t.columns : t.rows + t.columns) * t.count);
    scales += 2 * 4.0 * static_cast<double>((elements + 2047) / 2048 * t.count);
  }
  return {{"AdamW", 8, 0, 8 * n},
          {"Adafactor", 4, factors, 4 * n + factors},
          {"8-bit AdamW", 2, scales, 2 * n + scales}};
}

std::vector<TensorCount> t5_3b() {
  constexpr std::int64_t hidden = 1024, heads = 32, inner = heads * 128, mlp = 16384,
                         vocabulary = 32128, layers = 24, buckets = 32;
  // of the encoder, of the decoder, and between them
  const std::int64_t attentions = 3 * layers;
  // query, key and value; output
  return {{vocabulary, hidden, 1},
          {inner, hidden, 3 * attentions},
          {hidden, inner, attentions},
          // relative positions of both stacks
          {mlp, hidden, 2 * layers},
          {hidden, mlp, 2 * layers},
          {buckets, heads, 2},
          // norms
          {1, hidden, 2 * layers + 3 * layers + 2}};
}

}  // namespace trainx::plan

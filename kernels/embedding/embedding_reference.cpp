#include "kernels/embedding/embedding.hpp"
#include "kernels/random/dropout_reference.hpp"

namespace trainx::kernels {
namespace {

template <class T>
void rows(const Embedding<T>& op, float scale, const FusedDropout& dropout) {
  const float of_word = op.scales_word ? scale : 1, of_sum = op.scales_word ? 1 : scale;
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const bool has_word = op.word_rows == 0 || op.tokens[r] < op.word_rows;
      float x = has_word ? widened(op.word[op.tokens[r] * op.columns + c]) * of_word : 0.0F;
      if (op.position)
        x += widened(
            op.position[position_in_document(r, op.length,
                                             op.document_starts ? op.document_starts + r : nullptr,
                                             op.first_row) *
                            op.columns +
                        c]);
      if (op.type) x += widened(op.type[op.token_types[r] * op.columns + c]);
      x *= of_sum;
      if (dropout) x *= dropout_factor(dropout, r, c, op.columns);
      narrow(x, op.out[r * op.columns + c]);
    }
}

}  // namespace

void embedding_reference(const Embedding<float>& op, const FusedDropout& dropout) {
  rows(op, 1, dropout);
}
void embedding_reference(const Embedding<Bf16>& op, const FusedDropout& dropout) {
  rows(op, 1, dropout);
}
void embedding_reference(const Embedding<Fp16>& op, const FusedDropout& dropout) {
  rows(op, 1, dropout);
}
template <class T>
void scaled_embedding_reference(const Embedding<T>& op, double scale, const FusedDropout& dropout) {
  rows(op, static_cast<float>(scale), dropout);
}
template void scaled_embedding_reference(const Embedding<float>&, double, const FusedDropout&);
template void scaled_embedding_reference(const Embedding<Bf16>&, double, const FusedDropout&);
template void scaled_embedding_reference(const Embedding<Fp16>&, double, const FusedDropout&);

}  // namespace trainx::kernels

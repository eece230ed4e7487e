#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/embedding/position_in_document.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

void put(float* to, const std::vector<double>& sums, bool accumulate) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    to[i] = static_cast<float>(accumulate ? to[i] + sums[i] : sums[i]);
}

template <class T>
void add_tokens(const EmbeddingBackward<T>& op) {
  std::vector<double> sums(static_cast<std::size_t>(op.vocab_size * op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns && op.tokens[r] != op.without_gradient; ++c)
      sums[op.tokens[r] * op.columns + c] += widened(op.d[r * op.columns + c]);
  put(op.d_table, sums, op.accumulate);
}
template <class T>
void add_positions(const PositionBackward<T>& op) {
  std::vector<double> sums(static_cast<std::size_t>(op.positions * op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns && !(op.document_starts && op.document_starts[r] < 0);
         ++c)
      sums[position_in_document(r, op.length, op.document_starts ? op.document_starts + r : nullptr,
                                op.first_row) *
               op.columns +
           c] += widened(op.d[r * op.columns + c]);
  put(op.d_table, sums, op.accumulate);
}

}  // namespace

void embedding_backward_reference(const EmbeddingBackward<float>& op) { add_tokens(op); }
void embedding_backward_reference(const EmbeddingBackward<Bf16>& op) { add_tokens(op); }
void embedding_backward_reference(const EmbeddingBackward<Fp16>& op) { add_tokens(op); }
void position_backward_reference(const PositionBackward<float>& op) { add_positions(op); }
void position_backward_reference(const PositionBackward<Bf16>& op) { add_positions(op); }
void position_backward_reference(const PositionBackward<Fp16>& op) { add_positions(op); }

}  // namespace trainx::kernels

#include "operations/embedding/embedding.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/embedding/embedding_backends.hpp"

namespace trainx::operations {

void segment_embedding(const Tensor& out, const Tensor& tokens, const Tensor& token_types,
                       const Tensor& word, const Tensor& position, const Tensor& type) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out))
      return cuda::segment_embedding(*gpu, out, tokens, token_types, word, position, type);
  return cpu::segment_embedding(out, tokens, token_types, word, position, type);
}

void embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
               const Dropout& dropout, const DocumentStarts& document_starts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out))
      return cuda::embedding(*gpu, out, tokens, wte, wpe, dropout, document_starts);
  return cpu::embedding(out, tokens, wte, wpe, dropout, document_starts);
}

void embedding_backward_tokens(const Tensor& d_wte, const Tensor& d, const Tensor& tokens,
                               bool accumulate, std::int64_t without_gradient) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_wte))
      return cuda::embedding_backward_tokens(*gpu, d_wte, d, tokens, accumulate, without_gradient);
  return cpu::embedding_backward_tokens(d_wte, d, tokens, accumulate, without_gradient);
}

void embedding_backward_positions(const Tensor& d_wpe, const Tensor& d, std::int64_t length,
                                  bool accumulate, const DocumentStarts& document_starts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_wpe))
      return cuda::embedding_backward_positions(*gpu, d_wpe, d, length, accumulate,
                                                document_starts);
  return cpu::embedding_backward_positions(d_wpe, d, length, accumulate, document_starts);
}

void scaled_embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
                      double scale, const Dropout& dropout, const DocumentStarts& document_starts,
                      bool tokens_alone) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out))
      return cuda::scaled_embedding(*gpu, out, tokens, wte, wpe, scale, dropout, document_starts,
                                    tokens_alone);
  return cpu::scaled_embedding(out, tokens, wte, wpe, scale, dropout, document_starts,
                               tokens_alone);
}

void scale_rows(const Tensor& out, const Tensor& x, double scale) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::scale_rows(*gpu, out, x, scale);
  return cpu::scale_rows(out, x, scale);
}

void ids_of_part(const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                 std::int64_t without) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(ids)) return cuda::ids_of_part(*gpu, ids, tokens, rows, without);
  return cpu::ids_of_part(ids, tokens, rows, without);
}

void embed_part(const Tensor& out, const Tensor& ids, const EmbeddingPart& part) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::embed_part(*gpu, out, ids, part);
  return cpu::embed_part(out, ids, part);
}

}  // namespace trainx::operations

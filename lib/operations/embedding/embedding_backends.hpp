// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/embedding/embedding.hpp"
#include <cstdint>

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void segment_embedding(const Tensor& out, const Tensor& tokens, const Tensor& token_types,
                       const Tensor& word, const Tensor& position, const Tensor& type);
void embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
               const Dropout& dropout, const DocumentStarts& document_starts);
void embedding_backward_tokens(const Tensor& d_wte, const Tensor& d, const Tensor& tokens,
                               bool accumulate, std::int64_t without_gradient);
void embedding_backward_positions(const Tensor& d_wpe, const Tensor& d, std::int64_t length,
                                  bool accumulate, const DocumentStarts& document_starts);
void scaled_embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
                      double scale, const Dropout& dropout, const DocumentStarts& document_starts,
                      bool tokens_alone);
void scale_rows(const Tensor& out, const Tensor& x, double scale);
void ids_of_part(const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                 std::int64_t without);
void embed_part(const Tensor& out, const Tensor& ids, const EmbeddingPart& part);
}  // namespace cpu

namespace cuda {
void embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens, const Tensor& wte,
               const Tensor& wpe, const Dropout& dropout, const DocumentStarts& document_starts);
void segment_embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens,
                       const Tensor& token_types, const Tensor& word, const Tensor& position,
                       const Tensor& type);
void embedding_backward_tokens(const Gpu& gpu, const Tensor& d_wte, const Tensor& d,
                               const Tensor& tokens, bool accumulate,
                               std::int64_t without_gradient);
void embedding_backward_positions(const Gpu& gpu, const Tensor& d_wpe, const Tensor& d,
                                  std::int64_t length, bool accumulate,
                                  const DocumentStarts& document_starts);
void scaled_embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens, const Tensor& wte,
                      const Tensor& wpe, double scale, const Dropout& dropout,
                      const DocumentStarts& document_starts, bool tokens_alone);
void scale_rows(const Gpu& gpu, const Tensor& out, const Tensor& x, double scale);
void ids_of_part(const Gpu& gpu, const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                 std::int64_t without);
void embed_part(const Gpu& gpu, const Tensor& out, const Tensor& ids, const EmbeddingPart& part);
}  // namespace cuda

}  // namespace trainx::operations

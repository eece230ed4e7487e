#include "kernels/embedding/embedding.hpp"
#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/embedding/part_ids.hpp"
#include "kernels/embedding/scale.hpp"
#include "operations/common/launch.hpp"
#include "operations/embedding/embedding_backends.hpp"

namespace trainx::operations::cuda {

namespace {

// of a table that many rows name each token of: no need to sort them
constexpr std::int64_t few_tokens = 64;

/// `token_types` and `type`, `position` and `document_starts` may be undefined.
void embed(const Gpu& gpu, const Tensor& out, const Tensor& tokens, const Tensor& token_types,
           const Tensor& word, const Tensor& position, const Tensor& type, const Dropout& dropout,
           const DocumentStarts& document_starts = {}, double scale = 1, bool tokens_alone = false,
           std::int64_t word_rows = 0) {
  with_kernel_element(out, [&]<class T>(T) {
    kernels::Embedding<T> op;
    op.rows = out.size(0);
    op.columns = out.size(1);
    op.length = tokens.size(1);
    op.tokens = pointer<std::int32_t>(tokens);
    op.token_types = pointer<std::int32_t>(token_types);
    op.document_starts = pointer<std::int32_t>(document_starts.of_rows);
    op.first_row = document_starts.first;
    op.word = pointer<T>(word);
    op.position = pointer<T>(position);
    op.type = pointer<T>(type);
    op.out = pointer<T>(out);
    op.scales_word = tokens_alone;
    op.word_rows = word_rows;
    gpu::require(scale == 1
                     ? kernels::embedding(op, fused(dropout), gpu.space.stream)
                     : kernels::scaled_embedding(op, scale, fused(dropout), gpu.space.stream),
                 "embedding");
  });
  gpu.done(Work::embedding);
}

}  // namespace

void embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens, const Tensor& wte,
               const Tensor& wpe, const Dropout& dropout, const DocumentStarts& document_starts) {
  embed(gpu, out, tokens, {}, wte, wpe, {}, dropout, document_starts);
}

void scaled_embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens, const Tensor& wte,
                      const Tensor& wpe, double scale, const Dropout& dropout,
                      const DocumentStarts& document_starts, bool tokens_alone) {
  embed(gpu, out, tokens, {}, wte, wpe, {}, dropout, document_starts, scale, tokens_alone);
}

void ids_of_part(const Gpu& gpu, const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                 std::int64_t without) {
  gpu::require(kernels::part_ids({tokens.numel(), pointer<std::int32_t>(tokens), rows.first,
                                  rows.count, without, pointer<std::int32_t>(ids)},
                                 gpu.space.stream),
               "ids of a part of the vocabulary");
  gpu.done(Work::embedding);
}

void embed_part(const Gpu& gpu, const Tensor& out, const Tensor& ids, const EmbeddingPart& part) {
  embed(gpu, out, ids, part.token_types, part.word, part.position, part.type, {}, part.starts,
        part.scale, part.scales_tokens, part.word.size(0));
}

void scale_rows(const Gpu& gpu, const Tensor& out, const Tensor& x, double scale) {
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(kernels::scale(pointer<T>(out), pointer<T>(x), x.numel(), scale, gpu.space.stream),
                 "scaled embedding backward");
  });
  gpu.done(Work::embedding);
}

void segment_embedding(const Gpu& gpu, const Tensor& out, const Tensor& tokens,
                       const Tensor& token_types, const Tensor& word, const Tensor& position,
                       const Tensor& type) {
  embed(gpu, out, tokens, token_types, word, position, type, {});
}

void embedding_backward_tokens(const Gpu& gpu, const Tensor& d_wte, const Tensor& d,
                               const Tensor& tokens, bool accumulate,
                               std::int64_t without_gradient) {
  with_kernel_element(d, [&]<class T>(T) {
    kernels::EmbeddingBackward<T> op;
    op.rows = d.size(0);
    op.columns = d.size(1);
    op.vocab_size = d_wte.size(0);
    op.d = pointer<T>(d);
    op.tokens = pointer<std::int32_t>(tokens);
    op.d_table = pointer<float>(d_wte);
    op.accumulate = accumulate;
    op.without_gradient = without_gradient;
    const cudaError_t error = op.vocab_size <= few_tokens
                                  ? kernels::type_embedding_backward(op, gpu.fold, gpu.space.stream)
                                  : kernels::embedding_backward(op, gpu.sort, gpu.space.stream);
    gpu::require(error, "embedding backward");
  });
  gpu.done(Work::embedding);
}

void embedding_backward_positions(const Gpu& gpu, const Tensor& d_wpe, const Tensor& d,
                                  std::int64_t length, bool accumulate,
                                  const DocumentStarts& document_starts) {
  with_kernel_element(d, [&]<class T>(T) {
    const kernels::PositionBackward<T> op{d.size(0),
                                          d.size(1),
                                          length,
                                          d_wpe.size(0),
                                          pointer<T>(d),
                                          pointer<float>(d_wpe),
                                          accumulate,
                                          pointer<std::int32_t>(document_starts.of_rows),
                                          document_starts.first};
    gpu::require(document_starts.defined()
                     ? kernels::document_position_backward(op, gpu.sort, gpu.space.stream)
                     : kernels::position_backward(op, gpu.space.stream),
                 "position embedding backward");
  });
  gpu.done(Work::embedding);
}

}  // namespace trainx::operations::cuda

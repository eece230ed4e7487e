#pragma once
#include "operations/dropout/dropout.hpp"
#include <cstdint>
#include <utility>

namespace trainx::operations {

/// Where in its sample the document of each row's token begins, i32 [N] (-1: padding), and where in
/// the first row's sample that row lies; undefined: samples are documents.
struct DocumentStarts {
  DocumentStarts(Tensor starts = {}, std::int64_t first_row = 0)
      : of_rows(std::move(starts)), first(first_row) {}
  bool defined() const { return of_rows.defined(); }
  /// In its document, of row r where samples have so many rows.
  std::int64_t position(std::int64_t r, std::int64_t length) const {
    const std::int32_t start = of_rows.as<const std::int32_t>()[r];
    return start < 0 ? 0 : first + r % length - start;
  }
  Tensor of_rows;
  std::int64_t first;
};

/// out[B*T, C] = dropout(wte[tokens[b, t]] + wpe[t]); tokens i32 [B, T]. With document_starts
/// positions count from the document's first token, wpe[t - start]
/// (-1, padding: wpe[0]).
void embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
               const Dropout& dropout, const DocumentStarts& document_starts = {});
/// out[B*T, C] = word[tokens[b, t]] + position[t] + type[token_types[b, t]].
void segment_embedding(const Tensor& out, const Tensor& tokens, const Tensor& token_types,
                       const Tensor& word, const Tensor& position, const Tensor& type);
/// out[B*T, C] = dropout(scale * (wte[tokens[b, t]] + wpe[t])); wpe undefined: absent.
/// tokens_alone: dropout(scale * wte[tokens[b, t]] + wpe[t]), on CPUs.
void scaled_embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
                      double scale, const Dropout& dropout, const DocumentStarts& document_starts,
                      bool tokens_alone = false);
/// Rows of a table that lies over ranks: so many from `first` on.
struct TableRows {
  std::int64_t first = 0, count = 0;
};
/// ids[B, T] (i32): the row among those of each token, `rows.count` where it is not among them or
/// the token is `without`.
void ids_of_part(const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                 std::int64_t without);
/// What one of those ranks adds; undefined: it adds none.
struct EmbeddingPart {
  Tensor word = {}, position = {}, type = {};  // tables
  DocumentStarts starts = {};
  Tensor token_types = {};
  double scale = 1;
  bool scales_tokens = false;
};
/// out[B * T, C] as scaled_embedding, of ids[B, T] of ids_of_part.
void embed_part(const Tensor& out, const Tensor& ids, const EmbeddingPart& part);
/// out[N, C] = scale * x; `out` may be `x`.
void scale_rows(const Tensor& out, const Tensor& x, double scale);
/// d_wte[Vp, C], d_wpe[P, C] (f32) are overwritten wholly, or added to, by d[B*T, C]. The token
/// `without_gradient` learns nothing.
void embedding_backward_tokens(const Tensor& d_wte, const Tensor& d, const Tensor& tokens,
                               bool accumulate, std::int64_t without_gradient = -1);
/// With document_starts: as above; padding adds nothing.
void embedding_backward_positions(const Tensor& d_wpe, const Tensor& d, std::int64_t length,
                                  bool accumulate, const DocumentStarts& document_starts = {});

}  // namespace trainx::operations

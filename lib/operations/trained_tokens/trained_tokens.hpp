// Rows of a vocabulary that are trained by themselves. `ids`: their tokens, none twice; -1: one
// that another rank has.
#pragma once
#include "tensor/tensor.hpp"
#include <cstdint>
#include <span>
#include <vector>

namespace trainx::operations {

/// `ids` among the `count` from `first` on, counted from there; -1: it is none of them.
std::vector<std::int32_t> ids_within(std::span<const std::int32_t> ids, std::int64_t first,
                                     std::int64_t count);

/// places[n] = k where tokens[n] = ids[k], else the number of ids; i32, as many as tokens.
void place_tokens(const Tensor& places, const Tensor& tokens, std::span<const std::int32_t> ids);
/// y[N, C] = base, except where places[n] names one of rows[ids + 1, C] but the last: scale * that
/// row, or with `table` base + scale * (that row - table[tokens[n]]). y may be base.
void replace_rows(const Tensor& y, const Tensor& base, const Tensor& rows, const Tensor& places,
                  double scale, const Tensor& table, const Tensor& tokens);
/// to[N, ids] = columns `ids` of from[N, V]; of an id of -1 it is 0.
void take_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids);
/// Columns `ids` of to[N, V] = from[N, ids]; undefined: 0. An id of -1 is left out.
void put_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids);

}  // namespace trainx::operations

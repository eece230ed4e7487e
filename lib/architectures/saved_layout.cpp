#include "architectures/saved_layout.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::architectures {

using program::ParameterSpec;

namespace {

/// rows x columns inside trainx; a number or a vector is one row, and of more dimensions all but
/// the first are columns.
struct Matrix {
  std::int64_t rows, columns;
};
Matrix matrix(const std::vector<std::int64_t>& dims) {
  if (dims.size() <= 1) return {1, dims.empty() ? 1 : dims[0]};
  Matrix m{dims.at(0), 1};
  for (std::size_t d = 1; d < dims.size(); ++d) m.columns *= dims[d];
  return m;
}

/// What is saved of the parameter, as it lies inside.
Matrix saved_matrix(const ParameterSpec& p) {
  const Matrix inside = matrix(p.dims);
  // of stacked matrices that the folder holds as one
  if (p.dims.size() == 3 && p.saved_dims.size() == 2) return inside;
  Matrix saved = matrix(p.saved_dims);
  if (p.saved_transposed && p.dims.size() == 2) std::swap(saved.rows, saved.columns);
  if (saved.rows > inside.rows || saved.columns > inside.columns)
    throw InternalError(p.name + ": saved dims exceed dims");
  return saved;
}

/// Where the folder has that row of queries, keys and values.
std::int64_t saved_row(const ParameterSpec& p, std::int64_t row) {
  if (p.saved_heads == 0) return row;
  const std::int64_t of_kind = p.dims.front() / 3, head_size = of_kind / p.saved_heads,
                     kind = row / of_kind, head = row % of_kind / head_size;
  return (head * 3 + kind) * head_size + row % head_size;
}

/// Calls copy(element inside, element in the file) for each of these rows of a matrix [all_rows,
/// columns] whose file holds the transposed one. Goes by squares, whose rows and columns stay in
/// the cache. `stride`: between rows inside.
template <class Copy>
void for_each_transposed(std::int64_t columns, Rows rows, std::int64_t all_rows,
                         std::int64_t stride, Copy copy) {
  constexpr std::int64_t side = 32;
  for (std::int64_t r0 = rows.begin; r0 < rows.end; r0 += side)
    for (std::int64_t c0 = 0; c0 < columns; c0 += side)
      for (std::int64_t c = c0; c < std::min(c0 + side, columns); ++c)
        for (std::int64_t r = r0; r < std::min(r0 + side, rows.end); ++r)
          copy(r * stride + c, c * all_rows + r);
}

/// Calls copy(element inside the parameter, element in the file) for each saved element of these
/// rows.
template <class Copy>
void for_each_saved(const ParameterSpec& p, std::size_t saved_size, Rows rows, Copy copy) {
  if (saved_size != static_cast<std::size_t>(saved_elements(p)))
    throw InternalError(p.name + ": wrong number of saved elements");
  const Matrix inside = matrix(p.dims), saved = saved_matrix(p);
  if (p.saved_experts_last) {
    const std::int64_t experts = p.dims[0];
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      for (std::int64_t c = 0; c < inside.columns; ++c)
        copy(r * inside.columns + c, c * experts + r);
    return;
  }
  if (!p.saved_transposed) {
    const bool vector = p.dims.size() == 1;
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      for (std::int64_t c = 0; c < saved.columns; ++c) {
        const std::int64_t row = vector ? r : saved_row(p, r),
                           column = vector ? saved_row(p, c) : c;
        copy(r * inside.columns + c, row * saved.columns + column);
      }
    return;
  }
  if (p.dims.size() == 3) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      for_each_transposed(p.dims[2], {0, p.dims[1]}, p.dims[1], p.dims[2],
                          [&](std::int64_t of, std::int64_t in_file) {
                            copy(r * inside.columns + of, r * inside.columns + in_file);
                          });
    return;
  }
  for_each_transposed(saved.columns, rows, saved.rows, inside.columns, copy);
}

}  // namespace

std::int64_t saved_elements(const ParameterSpec& p) {
  std::int64_t n = 1;
  for (std::int64_t d : p.saved_dims) n *= d;
  return n;
}

Rows saved_rows(const ParameterSpec& p) { return {0, saved_matrix(p).rows}; }
std::int64_t saved_columns(const ParameterSpec& p) { return saved_matrix(p).columns; }

void unpack_saved(const ParameterSpec& p, std::span<const float> saved, float* group_memory,
                  Rows rows) {
  float* inside = group_memory + p.offset;
  for_each_saved(p, saved.size(), rows,
                 [&](std::int64_t to, std::int64_t from) { inside[to] = saved[from]; });
}

void pack_saved(const ParameterSpec& p, const float* group_memory, std::span<float> saved,
                Rows rows) {
  const float* inside = group_memory + p.offset;
  for_each_saved(p, saved.size(), rows,
                 [&](std::int64_t from, std::int64_t to) { saved[to] = inside[from]; });
}

}  // namespace trainx::architectures

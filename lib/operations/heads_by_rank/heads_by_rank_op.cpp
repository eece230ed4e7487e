#include "operations/columns/columns.hpp"
#include "operations/heads_by_rank/heads_by_rank_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {
namespace {

Tensor rows_of(const Tensor& by_rank, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t rows = by_rank.size(0) / ranks;
  return by_rank.narrow(0, rank * rows, rows);
}

/// Calls `use(section, first column of the rank's rows, first column of all, columns)` for the
/// rank's heads of each section; `shared`: another rank before has them, too.
template <class Use>
void for_heads_of(const HeadsByRank& op, std::int64_t rank, const Use& use) {
  std::int64_t own = 0, all = 0;
  for (const HeadSection& s : op.sections) {
    const std::int64_t head = rank * s.heads / op.ranks, count = s.of_rank(op.ranks) * s.size;
    const bool shared = rank > 0 && s.heads < op.ranks && (rank - 1) * s.heads / op.ranks == head;
    use(own, all + head * s.size, count, shared);
    own += count;
    all += s.columns();
  }
}

}  // namespace

void HeadsByRank::order(const Tensor& by_rank, const Tensor& rows) const {
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for_heads_of(*this, rank, [&](std::int64_t own, std::int64_t all, std::int64_t count, bool) {
      copy_columns_of_rows({rows_of(by_rank, rank, ranks), own}, {rows, all}, count);
    });
}

void HeadsByRank::order_back(const Tensor& rows, const Tensor& by_rank, bool adds) const {
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for_heads_of(*this, rank,
                 [&](std::int64_t own, std::int64_t all, std::int64_t count, bool shared) {
                   const ColumnsFrom to{rows, all}, from{rows_of(by_rank, rank, ranks), own};
                   adds || shared ? add_columns_of_rows(to, from, count)
                                  : copy_columns_of_rows(to, from, count);
                 });
}

void HeadsByRank::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  if (joins)
    order_back(by_row(c.output(y)), by_row(c.input(x)), false);
  else
    order(by_row(c.output(y)), by_row(c.input(x)));
}

void HeadsByRank::run_backward(const OpContext& c) const {
  const Tensor to = c.input_gradient(x), from = c.output_gradient(y);
  if (joins) return order(to, from);
  const Tensor addend = c.addend(x);
  if (addend.defined() && addend.data != to.data)
    copy_columns_of_rows({to, 0}, {addend, 0}, to.size(1));
  order_back(to, from, addend.defined());
}

}  // namespace trainx::operations

// Hashed symbolic expressions: equal hashes, equal meaning. Only + commutes and associates, which
// is what "each contribution exactly once" means.
#pragma once
#include "program/model_graph.hpp"
#include <cstdint>

namespace trainx::program {

using Symbol = std::uint64_t;

/// Order and number of what is mixed count.
Symbol mix(Symbol a, Symbol b);
template <class... Rest>
Symbol mix(Symbol a, Symbol b, Rest... rest) {
  return mix(mix(a, b), static_cast<Symbol>(rest)...);
}
/// A constant of that name.
Symbol named_symbol(std::string_view name);

/// What an operation of a block makes of its operands. `slots` holds the symbols of those that
/// `uses` reads, and gets those that it writes. Of forward and recompute, an output is an
/// expression of the slots in its `from`; of other operations, of all that is read. Returns what is
/// missing, as a sentence; empty when nothing is.
std::string block_symbols(const ModelGraph& graph, int block, Op op,
                          const std::vector<SlotUse>& uses, std::vector<Symbol>& slots);

/// One cell of a group's update: what it reads, by ascending UpdateSlot.
struct UpdateOperands {
  std::vector<std::pair<Slot, Symbol>> present;
  Symbol result(Slot written) const;
  /// What the cell that begins at `element` adds to the sum of that round.
  Symbol share_of_sum(int round, std::int64_t element) const;
};
/// Of a resident buffer's cell that begins at `element`, as Buffer::index and item name it.
Symbol initial_symbol(Role role, int index, int item, std::int64_t element);
Symbol batch_symbol(int tensor, Symbol step, int micro, int rank);
Symbol norm_symbol(Symbol gradient, int group, std::int64_t element);
/// A block's contribution to the cell of a group's gradient that begins at `element`.
Symbol contribution_symbol(Symbol gradient, std::int64_t element);
/// What a cell of a parameter adds to the scales of weights in fp8, and what it is in fp8.
Symbol fp8_scale_symbol(Symbol parameter, Symbol ranges, int group, std::int64_t element);
Symbol fp8_symbol(Symbol parameter, Symbol scales, Symbol ranges);
/// What rounding to that type makes of it.
Symbol rounded_symbol(Symbol exact, DType to);
/// Bytes of a cell beyond the first are told apart, so that pieces of a value cannot be swapped.
inline Symbol offset_symbol(std::int64_t begin) {
  return begin == 0 ? 0 : mix(0x51ed270b7a14u, static_cast<Symbol>(begin));
}
/// The piece of a value that a part of a block computes by itself (BlockSpec::parts).
Symbol piece_symbol(Symbol whole, int part);
/// A value as a block sees it that has no parts; one piece is all of it.
Symbol joined_pieces(const std::vector<Symbol>& pieces);
/// Of what all have, the piece that each has for the rank of that place.
Symbol joined_parts(const std::vector<Symbol>& all, int place);
/// A rank's rows of the sum of what all have.
Symbol sum_of_rows(const std::vector<Symbol>& shares, int place);
Symbol advanced_symbol(Symbol counter, const Symbol* norm2);

}  // namespace trainx::program

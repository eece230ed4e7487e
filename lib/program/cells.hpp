// Buffers cut into cells, the pieces that symbols are kept for: at borders of the pieces that
// blocks in parts use, and buffers of one group (weights, gradients, states, whole or sharded) at
// the same elements, so that operations on elements go from cell to cell. A state of tensors is one
// cell; one of blocks has the group's cells.
#pragma once
#include "program/model_graph.hpp"
#include <cstdint>
#include <set>

namespace trainx::program {

/// Of each group, the elements where cells begin; common to all programs of a run.
using GroupCuts = std::vector<std::set<std::int64_t>>;

/// Adds the cuts of a program; returns a sentence where its buffers do not fit the graph's groups.
std::string add_group_cuts(const StepProgram& p, const ModelGraph& graph, GroupCuts& cuts);
/// Where the group has shards, each cut is repeated in every shard.
void repeat_cuts_in_shards(const StepProgram& p, const ModelGraph& graph, GroupCuts& cuts);

class CellMap {
 public:
  struct Run {
    int begin, end;
  };

  CellMap(const StepProgram& p, const ModelGraph& graph, const GroupCuts& cuts);
  int count() const { return static_cast<int>(elements_.size()); }
  Run of(const Use& u) const { return of_buffer(u.buffer); }
  /// Cells of one of `parts` pieces of a buffer that a block of experts uses.
  Run of_piece(BufferId b, int part, int parts) const;
  Run of_buffer(BufferId b) const { return {first_[b], first_[static_cast<std::size_t>(b) + 1]}; }
  /// Where the cell begins: in elements of the whole group, or in bytes of a buffer that is of no
  /// group.
  std::int64_t element(int cell, int rank) const {
    return elements_[cell] + layouts_[cell].part(mesh_, rank) * part_elements_[cell];
  }

 private:
  Mesh mesh_;
  std::vector<std::vector<Bytes>> cuts_;  // by buffer, in bytes, without the end
  std::vector<int> first_;                // by buffer, and one more
  std::vector<Bytes> bytes_;              // by buffer
  std::vector<std::int64_t> elements_;    // by cell
  // by cell, of a rank's part; 0 where the buffer is not cut
  std::vector<std::int64_t> part_elements_;
  std::vector<Layout> layouts_;  // by cell
};

}  // namespace trainx::program

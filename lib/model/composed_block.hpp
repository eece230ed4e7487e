#pragma once
#include "graph/to_blocks.hpp"
#include "operations/op_context.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace trainx::model {

using operations::BlockContext;
using operations::Mode;

/// Computes what a BlockSpec declares: walks its operations (graph/to_blocks.hpp) in order, and
/// back. It allocates nothing of its own accord, picks no stream and talks to no rank.
///
/// Forward runs those whose outputs the instruction writes. A head goes through its rows some at a
/// time: forward, loss and backward of some before the next.
class ComposedBlock {
 public:
  /// `module`: of a block that is a module of the user's own.
  ComposedBlock(std::shared_ptr<const graph::Composition> composition, std::size_t index,
                std::int64_t batch_size, std::shared_ptr<operations::ModuleState> module = nullptr);

  virtual ~ComposedBlock() = default;

  /// Writes the forward slots that the instruction uses: all of them (forward), or the dropped ones
  /// (recompute). The last block has none of both.
  void forward(BlockContext& c);
  void backward(BlockContext& c);
  /// Loss and its gradients in one; the gradient is seeded with c.loss_seed().
  void loss(BlockContext& c);
  void evaluate(BlockContext& c);
  void predict(BlockContext& c);
  /// Writes the copies of weights that other instructions read for the whole run.
  void cast_weights(BlockContext& c);

 protected:
  virtual void run_forward(const operations::BoundOp& op, const operations::OpContext& c) const;
  virtual void run_backward(const operations::BoundOp& op, const operations::OpContext& c) const;

 private:
  using Rows = operations::RowRange;
  using Ops = std::vector<operations::BoundOp>;

  operations::OpContext context(const BlockContext& c, const operations::BoundOp& op,
                                Rows rows = {}) const {
    return {c, block_, op, rows, module_.get()};
  }
  void run_loss(const BlockContext& c, const operations::BoundOp& op, bool trains, Rows rows) const;
  void run_all(const BlockContext& c, const Ops& ops, Rows rows) const;
  void run_all_backward(const BlockContext& c, const Ops& ops, Rows rows) const;
  /// Writes which rows are computed; returns how many.
  std::int64_t pick_rows(const BlockContext& c) const;
  /// Sums that no row would write are zero all the same.
  /// The first that counts in a step begins from zero.
  void clear_counts(const BlockContext& c) const;
  void clear_sums(const BlockContext& c) const;
  void for_chunks(std::int64_t rows, const std::function<void(Rows)>& f) const;
  std::vector<std::int64_t> predicted_rows(const BlockContext& c) const;

  std::shared_ptr<const graph::Composition> composition_;
  const operations::BoundBlock& block_;
  std::int64_t batch_size_;
  std::shared_ptr<operations::ModuleState> module_;
};

/// Runs the block's part of an instruction.
void run_block(ComposedBlock& block, program::Op op, BlockContext& c);

/// A model's blocks, in the order of its graph.
using Blocks = std::vector<std::unique_ptr<ComposedBlock>>;

/// One for each block of a graph that was composed of operations. `modules`: of a chain of modules,
/// one for each block.
Blocks composed_blocks(const program::ModelGraph& graph,
                       std::vector<std::shared_ptr<operations::ModuleState>> modules = {});

/// What composed_blocks makes each block with. A worker that is to misbehave sets another before
/// it starts.
using BlockFactory = std::function<std::unique_ptr<ComposedBlock>(
    std::shared_ptr<const graph::Composition> composition, std::size_t index,
    std::int64_t batch_size)>;
void set_block_factory(BlockFactory factory);

}  // namespace trainx::model

#include "model/composed_block.hpp"
#include "core/error.hpp"
#include "operations/cast/cast.hpp"
#include "operations/rows/rows.hpp"
#include <algorithm>

namespace trainx::model {

using operations::BoundOp;
using operations::HeadRows;
using operations::OpContext;
using program::Role;
using program::Slot;

ComposedBlock::ComposedBlock(std::shared_ptr<const graph::Composition> composition,
                             std::size_t index, std::int64_t batch_size,
                             std::shared_ptr<operations::ModuleState> module)
    : composition_(std::move(composition)),
      block_(*composition_->blocks.at(index)),
      batch_size_(batch_size),
      module_(std::move(module)) {}

void ComposedBlock::run_forward(const BoundOp& op, const OpContext& c) const {
  std::visit(
      [&](const auto& o) {
        if constexpr (requires { o.run_forward(c); }) o.run_forward(c);
      },
      op.operation);
}

void ComposedBlock::run_backward(const BoundOp& op, const OpContext& c) const {
  std::visit(
      [&](const auto& o) {
        if constexpr (requires { o.run_backward(c); }) o.run_backward(c);
      },
      op.operation);
}

void ComposedBlock::run_loss(const BlockContext& c, const BoundOp& op, bool trains,
                             Rows rows) const {
  std::visit(
      [&](const auto& o) {
        if constexpr (requires(const OpContext& at) { o.run_loss(at); })
          trains ? o.run_loss(context(c, op, rows)) : o.run_evaluation(context(c, op, rows));
      },
      op.operation);
}

void ComposedBlock::run_all(const BlockContext& c, const Ops& ops, Rows rows) const {
  for (const BoundOp& op : ops) run_forward(op, context(c, op, rows));
}

void ComposedBlock::run_all_backward(const BlockContext& c, const Ops& ops, Rows rows) const {
  for (std::size_t k = ops.size(); k-- > 0;) run_backward(ops[k], context(c, ops[k], rows));
}

void ComposedBlock::clear_counts(const BlockContext& c) const {
  const Slot counts = block_.fp8_counts;
  if (counts != program::none && c.has(counts) && !c.accumulates(counts))
    operations::clear(c[counts]);
}

void ComposedBlock::forward(BlockContext& c) {
  clear_counts(c);
  run_all(c, block_.forward, {});
}

void ComposedBlock::backward(BlockContext& c) {
  clear_counts(c);
  run_all(c, block_.remade, {});
  run_all_backward(c, block_.backward, {});
}

void ComposedBlock::for_chunks(std::int64_t rows, const std::function<void(Rows)>& f) const {
  if (block_.chunk == 0) return f({});
  for (std::int64_t first = 0; first < rows; first += block_.chunk)
    f({first, std::min(block_.chunk, rows - first)});
}

std::int64_t ComposedBlock::pick_rows(const BlockContext& c) const {
  switch (block_.rows) {
    case HeadRows::all:
      return block_.rows_of_part > 0 ? block_.rows_of_part : batch_size_ * block_.length;
    case HeadRows::first:
      operations::first_rows(c[block_.row_index], block_.length);
      if (block_.rows_of_part == 0) return batch_size_;
      if (block_.rows_of_part >= block_.length) return block_.rows_of_part / block_.length;
      return c.place().rows * block_.rows_of_part % block_.length == 0 ? 1 : 0;
    case HeadRows::targets: break;
  }
  return operations::select_targets(c[block_.row_index], c[block_.row_targets], c[block_.targets]);
}

void ComposedBlock::clear_sums(const BlockContext& c) const {
  std::vector<Slot> sums = c.slots_of(Role::gradient);
  for (const Slot s : {block_.loss_sum, block_.target_count, block_.score})
    if (s != program::none && c.has(s)) sums.push_back(s);
  for (const Slot s : sums)
    if (!c.accumulates(s)) operations::clear(c[s]);
}

void ComposedBlock::loss(BlockContext& c) {
  const auto around = [&](auto call) {
    for (const BoundOp& op : block_.backward)
      if (const auto* sum = std::get_if<operations::ResidualNorm>(&op.operation))
        call(*sum, context(c, op));
  };
  around([](const auto& sum, const OpContext& at) { sum.begin_backward(at); });
  const std::int64_t rows = pick_rows(c);
  if (rows == 0) clear_sums(c);
  for_chunks(rows, [&](Rows some) {
    run_all(c, block_.forward, some);
    for (const BoundOp& op : block_.forward) run_loss(c, op, true, some);
    run_all_backward(c, block_.backward, some);
  });
  around([](const auto& sum, const OpContext& at) { sum.finish_backward(at); });
  // what is of no row
  for (const BoundOp& op : block_.forward)
    std::visit(
        [&](const auto& o) {
          if constexpr (requires(const OpContext& at) { o.finish_loss(at); })
            o.finish_loss(context(c, op));
        },
        op.operation);
  for (const BoundOp& op : block_.backward)
    std::visit(
        [&](const auto& o) {
          if constexpr (requires(const OpContext& at) { o.finish_gradient(at); })
            o.finish_gradient(context(c, op));
        },
        op.operation);
}

void ComposedBlock::evaluate(BlockContext& c) {
  const std::int64_t rows = pick_rows(c);
  if (rows == 0) clear_sums(c);
  for_chunks(rows, [&](Rows some) {
    run_all(c, block_.evaluated, some);
    for (const BoundOp& op : block_.evaluated) run_loss(c, op, false, some);
  });
}

std::vector<std::int64_t> ComposedBlock::predicted_rows(const BlockContext& c) const {
  std::vector<std::int64_t> out;
  const auto* targets = c[block_.targets].as<const std::int32_t>();
  for (std::int64_t b = 0; b < batch_size_; ++b) {
    const std::int64_t position = targets[b * block_.length];
    if (position < 0 || position >= block_.length)
      throw InternalError("predict: targets[b, 0] must be the position to read");
    out.push_back(b * block_.length + position);
  }
  return out;
}

void ComposedBlock::predict(BlockContext& c) {
  std::vector<std::int64_t> at;
  if (block_.rows == HeadRows::first)
    pick_rows(c);
  else
    at = predicted_rows(c);
  if (block_.rows == HeadRows::targets)
    std::ranges::copy(at, c[block_.row_index].as<std::int64_t>());
  for_chunks(batch_size_, [&](Rows some) {
    for (const BoundOp& op : block_.evaluated) {
      // of a head that computes all rows, what opens it picks those that are asked for
      if (block_.rows == HeadRows::all && &op == &block_.evaluated.front())
        for (std::int64_t i = 0; i < some.count; ++i)
          run_forward(op, context(c, op, {at[static_cast<std::size_t>(some.first + i)], 1, i}));
      else
        run_forward(op, context(c, op, some));
    }
    const Tensor logits = c[block_.last_logits].narrow(0, 0, some.count);
    for (const BoundOp& op : block_.evaluated)
      if (const auto* loss = std::get_if<operations::CrossEntropy>(&op.operation))
        loss->finish_logits(logits);
    if (!c.has(block_.logits)) return;
    const Tensor to = c[block_.logits];
    operations::cast(to.narrow(0, some.first, some.count), logits.narrow(1, 0, to.size(1)));
  });
}

void ComposedBlock::cast_weights(BlockContext& c) {
  for (const BoundOp& op : block_.casts)
    std::visit(
        [&](const auto& o) {
          if constexpr (requires(const OpContext& at) { o.run_weight_casts(at); })
            o.run_weight_casts(context(c, op));
        },
        op.operation);
}

void run_block(ComposedBlock& block, program::Op op, BlockContext& c) {
  switch (op) {
    case program::Op::backward: return block.backward(c);
    case program::Op::loss: return block.loss(c);
    case program::Op::evaluate: return block.evaluate(c);
    case program::Op::predict: return block.predict(c);
    case program::Op::cast_weights: return block.cast_weights(c);
    default: return block.forward(c);
  }
}

namespace {

BlockFactory& block_factory() {
  static BlockFactory factory = [](std::shared_ptr<const graph::Composition> composition,
                                   std::size_t index, std::int64_t batch_size) {
    return std::make_unique<ComposedBlock>(std::move(composition), index, batch_size);
  };
  return factory;
}

}  // namespace

void set_block_factory(BlockFactory factory) { block_factory() = std::move(factory); }

Blocks composed_blocks(const program::ModelGraph& graph,
                       std::vector<std::shared_ptr<operations::ModuleState>> modules) {
  if (!graph.composition) throw InternalError("the graph is not composed of operations");
  if (!modules.empty() && modules.size() != graph.blocks.size())
    throw InternalError("not one module for each block");
  Blocks blocks;
  const std::int64_t batch_size = graph.batch.front().dims.front();
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    blocks.push_back(modules.empty()
                         ? block_factory()(graph.composition, b, batch_size)
                         : std::make_unique<ComposedBlock>(graph.composition, b, batch_size,
                                                           std::move(modules[b])));
  return blocks;
}

}  // namespace trainx::model

#include "graph/passes/block_pieces.hpp"
#include <algorithm>
#include <string_view>
#include <type_traits>

namespace trainx::graph {

using namespace operations;
using program::ExchangeKind;

namespace {

std::string_view name_between(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::rows_to_all: return ".gather";
    case ExchangeKind::sums_to_rows: return ".scatter";
    case ExchangeKind::parts_to_ranks: return ".exchange";
    default: return ".numbers";
  }
}

}  // namespace

int targets_of(const Operation& operation) {
  return std::visit(
      []<class T>(const T&) -> int {
        if constexpr (std::is_same_v<T, CrossEntropy> || std::is_same_v<T, ValueLoss> ||
                      std::is_same_v<T, LogitSums> || std::is_same_v<T, PartLoss>)
          return T::targets;
        return none;
      },
      operation);
}

void BlockPieces::begin(const Block& block, int number) {
  block_ = block;
  block_.ops.clear();
  if (block_.cast_number == none) block_.cast_number = number;
  cut_so_far_ = 0;
}

void BlockPieces::end(bool closes) {
  end_piece(rows_of_all_ ? block_.kind : BlockKind::layer);
  model_.blocks.back().closes = closes;
}

void BlockPieces::begin_ops(bool columns) {
  if (!now_.ops.empty() && columns != now_is_of_columns_) end_piece();
  now_is_of_columns_ = columns;
}

void BlockPieces::end_piece(BlockKind kind) {
  if (now_.ops.empty()) return;
  now_.kind = kind;
  if (!now_is_of_columns_) now_.rows_of_part = row_count();
  now_.parts.same_rows = block_.parts.same_rows;
  if (now_is_of_columns_) now_.parts.same_rows = now_.parts.same_rows | parts_.along;
  add_piece(std::exchange(now_, {}), now_is_of_columns_ ? ".part" : ".rows");
}

void BlockPieces::add_piece(Block piece, const std::string& suffix) {
  piece.name = block_.name + (cut_so_far_ == 0 ? "" : suffix);
  if (const int number = ++names_[piece.name]; number > 1) piece.name += std::to_string(number);
  piece.layer = block_.layer;
  piece.length = block_.length;
  piece.closes = true;
  piece.parts.along = block_.parts.along | parts_.along;
  piece.parts.count = block_.parts.count * parts_.count;
  piece.parts.own_alone = true;
  piece.cast_number = block_.cast_number;
  piece.continues = cut_so_far_++ > 0 || block_.continues;
  model_.blocks.push_back(std::move(piece));
}

void BlockPieces::keep(Block block) {
  block.cast_number = block_.cast_number;
  for (Node& op : block.ops) make_outputs(op, Lies::rows);
  model_.blocks.push_back(std::move(block));
}

ValueId BlockPieces::exchanged(ValueId v, ExchangeKind kind, Lies to) {
  const auto [known, is_new] = exchanged_.try_emplace({v, kind}, none);
  if (!is_new) return known->second;
  end_piece();
  Node op{Exchange{.kind = kind, .ranks = parts_.count}, {v}, {}, {none}, {}};
  make_outputs(op, to);
  known->second = op.outputs.front();
  add_exchange(std::move(op), parts_.along);
  return known->second;
}

void BlockPieces::add_exchange(Node op, program::AxisSet along) {
  const std::string name(name_between(std::get<Exchange>(op.operation).kind));
  Block between;
  between.parts.exchange = along;
  between.ops.push_back(std::move(op));
  add_piece(std::move(between), name);
}

void BlockPieces::pass_on(Node exchange) {
  end_piece();
  make_outputs(exchange, Lies::rows);
  add_exchange(std::move(exchange), block_.parts.exchange);
}

ValueId BlockPieces::add_value(ModelValue made) {
  model_.values.push_back(std::move(made));
  return static_cast<ValueId>(model_.values.size()) - 1;
}

ValueId BlockPieces::own_rows(ValueId v, bool by_token) {
  if (v == none) return v;
  const auto [known, is_new] = own_.try_emplace(v, none);
  if (!is_new) return known->second;
  ModelValue own = value(v);
  own.type.dims.front() = std::max<std::int64_t>(1, row_count() / block_.length);
  if (by_token) own.type.dims.at(1) = std::min(row_count(), block_.length);
  own.name = "own_" + own.name;
  own.own_rows = true;
  return known->second = add_value(std::move(own));
}

bool BlockPieces::pool_own_samples(Node& op) {
  auto* const pool = std::get_if<MeanPool>(&op.operation);
  if (!pool || row_count() % block_.length != 0) return false;
  pool->batch = row_count() / block_.length;
  op.inputs[MeanPool::lengths] = own_rows(op.inputs[MeanPool::lengths], false);
  return true;
}

ValueId BlockPieces::reordered(HeadsByRank op, ValueId v) {
  begin_ops(false);
  Node node{std::move(op), {v}, {}, {none}, {}};
  make_outputs(node, Lies::rows);
  const ValueId made = node.outputs.front();
  add(std::move(node));
  return made;
}

ValueId BlockPieces::heads_of_rank(ValueId v, std::vector<HeadSection> sections) {
  const auto [known, is_new] = parted_.try_emplace(v, none);
  if (!is_new) return known->second;
  const ValueId by_rank = reordered({.sections = std::move(sections), .ranks = parts_.count}, v);
  return known->second = exchanged(by_rank, ExchangeKind::parts_to_ranks, Lies::columns);
}

ValueId BlockPieces::rows_of_rank(ValueId v) {
  const auto [known, is_new] = joined_.try_emplace(v, none);
  if (!is_new) return known->second;
  const ValueId by_rank = exchanged(v, ExchangeKind::parts_to_ranks, Lies::columns);
  const std::int64_t columns = value(v).type.columns();
  return known->second = reordered(
             {.sections = {{parts_.count, columns}}, .ranks = parts_.count, .joins = true},
             by_rank);
}

void BlockPieces::make_outputs(Node& op, Lies lie) {
  const std::vector<OutputSpec> specs = outputs_of(op.operation, model_.types_of(op));
  for (std::size_t o = 0; o < specs.size() && o < op.outputs.size(); ++o) {
    if (!specs[o].type.defined()) continue;
    if (op.outputs[o] == none) op.outputs[o] = add_value({std::string(specs[o].name), {}});
    value(op.outputs[o]).type = specs[o].type;
    lies_[op.outputs[o]] = lie;
  }
}

}  // namespace trainx::graph

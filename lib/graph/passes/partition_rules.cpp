#include "graph/passes/partition_rules.hpp"
#include "core/error.hpp"
#include "graph/passes/block_pieces.hpp"
#include <algorithm>

namespace trainx::graph {

using namespace operations;

namespace {

[[noreturn]] void refuse_recipe(const std::string& why) {
  throw UserError(ExitCode::invalid_recipe, "parallel.tensor: " + why);
}

bool is_linear(const Operation& o) {
  return std::holds_alternative<Linear>(o) || std::holds_alternative<LowRank>(o) ||
         std::holds_alternative<GroupedLinear>(o);
}

/// Does an adapter add to `v`, which is not its input as well?
bool adds_to(const Node& op, ValueId v) {
  return std::holds_alternative<LowRank>(op.operation) && op.inputs[LowRank::base] == v;
}

std::optional<Split> inner_split(const Operation& o, const Types& t) {
  if (auto heads = split_of(o, SplitAxis::heads, t)) return heads;
  return split_of(o, SplitAxis::column, t);
}

}  // namespace

PartitionRules::PartitionRules(Model& model, int ranks)
    : model_(model), ranks_(ranks), readers_(model.values.size()) {
  for (Block& block : model.blocks) {
    ValueId logits = none;
    const bool cuts = block.kind == BlockKind::head && !makes_classes(block);
    for (Node& op : block.ops) {
      if (std::holds_alternative<Linear>(op.operation) &&
          std::get<Linear>(op.operation).epilogue.makes_logits() && cuts) {
        for (const ParameterId& p : op.parameters) pad_rows(p);
        logits = op.outputs[Linear::y];
      } else if (logits != none && adds_to(op, logits)) {
        pad_rows(op.parameters.back());
        LowRankPart& part = std::get<LowRank>(op.operation).parts.back();
        part.width = (part.width + ranks - 1) / ranks * ranks;
      }
      for (const ValueId v : op.inputs)
        if (v != none) readers_[static_cast<std::size_t>(v)].push_back(op);
    }
  }
}

void PartitionRules::pad_rows(const ParameterId& p) {
  if (p.index == none) return;
  program::ParameterSpec& spec = model_.parameters[static_cast<std::size_t>(p.index)].spec;
  const std::int64_t rows = spec.dims.front();
  if (rows % ranks_ == 0) return;
  if (spec.saved_dims.empty()) spec.saved_dims = spec.dims;
  spec.dims.front() = (rows + ranks_ - 1) / ranks_ * ranks_;
}

bool PartitionRules::cuts_logits(const CrossEntropy& loss) const {
  return loss.score != CrossEntropy::Score::confusion && model_.head.rows != HeadRows::first;
}

bool PartitionRules::makes_classes(const Block& block) const {
  return std::ranges::any_of(block.ops, [&](const Node& op) {
    const auto* loss = std::get_if<CrossEntropy>(&op.operation);
    return std::holds_alternative<ValueLoss>(op.operation) || (loss && !cuts_logits(*loss));
  });
}

bool PartitionRules::leads_to_sums(ValueId v) const {
  if (v == none || static_cast<std::size_t>(v) >= readers_.size()) return true;
  return std::ranges::all_of(readers_[static_cast<std::size_t>(v)], [&](const Node& op) {
    const Types types = model_.types_of(op);
    if (adds_to(op, v)) return leads_to_sums(op.outputs[LowRank::y]);
    if (is_linear(op.operation)) return split_of(op.operation, SplitAxis::row, types).has_value();
    if (const auto* loss = std::get_if<CrossEntropy>(&op.operation)) return cuts_logits(*loss);
    return inner_split(op.operation, types) &&
           std::ranges::all_of(op.outputs, [&](ValueId made) { return leads_to_sums(made); });
  });
}

bool PartitionRules::opens_columns(const Node& op) const {
  return is_linear(op.operation) && !adapts_shared_heads(op) &&
         split_of(op.operation, SplitAxis::column, model_.types_of(op)) &&
         std::ranges::all_of(op.outputs, [&](ValueId made) { return leads_to_sums(made); });
}

const Node* PartitionRules::reader_behind(ValueId v) const {
  while (v != none && static_cast<std::size_t>(v) < readers_.size() &&
         !readers_[static_cast<std::size_t>(v)].empty()) {
    const Node& reader = readers_[static_cast<std::size_t>(v)].front();
    if (adds_to(reader, v)) {
      v = reader.outputs[LowRank::y];
      continue;
    }
    const bool is_sum = std::holds_alternative<ResidualNorm>(reader.operation) &&
                        inner_split(reader.operation, model_.types_of(reader));
    if (!std::holds_alternative<Rotary>(reader.operation) &&
        !std::holds_alternative<HeadNorm>(reader.operation) && !is_sum)
      return &reader;
    v = reader.outputs.front();
  }
  return nullptr;
}

bool PartitionRules::adapts_shared_heads(const Node& op) const {
  const auto read_by_adapter = [&](ValueId v) {
    return v != none && static_cast<std::size_t>(v) < readers_.size() &&
           std::ranges::any_of(readers_[static_cast<std::size_t>(v)],
                               [&](const Node& reader) { return adds_to(reader, v); });
  };
  if (!std::holds_alternative<LowRank>(op.operation) && !read_by_adapter(op.outputs.back()))
    return false;
  const Node* const reader = reader_behind(op.outputs.back());
  const auto* const attention = reader ? std::get_if<Attention>(&reader->operation) : nullptr;
  return attention && attention->key_value_heads % ranks_ != 0;
}

bool PartitionRules::narrows_experts(const Node& op) const {
  if (!std::holds_alternative<GroupedLinear>(op.operation)) return false;
  const auto made = static_cast<std::size_t>(op.outputs[GroupedLinear::y]);
  return std::ranges::any_of(readers_[made], [](const Node& reader) {
    return std::holds_alternative<GroupedLinear>(reader.operation);
  });
}

const Attention* PartitionRules::shares_key_value_heads(const Node& op) const {
  if (!std::holds_alternative<Linear>(op.operation) || !opens_columns(op)) return nullptr;
  const Node* const reader = reader_behind(op.outputs.back());
  const auto* const attention = reader ? std::get_if<Attention>(&reader->operation) : nullptr;
  const bool shares = attention && attention->memory_length == 0 &&
                      attention->key_value_heads % ranks_ != 0 &&
                      ranks_ % attention->key_value_heads == 0 &&
                      op.parameters[Linear::weight].count == 3;
  return shares ? attention : nullptr;
}

Split PartitionRules::split(const std::string& block, const Node& op, bool reads_columns) const {
  const Types types = model_.types_of(op);
  const auto require_heads = [&](std::int64_t count, const char* what) {
    if (count % ranks_ != 0)
      refuse_recipe(std::to_string(ranks_) + " does not divide the " + std::to_string(count) +
                    what + block + "; write a number that does, or leave parallel.tensor out");
  };
  std::visit(
      [&](const auto& o) {
        if constexpr (requires { o.query_heads, o.key_value_heads; }) {
          require_heads(o.query_heads, " query heads of ");
          if (ranks_ % o.key_value_heads != 0)
            require_heads(o.key_value_heads, " key-value heads of ");
          if constexpr (requires { o.memory_length; })
            if (o.memory_length > 0) require_heads(o.key_value_heads, " key-value heads of ");
        } else if constexpr (requires { o.heads; }) {
          require_heads(o.heads, " heads of ");
        }
      },
      op.operation);
  const std::optional<Split> split =
      !is_linear(op.operation)
          ? inner_split(op.operation, types)
          : split_of(op.operation, reads_columns ? SplitAxis::row : SplitAxis::column, types);
  if (!split) refuse(block, op);
  if (const auto* norm = std::get_if<HeadNorm>(&op.operation);
      norm && norm->key_value_heads % ranks_ != 0 && split->parameters[HeadNorm::key_weight])
    refuse(block, op);  // a weight for each head
  return *split;
}

namespace {

/// Of what an attention, or a gate, reads as `v`, whose columns stand side by side: their widths.
std::vector<std::int64_t> side_by_side(const Node& reader, ValueId v, std::int64_t columns) {
  if (std::holds_alternative<Gated>(reader.operation)) return {columns / 2, columns / 2};
  const auto* a = std::get_if<Attention>(&reader.operation);
  if (!a) return {columns};
  const std::int64_t keys = a->key_value_heads * a->head_size,
                     values = a->key_value_heads * a->values();
  if (a->memory_length == 0) return {a->query_heads * a->head_size, keys, values};
  if (reader.inputs[Attention::memory] == v) return {keys, values};
  return {columns};
}

/// Those of `widths` that an adapter's part adds to.
std::vector<std::int64_t> within(const std::vector<std::int64_t>& widths, const LowRankPart& part) {
  std::vector<std::int64_t> found;
  std::int64_t at = 0;
  for (const std::int64_t width : widths) {
    if (at >= part.first && at < part.first + part.width) found.push_back(width);
    at += width;
  }
  return found;
}

std::vector<std::int64_t> repeated(const std::vector<std::int64_t>& widths, std::int64_t times) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), widths.begin(), widths.end());
  return out;
}

}  // namespace

std::int64_t PartitionRules::columns_of_all(const Node& op) const {
  const Types types = model_.types_of(op);
  if (const auto* grouped = std::get_if<GroupedLinear>(&op.operation)) {
    const ParameterId& weight = op.parameters[GroupedLinear::weight];
    return grouped->features(types) * weight.parts.count;
  }
  const auto by_rows = [&](int weight) {
    return types.parameters[static_cast<std::size_t>(weight)].rows() *
           op.parameters[static_cast<std::size_t>(weight)].parts.count;
  };
  const auto* const low_rank = std::get_if<LowRank>(&op.operation);
  if (!low_rank) return by_rows(Linear::weight);
  if (types.has_parameter(LowRank::weight)) return by_rows(LowRank::weight);
  return types.inputs[LowRank::base].columns() * ranks_;
}

std::vector<std::int64_t> PartitionRules::sections_of(const std::string& block, const Node& op,
                                                      int parameter) const {
  const ParameterId& p = op.parameters[static_cast<std::size_t>(parameter)];
  const auto of_one_tensor = [&](std::vector<std::int64_t> widths) {
    if (std::ssize(widths) == p.count) widths.clear();  // each has a tensor of its own
    if (!widths.empty() && p.count > 1) refuse(block, op);
    return widths;
  };
  if (std::holds_alternative<Attention>(op.operation) && parameter == Attention::qkv_bias)
    return of_one_tensor(side_by_side(op, op.inputs[Attention::qkv], 0));
  if (!is_linear(op.operation) || p.part_of == PartOf::columns) return {};
  const auto* const experts = std::get_if<GroupedLinear>(&op.operation);
  const auto* const low_rank = std::get_if<LowRank>(&op.operation);
  if (!low_rank && parameter == Linear::input_bias) return {};
  for (const ValueId v : op.outputs) {
    const Node* const reader = reader_behind(v);
    if (!reader) continue;
    std::vector<std::int64_t> widths = side_by_side(*reader, v, columns_of_all(op));
    if (experts) widths = repeated(widths, experts->experts);
    if (low_rank && parameter >= LowRank::first_b)
      widths =
          within(widths, low_rank->parts[static_cast<std::size_t>(parameter) - LowRank::first_b]);
    return of_one_tensor(std::move(widths));
  }
  return {};
}

void PartitionRules::require_rows(const Block& block) const {
  const std::int64_t rows = model_.batch_size * block.length;
  if (rows % ranks_ != 0)
    refuse_recipe(std::to_string(ranks_) + " does not divide the " + std::to_string(rows) +
                  " tokens of a micro-batch; write another batch.micro_batch_size or "
                  "data.sequence_length");
}

void PartitionRules::require_samples(const Block& block, bool of_samples) const {
  if (!of_samples)
    refuse_recipe(std::to_string(ranks_) + " ranks cannot have equal parts of the " +
                  std::to_string(model_.batch_size) + " samples of a micro-batch, as " +
                  block.name + " takes them; write another batch.micro_batch_size");
}

void PartitionRules::require_computes_rows(const std::string& block, const Node& op) const {
  if (std::holds_alternative<MeanPool>(op.operation))
    refuse_recipe(block +
                  " takes means over samples, of which each rank needs whole ones; write another "
                  "batch.micro_batch_size, or leave parallel.tensor out");
  if (!computes_rows(op.operation) && !std::holds_alternative<Router>(op.operation) &&
      targets_of(op.operation) == none)
    refuse(block, op);
}

void PartitionRules::require_divides(const std::string& block, const ParameterId& p) const {
  if (p.part_of == PartOf::tensors) return;
  for (int i = 0; i < p.count; ++i) {
    const program::ParameterSpec& spec =
        model_.parameters[static_cast<std::size_t>(p.index + i)].spec;
    const bool columns = p.part_of == PartOf::columns;
    const std::vector<std::int64_t> sizes =
        !p.sections.empty() ? p.sections
                            : std::vector{columns ? spec.dims.back() : spec.dims.front()};
    for (const std::int64_t size : sizes)
      if (size % ranks_ != 0)
        refuse_recipe(std::to_string(ranks_) + " does not divide the " + std::to_string(size) +
                      (columns ? " columns" : " rows") + " of " + spec.name + " in " + block +
                      "; write a number that does, or leave parallel.tensor out");
  }
}

void PartitionRules::refuse(const std::string& block, const Node& op) const {
  refuse_recipe(block + " has an operation " + std::string(name_of(op.operation)) +
                ", which ranks cannot have parts of; leave parallel.tensor out");
}

}  // namespace trainx::graph

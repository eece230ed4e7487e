// A model as layers of operations: what an architecture builds. Values between operations are
// numbered; blocks cut the list for the step program.
#pragma once
#include "operations/bound_op_spec.hpp"
#include "graph/fp8_product.hpp"
#include "program/model_graph.hpp"
#include <optional>
#include <string>
#include <vector>

namespace trainx::graph {

using program::none;

using ValueId = int;  // Model::values
/// What a part of an operand is: so many of its tensors (of one tensor: its rows), so many rows or
/// columns of each, or of experts in one tensor so many rows of each expert.
enum class PartOf : std::uint8_t { tensors, rows, columns, expert_rows };
/// Which of so many dimensions that is.
constexpr std::size_t dimension_of(PartOf part, std::size_t dimensions) {
  return part == PartOf::columns ? dimensions - 1 : part == PartOf::expert_rows ? 1 : 0;
}
struct ParameterId {
  int index = none;           // Model::parameters
  int count = 1;              // that many, as one tensor: they follow one another
  program::Parts parts = {};  // the operand is one of these parts of that: experts of a rank
  PartOf part_of = PartOf::tensors;
  std::vector<std::int64_t> sections = {};  // program::ParameterSpec
};

struct ModelValue {
  std::string name;
  operations::TensorType type;
  int batch = none;       // a tensor of the micro-batch: which
  bool own_rows = false;  // ... and the rank's own rows of it (program::SlotSpec)
};

struct ModelParameter {
  program::ParameterSpec spec;
  std::string group;       // by itself: the group that it is in; "": its block's
  bool continues = false;  // lies right behind the one before it, which is in the same group
  program::GroupTraining training = {};
  bool constant = false;   // whatever rules say: it has no gradient
  bool in_fp8 = false;     // blocks read it so: the program casts it (ParameterSpec::fp8_scale)
  bool only_cast = false;  // of what is cast once a run: nothing else reads it
};

struct Node {
  operations::Operation operation;
  std::vector<ValueId> inputs;  // none: absent
  std::vector<ParameterId> parameters;
  std::vector<ValueId> outputs;
  /// By input: the value whose gradient this operation's gradient of it belongs to, where that is
  /// another. A residual that a norm leads to is kept as what the norm was made of.
  std::vector<ValueId> gradient_of;
};

/// embedding: what backward needs is made anew instead of kept. head: the last, with the loss.
enum class BlockKind : std::uint8_t { embedding, layer, head };

struct Block {
  std::string name;
  BlockKind kind = BlockKind::layer;
  int layer = none;
  std::vector<Node> ops;
  std::int64_t length = 0;  // tokens of a sample, of its rows
  bool closes = false;      // the sum that it ends with does not begin the next block
  program::BlockParts parts = {};
  std::int64_t rows_of_part = 0;  // operations::BoundBlock
  bool continues = false;         // the block before: keys of random numbers are that one's
  int cast_number = none;         // program::BlockSpec
};

/// What the loss is computed of.
struct Head {
  operations::HeadRows rows = operations::HeadRows::all;
  std::int64_t expected_rows = 0;  // in a micro-batch
  std::int64_t chunk = 0;          // that many at a time; 0: operands are not cut into rows
  ValueId targets = none;
  std::int64_t classes = 0;         // of predict's logits
  std::int64_t predicted_rows = 0;  // 0: the model does not predict
};

struct Model {
  std::int64_t batch_size = 0, length = 0;  // samples, tokens of each
  std::int64_t target_length = 0;           // where targets are another text than the tokens
  DType compute = DType::f32;
  bool gpu = false;
  bool scaled = false;  // the loss is multiplied by the scalar loss_scale
  std::vector<program::TensorSpec> batch;
  std::vector<program::ScalarSpec> scores;  // what evaluation sums beside the loss
  // f64 [layers, experts + 1], which training counts: operations::ExpertLoads
  std::optional<program::ScalarSpec> loads;
  double balance_rate = 0;  // program::ModelGraph
  // f64 as operations::Fp8Site says, which training counts: elements of tensors that are cast
  std::optional<program::ScalarSpec> fp8_counts;
  // f64 alike, that scales are made of and each step advances: of delayed scaling
  std::optional<program::ScalarSpec> fp8_ranges;
  // of weights that the program casts
  std::optional<program::ScalarSpec> fp8_scales;
  std::vector<Fp8Product> fp8_products;
  std::vector<ModelValue> values;
  std::vector<ModelParameter> parameters;
  std::vector<Block> blocks;
  ValueId positions = none;  // i64 [batch_size]: of samples in the endless stream
  // what a decoder of another text attends to, and the first block of that
  ValueId memory = none;
  int first_of_targets = none;
  Head head;

  std::int64_t rows() const { return batch_size * length; }
  /// Of the last block.
  std::int64_t target_rows() const { return batch_size * blocks.back().length; }
  operations::Types types_of(const Node& op) const;
};

}  // namespace trainx::graph

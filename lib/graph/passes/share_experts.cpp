#include "core/error.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace trainx::graph {

using operations::Combine;
using operations::Dispatch;
using operations::DispatchToRanks;
using operations::GroupedLinear;

namespace {

class Sharing {
 public:
  Sharing(Model& model, const ExpertSharing& sharing) : model_(model), sharing_(sharing) {}

  void run() {
    std::vector<Block> blocks;
    for (Block& block : model_.blocks) add(blocks, std::move(block));
    model_.blocks = std::move(blocks);
    for (Block& block : model_.blocks)
      for (Node& op : block.ops)
        if (std::holds_alternative<operations::ExpertLoads>(op.operation))
          for (ValueId& offsets : op.inputs) offsets = chosen_.at(offsets);
    number_values(model_);
  }

 private:
  /// The block in three, where it has a mixture: up to what tokens choose; experts; and back.
  void add(std::vector<Block>& blocks, Block block) {
    const auto dispatch = find<Dispatch>(block.ops, block.ops.begin());
    if (dispatch == block.ops.end()) {
      blocks.push_back(std::move(block));
      return;
    }
    const auto combine = find<Combine>(block.ops, dispatch);
    if (combine == block.ops.end())
      throw InternalError("share_experts: " + block.name + " dispatches and does not combine");
    Block experts = behind(block, ".experts"), rest = behind(block, ".combine");
    rest.closes = block.closes;
    experts.closes = true;  // a sum that opens the next one stays there
    experts.parts = {.along = parts_.along, .count = parts_.count};
    experts.ops.assign(dispatch, combine);
    rest.ops.assign(combine, block.ops.end());
    block.ops.erase(dispatch, block.ops.end());
    block.closes = true;
    share(block, experts, rest);
    blocks.push_back(std::move(block));
    blocks.push_back(std::move(experts));
    add(blocks, std::move(rest));
  }

  template <class Operation>
  static std::vector<Node>::iterator find(std::vector<Node>& ops, std::vector<Node>::iterator at) {
    return std::find_if(at, ops.end(), [](const Node& op) {
      return std::holds_alternative<Operation>(op.operation);
    });
  }

  static Block behind(const Block& block, const char* what) {
    return {.name = block.name + what,
            .kind = block.kind,
            .layer = block.layer,
            .ops = {},
            .length = block.length,
            .continues = true};
  }

  void share(Block& block, Block& experts, Block& rest) {
    Node& dispatch = experts.ops.front();
    const auto all = std::get<Dispatch>(dispatch.operation);
    if (all.experts % sharing_.ranks != 0)
      throw InternalError("share_experts: ranks do not divide " + block.name + "'s experts");
    if (all.sparse)
      throw InternalError("share_experts: experts of ranks have a capacity of their own");
    Node& combine = rest.ops.front();
    const ValueId x = dispatch.inputs[Dispatch::x], indices = dispatch.inputs[Dispatch::indices],
                  weights = combine.inputs[Combine::weights];
    const std::vector<std::int64_t>& dims = value(indices).type.dims;
    const std::int64_t tokens = dims[0], per_token = dims[1], choices = tokens * per_token;

    Node to_ranks{DispatchToRanks{.experts = all.experts,
                                  .ranks = sharing_.ranks,
                                  .capacity = sharing_.room(tokens, per_token, all.experts),
                                  .drops = sharing_.drops},
                  {x, weights, indices},
                  {},
                  {},
                  {}};
    make_outputs(to_ranks);
    chosen_[dispatch.outputs[Dispatch::offsets]] = to_ranks.outputs[DispatchToRanks::offsets];

    dispatch.operation =
        Dispatch{.experts = all.experts / sharing_.ranks,
                 .sparse = true,
                 .most_rows = sharing_.ranks * sharing_.choices(tokens, per_token, all.experts),
                 .expected_rows = choices};
    dispatch.inputs = {to_ranks.outputs[DispatchToRanks::rows],
                       to_ranks.outputs[DispatchToRanks::owners]};
    for (Node& op : experts.ops) {
      if (auto* layer = std::get_if<GroupedLinear>(&op.operation)) {
        layer->experts = all.experts / sharing_.ranks;
        layer->expected_rows = choices;
        for (ParameterId& p : op.parameters) p.parts = parts_;
      }
      make_outputs(op);
    }

    Node sum{Combine{.sparse = true, .expected_rows = choices},
             {combine.inputs[Combine::rows], to_ranks.outputs[DispatchToRanks::slot_weights],
              dispatch.outputs[Dispatch::places], none, none},
             {},
             {},
             {}};
    make_outputs(sum);
    const ValueId results = sum.outputs[Combine::y];
    value(results).name = "expert_results";
    experts.ops.push_back(std::move(sum));

    std::get<Combine>(combine.operation) = {.sparse = true};
    combine.inputs[Combine::rows] = results;
    combine.inputs[Combine::weights] = none;
    combine.inputs[Combine::places] = to_ranks.outputs[DispatchToRanks::places];
    block.ops.push_back(std::move(to_ranks));
  }

  /// What the operation makes of its operands; values that it has get their type of now.
  void make_outputs(Node& op) {
    const auto specs = operations::outputs_of(op.operation, model_.types_of(op));
    op.outputs.resize(specs.size(), none);
    for (std::size_t o = 0; o < specs.size(); ++o) {
      if (!specs[o].type.defined()) {
        op.outputs[o] = none;
      } else if (op.outputs[o] != none) {
        value(op.outputs[o]).type = specs[o].type;
      } else {
        op.outputs[o] = static_cast<ValueId>(model_.values.size());
        model_.values.push_back({std::string(specs[o].name), specs[o].type});
      }
    }
  }

  ModelValue& value(ValueId v) { return model_.values[static_cast<std::size_t>(v)]; }

  Model& model_;
  const ExpertSharing& sharing_;
  const program::Parts parts_{program::axes::expert, static_cast<int>(sharing_.ranks)};
  std::map<ValueId, ValueId> chosen_;  // offsets of a rank's rows: of all choices
};

}  // namespace

void share_experts(Model& model, const GraphPassOptions& options) {
  if (options.sharing.ranks > 1) Sharing(model, options.sharing).run();
}

}  // namespace trainx::graph

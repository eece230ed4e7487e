// Programs of ranks that have a part of each layer and some tokens of each row: they are those of
// one rank that computes all of it, and a program that leaves out an instruction, or exchanges
// among other ranks, is found.
#include "program/shards.hpp"
#include "support/toy/sharing.hpp"

namespace tensor_and_context_test {

using namespace toy;

namespace {

/// A layer of which each rank has a part, between rows of one's own. Those that have the same part
/// exchange heads for rows; those that have the same tokens exchange rows of all layers' parts.
ModelGraph layers_and_rows(int tensor, int context) {
  ModelGraph g = empty_graph();
  const auto group = [&](const std::string& name, bool in_parts) {
    const int added = add_group(g, name);
    if (in_parts) g.groups[static_cast<std::size_t>(added)].parts = {axes::tensor, tensor};
    return added;
  };
  const std::int64_t own_rows = width * context, part_rows = own_rows * tensor;
  const int rows = add_value(g, "rows", own_rows), all = add_value(g, "all", part_rows),
            heads = add_value(g, "heads", part_rows),
            attended = add_value(g, "attended", part_rows), back = add_value(g, "back", part_rows),
            shares = add_value(g, "shares", part_rows), sums = add_value(g, "sums", own_rows),
            after = add_value(g, "after", own_rows), last = add_value(g, "last", part_rows),
            numbers = add_value(g, "numbers", part_rows),
            of_all = add_value(g, "of_all", part_rows * tensor);
  const auto add = [&](BlockSpec block, bool same_rows, AxisSet exchange_along = {}) {
    if (same_rows) block.parts.same_rows = axes::tensor;
    block.parts.exchange = exchange_along;
    g.blocks.push_back(std::move(block));
  };
  add(embed("embed", group("embed", false), rows), false);
  add(exchange("gather", ExchangeKind::rows_to_all, rows, all), false, axes::tensor);
  add(exchange("heads", ExchangeKind::parts_to_ranks, all, heads), false, axes::context);
  add(middle("attention", 0, group("attention", true), heads, attended), true);
  add(exchange("back", ExchangeKind::parts_to_ranks, attended, back), false, axes::context);
  add(middle("columns", 0, group("columns", true), back, shares), true);
  add(exchange("sum", ExchangeKind::sums_to_rows, shares, sums), false, axes::tensor);
  add(middle("norm", 0, group("norm", false), sums, after), false);
  add(exchange("last", ExchangeKind::rows_to_all, after, last), false, axes::tensor);
  add(middle("logits", 0, group("logits", true), last, numbers), true);
  add(exchange("numbers", ExchangeKind::numbers_to_all, numbers, of_all), false, axes::tensor);
  add(loss_of_parts(numbers, of_all), true);
  share_blocks(g, {axes::tensor | axes::context, tensor * context});
  for (BlockSpec& b : g.blocks)
    for (SlotSpec& s : b.slots)
      if (s.role == Role::batch) s.own_rows = true;
  return g;
}

}  // namespace

TEST_CASE("ranks with parts of layers and tokens of rows train as one with all of them") {
  struct World {
    int ranks, tensor, context;
  };
  for (const auto& [world, tensor, context] :
       {World{4, 2, 2}, World{8, 2, 2}, World{8, 4, 2}, World{8, 2, 4}, World{6, 3, 2}}) {
    const ModelGraph graph = layers_and_rows(tensor, context);
    CAPTURE(world, tensor, context);
    const StepProgram p = sharing_in_ddp(graph, mesh_of_sharing(world, tensor, context));
    CHECK(problem_of_sharing(p, graph) == "");
    CHECK(count_of(p, Op::all_to_all, axes::context) == sharing_micro_steps * 4);
    CHECK(count_of(p, Op::gather, axes::tensor) == sharing_micro_steps * (3 + 1));
    CHECK(count_of(p, Op::scatter, axes::tensor) == sharing_micro_steps * (1 + 2));
    for (const int shard : {context, world / tensor})
      for (const int stage : {1, 2, 3}) {
        CAPTURE(shard, stage);
        Mesh mesh = mesh_of_sharing(world, tensor, context);
        mesh.shard = shard;
        const ModelGraph divided = divisible(graph, mesh, Unit::element);
        CHECK(problem_of_sharing(sharing_in_shards(divided, mesh, stage), divided) == "");
      }
  }
}

TEST_CASE("each instruction of a program with parts of layers and tokens of rows is needed") {
  const ModelGraph graph = layers_and_rows(2, 2);
  for (const int world : {4, 8})
    check_that_each_instruction_is_needed(graph,
                                          sharing_in_ddp(graph, mesh_of_sharing(world, 2, 2)));
}

TEST_CASE("sums and exchanges of parts and tokens along another axis are found") {
  const ModelGraph graph = layers_and_rows(2, 2);
  check_that_axes_matter(graph, sharing_in_ddp(graph, mesh_of_sharing(8, 2, 2)),
                         {axes::all, axes::data, axes::tensor, axes::context, axes::batch,
                          axes::tensor | axes::context, axes::tensor | axes::batch});
}

}  // namespace tensor_and_context_test

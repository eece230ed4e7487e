// Programs of ranks that have some tokens of each row: over ranks and micro-batches they are those
// of one rank that computes all, and a program that leaves out an instruction, or exchanges among
// other ranks, is found.
#include "program/shards.hpp"
#include "support/toy/sharing.hpp"

namespace context_parallel_test {

using namespace toy;

namespace {

/// Rows of one's own, heads of all rows, rows again, and a loss of one's own rows.
ModelGraph rows_of_ranks(int ranks) {
  ModelGraph g = empty_graph();
  const std::int64_t all = width * ranks;
  const int rows = add_value(g, "rows", all), heads = add_value(g, "heads", all),
            attended = add_value(g, "attended", all), back = add_value(g, "back", all),
            last = add_value(g, "last", all);
  g.blocks.push_back(embed("embed", add_group(g, "embed"), rows));
  g.blocks.push_back(exchange("heads", ExchangeKind::parts_to_ranks, rows, heads));
  g.blocks.push_back(middle("attention", 0, add_group(g, "attention"), heads, attended));
  g.blocks.push_back(exchange("back", ExchangeKind::parts_to_ranks, attended, back));
  g.blocks.push_back(middle("mlp", 0, add_group(g, "mlp"), back, last));
  g.blocks.push_back(head(add_group(g, "head"), last));
  share_blocks(g, {axes::context, ranks});
  for (BlockSpec& b : g.blocks) {
    if (b.exchange != ExchangeKind::nothing) b.parts.exchange = axes::context;
    for (SlotSpec& s : b.slots)
      if (s.role == Role::batch) s.own_rows = true;
  }
  return g;
}

}  // namespace

TEST_CASE("ranks with tokens of each row train as one with all of them") {
  for (const auto& [world, context] :
       {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}, std::pair{3, 3}, std::pair{6, 3}}) {
    const ModelGraph graph = rows_of_ranks(context);
    CAPTURE(world, context);
    const StepProgram p = sharing_in_ddp(graph, mesh_of_sharing(world, 1, context));
    CHECK(problem_of_sharing(p, graph) == "");
    CHECK(count_of(p, Op::all_to_all, axes::context) == sharing_micro_steps * 4);
    for (const int shard : {context, world})
      for (const int stage : {1, 2, 3}) {
        CAPTURE(shard, stage);
        Mesh mesh = mesh_of_sharing(world, 1, context);
        mesh.shard = shard;
        const ModelGraph divided = divisible(graph, mesh, Unit::element);
        CHECK(problem_of_sharing(sharing_in_shards(divided, mesh, stage), divided) == "");
      }
  }
}

TEST_CASE("each instruction of a program with tokens of rows is needed") {
  const ModelGraph graph = rows_of_ranks(2);
  for (const int world : {2, 4})
    check_that_each_instruction_is_needed(graph,
                                          sharing_in_ddp(graph, mesh_of_sharing(world, 1, 2)));
}

TEST_CASE("sums and exchanges of tokens along another axis are found") {
  const ModelGraph graph = rows_of_ranks(2);
  check_that_axes_matter(graph, sharing_in_ddp(graph, mesh_of_sharing(4, 1, 2)),
                         {axes::all, axes::batch, axes::context});
}

}  // namespace context_parallel_test

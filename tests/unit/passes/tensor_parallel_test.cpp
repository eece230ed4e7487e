// Programs of layers that ranks have parts of: over ranks and micro-batches they are those of one
// rank that computes all parts, and a program that leaves out an instruction, or exchanges among
// other ranks, is found.
#include "support/toy/sharing.hpp"

namespace tensor_parallel_test {

using namespace toy;

namespace {

/// Of the rows that all ranks have?
bool computes_columns(const BlockSpec& b) {
  return b.name == "columns" || b.name == "logits" || b.name == "loss" || b.name == "looked_up";
}

/// Rows of one's own, a layer of which each rank has a part, rows, and a loss of parts.
ModelGraph layers_in_parts(int ranks) {
  const Parts parts{axes::tensor, ranks};
  ModelGraph g = empty_graph();
  const auto group = [&](const std::string& name, bool in_parts) {
    const int added = add_group(g, name);
    if (in_parts) g.groups[static_cast<std::size_t>(added)].parts = parts;
    return added;
  };
  const std::int64_t all_rows = width * ranks;
  const int rows = add_value(g, "rows"), all = add_value(g, "all", all_rows),
            shares = add_value(g, "shares", all_rows), sums = add_value(g, "sums"),
            after = add_value(g, "after"), last = add_value(g, "last", all_rows),
            numbers = add_value(g, "numbers", all_rows),
            of_all = add_value(g, "of_all", all_rows * ranks);
  g.blocks.push_back(embed("embed", group("embed", false), rows));
  g.blocks.push_back(exchange("gather", ExchangeKind::rows_to_all, rows, all));
  g.blocks.push_back(middle("columns", 0, group("columns", true), all, shares));
  g.blocks.push_back(exchange("sum", ExchangeKind::sums_to_rows, shares, sums));
  g.blocks.push_back(middle("norm", 0, group("norm", false), sums, after));
  g.blocks.push_back(exchange("last", ExchangeKind::rows_to_all, after, last));
  g.blocks.push_back(middle("logits", 0, group("logits", true), last, numbers));
  g.blocks.push_back(exchange("numbers", ExchangeKind::numbers_to_all, numbers, of_all));
  g.blocks.push_back(loss_of_parts(numbers, of_all));
  share_blocks(g, parts);
  for (BlockSpec& b : g.blocks) {
    if (b.exchange != ExchangeKind::nothing) b.parts.exchange = axes::tensor;
    if (computes_columns(b)) b.parts.same_rows = axes::tensor;
  }
  return g;
}

/// One small tensor that each rank has whole, in shares of an embedding and again in a part of the
/// logits, as trained rows of a tied head: each rank makes two shares of its gradient.
ModelGraph whole_tensor_in_parts(int ranks) {
  const Parts parts{axes::tensor, ranks};
  ModelGraph g = empty_graph();
  const std::int64_t all_rows = width * ranks;
  const int rows = add_group(g, "rows"), shares = add_value(g, "shares", all_rows),
            sums = add_value(g, "sums"), last = add_value(g, "last", all_rows),
            numbers = add_value(g, "numbers", all_rows),
            of_all = add_value(g, "of_all", all_rows * ranks);
  g.blocks.push_back(embed("looked_up", rows, shares));
  g.blocks.push_back(exchange("sum", ExchangeKind::sums_to_rows, shares, sums));
  g.blocks.push_back(exchange("last", ExchangeKind::rows_to_all, sums, last));
  g.blocks.push_back(middle("logits", 0, rows, last, numbers));
  g.blocks.push_back(exchange("numbers", ExchangeKind::numbers_to_all, numbers, of_all));
  g.blocks.push_back(loss_of_parts(numbers, of_all));
  share_blocks(g, parts);
  for (BlockSpec& b : g.blocks) {
    if (b.exchange != ExchangeKind::nothing) b.parts.exchange = axes::tensor;
    if (computes_columns(b)) b.parts.same_rows = axes::tensor;
  }
  return g;
}

/// A layer of which each rank has a part, with what it casts counted, and a loss of one's own rows.
ModelGraph loss_of_rows(int ranks) {
  const Parts parts{axes::tensor, ranks};
  ModelGraph g = empty_graph();
  g.scalars.push_back(metric(std::string(fp8_counts)));
  const int layer = add_group(g, "columns");
  g.groups[static_cast<std::size_t>(layer)].parts = parts;
  const int rows = add_value(g, "rows"), all = add_value(g, "all", width * ranks),
            shares = add_value(g, "shares", width * ranks), sums = add_value(g, "sums");
  g.blocks.push_back(embed("embed", add_group(g, "embed"), rows));
  g.blocks.push_back(exchange("gather", ExchangeKind::rows_to_all, rows, all));
  BlockSpec columns = middle("columns", 0, layer, all, shares);
  columns.slots.push_back(slot("counts", Role::metric, 2));
  columns.phases[Op::forward].uses.push_back(
      {static_cast<Slot>(columns.slots.size()) - 1, How::accumulate});
  g.blocks.push_back(columns);
  g.blocks.push_back(exchange("sum", ExchangeKind::sums_to_rows, shares, sums));
  g.blocks.push_back(head(add_group(g, "head"), sums));
  g.blocks.back().slots[2].own_rows = true;
  share_blocks(g, parts);
  for (BlockSpec& b : g.blocks) {
    if (b.exchange != ExchangeKind::nothing) b.parts.exchange = axes::tensor;
    if (b.name == "columns") b.parts.same_rows = axes::tensor;
  }
  return g;
}

}  // namespace

TEST_CASE("losses of rows, and counts of parts, are summed over ranks with parts of layers") {
  const ModelGraph graph = loss_of_rows(2);
  for (const int world : {2, 4}) {
    const StepProgram p = sharing_in_ddp(graph, mesh_of_sharing(world, 2, 1));
    CAPTURE(world);
    CHECK(problem_of_sharing(p, graph) == "");
    CHECK(count_of(p, Op::reduce, axes::tensor) >= 3);  // the loss, its targets, the counts
    check_that_each_instruction_is_needed(graph, p);
    if (world == 4) check_that_axes_matter(graph, p, {axes::all, axes::data, axes::tensor});
  }
}

TEST_CASE("ranks with parts of each layer train as one with all of them") {
  for (const auto& [world, tensor] :
       {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}, std::pair{3, 3}, std::pair{6, 3}}) {
    const ModelGraph graph = layers_in_parts(tensor);
    CAPTURE(world, tensor);
    const StepProgram p = sharing_in_ddp(graph, mesh_of_sharing(world, tensor, 1));
    CHECK(problem_of_sharing(p, graph) == "");
    CHECK(count_of(p, Op::gather, axes::tensor) == sharing_micro_steps * (3 + 1));
    CHECK(count_of(p, Op::scatter, axes::tensor) == sharing_micro_steps * (1 + 2));
  }
}

TEST_CASE("each instruction of a program with parts of layers is needed") {
  const ModelGraph graph = layers_in_parts(2);
  for (const int world : {2, 4})
    check_that_each_instruction_is_needed(graph,
                                          sharing_in_ddp(graph, mesh_of_sharing(world, 2, 1)));
}

TEST_CASE("a whole tensor in parts of two blocks has the gradient that one rank makes") {
  for (const auto& [world, tensor] : {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}}) {
    const ModelGraph graph = whole_tensor_in_parts(tensor);
    const StepProgram p = sharing_in_ddp(graph, mesh_of_sharing(world, tensor, 1));
    CAPTURE(world, tensor);
    CHECK(problem_of_sharing(p, graph) == "");
    check_that_each_instruction_is_needed(graph, p);
    if (world > tensor) check_that_axes_matter(graph, p, {axes::all, axes::data, axes::tensor});
    for (const int stage : {1, 2, 3})
      if (world > tensor)
        CHECK(problem_of_sharing(sharing_in_shards(graph, p.mesh, stage), graph) == "");
  }
}

TEST_CASE("sums and exchanges along another axis are found") {
  const ModelGraph graph = layers_in_parts(2);
  check_that_axes_matter(graph, sharing_in_ddp(graph, mesh_of_sharing(4, 2, 1)),
                         {axes::all, axes::data, axes::tensor});
}

TEST_CASE("updates of whole tensors sum over the ranks that have parts of them") {
  for (const bool with_state : {false, true}) {
    const UpdateSpec update = over_tensors(with_state);
    const int rounds = with_state ? 2 : 1;
    for (const auto& [world, tensor] : {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}}) {
      const ModelGraph graph = layers_in_parts(tensor);
      const Mesh mesh = mesh_of_sharing(world, tensor, 1);
      CAPTURE(with_state, world, tensor);
      const StepProgram p = sharing_in_ddp(graph, mesh, update);
      CHECK(problem_of_sharing(p, graph, update) == "");
      CHECK(std::ranges::count(p.steady, Op::measure, &Instruction::op) ==
            rounds * 2);  // of two groups in parts
      const auto sums_of_parts = [&](const StepProgram& of) {
        return std::ranges::count_if(of.steady, [&](const Instruction& i) {
          return i.op == Op::reduce && mesh.significant(i.along) == mesh.significant(axes::tensor);
        });
      };
      CHECK(sums_of_parts(p) == sums_of_parts(sharing_in_ddp(graph, mesh)) + rounds);
      if (tensor > 2) continue;
      check_that_each_instruction_is_needed(graph, p, update);
      if (world == 4)
        check_that_axes_matter(graph, p, {axes::all, axes::data, axes::tensor}, update);
      for (const Buffer& b : p.buffers)
        if (b.unit == Unit::tensor) CHECK(!b.is_cut());  // each rank moves all of it on
    }
    for (const int stage : {1, 2, 3}) {
      const ModelGraph graph = layers_in_parts(2);
      Mesh mesh = mesh_of_sharing(4, 2, 1);
      mesh.shard = 2;
      const StepProgram p = sharing_in_shards(graph, mesh, stage, update);
      CAPTURE(with_state, stage);
      CHECK(problem_of_sharing(p, graph, update) == "");
      CHECK(std::ranges::count_if(p.steady, [&](const Instruction& i) {  // parts, and shards
              return i.op == Op::reduce && !i.uses.empty() &&
                     p.buffers[static_cast<std::size_t>(i.uses[0].buffer)].role ==
                         Role::tensor_sums &&
                     mesh.significant(i.along) == mesh.significant(axes::all);
            }) == rounds);
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        if (p.steady[k].op != Op::measure && p.steady[k].op != Op::reduce) continue;
        StepProgram without = p;
        without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
        CAPTURE(k);
        CHECK(problem_of_sharing(without, graph, update) != "");
      }
    }
  }
}

}  // namespace tensor_parallel_test

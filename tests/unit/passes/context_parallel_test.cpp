// Programs of ranks that have some tokens of each row: over ranks and micro-batches they are those
// of one rank that computes all, and a program that leaves out an instruction, or exchanges among
// other ranks, is found.
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include "support/toy/prove.hpp"

namespace context_parallel_test {

using namespace toy;

namespace {

BlockSpec exchange(const std::string& name, int in, int out) {
  BlockSpec b{name, 0};
  b.exchange = ExchangeKind::parts_to_ranks;
  b.slots = {slot("in", Role::value, in), slot("out", Role::value, out, {0}),
             slot("d_in", Role::value_gradient, in), slot("d_out", Role::value_gradient, out)};
  b.phases[Op::forward].uses = {{0, How::read}, {1, How::overwrite}};
  b.phases[Op::backward].uses = {{3, How::read}, {2, How::overwrite}};
  return b;
}

/// Rows of one's own, heads of all rows, rows again, and a loss of one's own rows.
ModelGraph rows_of_ranks(int ranks) {
  ModelGraph g = empty_graph();
  const std::int64_t all = width * ranks;
  const int rows = add_value(g, "rows", all), heads = add_value(g, "heads", all),
            attended = add_value(g, "attended", all), back = add_value(g, "back", all),
            last = add_value(g, "last", all);
  g.blocks.push_back(embed("embed", add_group(g, "embed"), rows));
  g.blocks.push_back(exchange("heads", rows, heads));
  g.blocks.push_back(middle("attention", 0, add_group(g, "attention"), heads, attended));
  g.blocks.push_back(exchange("back", attended, back));
  g.blocks.push_back(middle("mlp", 0, add_group(g, "mlp"), back, last));
  g.blocks.push_back(head(add_group(g, "head"), last));
  for (BlockSpec& b : g.blocks) {
    b.parts = {axes::context, ranks};
    b.own_part_alone = true;
    for (SlotSpec& s : b.slots) {
      if (s.role == Role::value || s.role == Role::value_gradient) s.state = ValueState::of_part;
      if (s.role == Role::batch) s.own_rows = true;
    }
  }
  return g;
}

Mesh mesh_of(int world, int context) {
  Mesh mesh(world, 1);
  mesh.context = context;
  return mesh;
}

constexpr int micro_steps = 2;

StepProgram in_ddp(const ModelGraph& graph, const Mesh& mesh) {
  StepProgram p = passes::accumulation(plain_program(graph, momentum()), micro_steps);
  p = passes::redistribute(std::move(p), graph, momentum(), mesh);
  return passes::distributed_data_parallel(std::move(p), {mesh});
}

StepProgram in_shards(const ModelGraph& graph, const Mesh& mesh, int stage) {
  StepProgram p = passes::accumulation(plain_program(graph, momentum()), micro_steps);
  p = passes::redistribute(std::move(p), graph, momentum(), mesh);
  return passes::zero(std::move(p), graph, momentum(), {mesh}, {stage, 1});
}

std::string problem_of(const StepProgram& p, const ModelGraph& graph) {
  const UpdateSpec update = momentum();
  const Reference reference{&graph, update, micro_steps};
  return check_program(p, unplaced(p), &reference);
}

}  // namespace

TEST_CASE("ranks with tokens of each row train as one with all of them") {
  for (const auto& [world, context] :
       {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}, std::pair{3, 3}, std::pair{6, 3}}) {
    const ModelGraph graph = rows_of_ranks(context);
    CAPTURE(world, context);
    const StepProgram p = in_ddp(graph, mesh_of(world, context));
    CHECK(problem_of(p, graph) == "");
    int exchanges = 0;
    for (const Instruction& i : p.steady)
      exchanges += i.op == Op::all_to_all && i.along == axes::context;
    CHECK(exchanges == micro_steps * 4);
    for (const int shard : {context, world})
      for (const int stage : {1, 2, 3}) {
        CAPTURE(shard, stage);
        Mesh mesh = mesh_of(world, context);
        mesh.shard = shard;
        const ModelGraph divided = divisible(graph, mesh, Unit::element);
        CHECK(problem_of(in_shards(divided, mesh, stage), divided) == "");
      }
  }
}

TEST_CASE("each instruction of a program with tokens of rows is needed") {
  const ModelGraph graph = rows_of_ranks(2);
  for (const int world : {2, 4}) {
    const StepProgram p = in_ddp(graph, mesh_of(world, 2));
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      StepProgram without = p;
      without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CAPTURE(world, k, name_of(p.steady[k].op));
      CHECK(problem_of(without, graph) != "");
    }
  }
}

TEST_CASE("sums and exchanges of tokens along another axis are found") {
  const ModelGraph graph = rows_of_ranks(2);
  const StepProgram p = in_ddp(graph, mesh_of(4, 2));
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (!is_collective(p.steady[k].op)) continue;
    for (const AxisSet along : {axes::all, axes::batch, axes::context}) {
      if (p.mesh.significant(along) == p.mesh.significant(p.steady[k].along)) continue;
      CAPTURE(k, name_of(p.steady[k].op), name_of(p.steady[k].along), name_of(along));
      StepProgram among_others = p;
      among_others.steady[k].along = along;
      CHECK(problem_of(among_others, graph) != "");
    }
  }
}

}  // namespace context_parallel_test

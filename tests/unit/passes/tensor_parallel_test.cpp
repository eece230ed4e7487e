// Programs of layers that ranks have parts of: over ranks and micro-batches they are those of one
// rank that computes all parts, and a program that leaves out an instruction, or exchanges among
// other ranks, is found.
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include "support/catch.hpp"
#include "support/toy/prove.hpp"

namespace tensor_parallel_test {

using namespace toy;

namespace {

/// Exchanges: `in` becomes `out`.
BlockSpec exchange(const std::string& name, ExchangeKind kind, int in, int out) {
  BlockSpec b{name, 0};
  b.exchange = kind;
  b.slots = {slot("in", Role::value, in), slot("out", Role::value, out, {0})};
  b.phases[Op::forward].uses = {{0, How::read}, {1, How::overwrite}};
  if (kind == ExchangeKind::numbers_to_all) return b;
  b.slots.push_back(slot("d_in", Role::value_gradient, in));
  b.slots.push_back(slot("d_out", Role::value_gradient, out));
  b.phases[Op::backward].uses = {{3, How::read}, {2, How::overwrite}};
  return b;
}

/// The loss is made of what all ranks have, its gradient of one's own.
BlockSpec loss(int own, int all) {
  BlockSpec b{"loss"};
  b.slots = {slot("own", Role::value, own),
             slot("all", Role::value, all),
             slot("target", Role::batch, 1),
             slot("d_own", Role::value_gradient, own),
             slot("loss_sum", Role::loss_sum, 0, {1, 2}),
             slot("target_count", Role::target_count, 1, {2})};
  b.phases[Op::loss].uses = {{0, How::read},      {1, How::read},       {2, How::read},
                             {3, How::overwrite}, {4, How::accumulate}, {5, How::accumulate}};
  return b;
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
  g.blocks.push_back(loss(numbers, of_all));
  for (BlockSpec& b : g.blocks) {
    b.parts = parts;
    b.own_part_alone = true;
    for (SlotSpec& s : b.slots)
      if (s.role == Role::value || s.role == Role::value_gradient) s.state = ValueState::of_part;
  }
  return g;
}

Mesh mesh_of(int world, int tensor) {
  Mesh mesh(world, 1);
  mesh.tensor = tensor;
  return mesh;
}

constexpr int micro_steps = 2;

StepProgram in_ddp(const ModelGraph& graph, const Mesh& mesh) {
  StepProgram p = passes::accumulation(plain_program(graph, momentum()), micro_steps);
  p = passes::redistribute(std::move(p), graph, momentum(), mesh);
  return passes::distributed_data_parallel(std::move(p), {mesh});
}

std::string problem_of(const StepProgram& p, const ModelGraph& graph) {
  const UpdateSpec update = momentum();
  const Reference reference{&graph, update, micro_steps};
  return check_program(p, unplaced(p), &reference);
}

}  // namespace

TEST_CASE("ranks with parts of each layer train as one with all of them") {
  for (const auto& [world, tensor] :
       {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}, std::pair{3, 3}, std::pair{6, 3}}) {
    const ModelGraph graph = layers_in_parts(tensor);
    CAPTURE(world, tensor);
    const StepProgram p = in_ddp(graph, mesh_of(world, tensor));
    CHECK(problem_of(p, graph) == "");
    int gathers = 0, scatters = 0;
    for (const Instruction& i : p.steady) {
      gathers += i.op == Op::gather && i.along == axes::tensor;
      scatters += i.op == Op::scatter && i.along == axes::tensor;
    }
    CHECK(gathers == micro_steps * (3 + 1));
    CHECK(scatters == micro_steps * (1 + 2));
  }
}

TEST_CASE("each instruction of a program with parts of layers is needed") {
  const ModelGraph graph = layers_in_parts(2);
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

TEST_CASE("sums and exchanges along another axis are found") {
  const ModelGraph graph = layers_in_parts(2);
  const StepProgram p = in_ddp(graph, mesh_of(4, 2));
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (!is_collective(p.steady[k].op)) continue;
    for (const AxisSet along : {axes::all, axes::data, axes::tensor}) {
      if (p.mesh.significant(along) == p.mesh.significant(p.steady[k].along)) continue;
      CAPTURE(k, name_of(p.steady[k].op), name_of(p.steady[k].along), name_of(along));
      StepProgram among_others = p;
      among_others.steady[k].along = along;
      CHECK(problem_of(among_others, graph) != "");
    }
  }
}

}  // namespace tensor_parallel_test

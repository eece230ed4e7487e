// Dispatch with a capacity where ranks share a micro-batch: the choices that all ranks keep
// together are those of one rank that has all tokens.
#include "operations/dispatch/dispatch.hpp"
#include "operations/dispatch/dispatch_spec.hpp"
#include "operations/op_context.hpp"
#include "support/catch.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

namespace shared_capacity_test {

using namespace trainx;
using operations::Dispatch;
using program::How;
using program::Role;

namespace {

struct Made {
  at::Tensor rows, places, offsets;
};

/// What the rank of that place makes of its own tokens and all choices.
Made dispatched(const Dispatch& op, const at::Tensor& x, const at::Tensor& chosen,
                const at::Tensor& all, int place) {
  program::ModelGraph graph;
  program::BlockSpec block;
  std::vector<Tensor> operands;
  std::vector<How> how;
  const auto slot = [&](Role role, const at::Tensor& t, How used) {
    operands.emplace_back(t);
    how.push_back(used);
    block.slots.push_back(
        {.name = "s", .role = role, .tensor = {"s", operands.back().dtype, t.sizes().vec()}});
    return static_cast<program::Slot>(operands.size()) - 1;
  };
  const auto type = [](const at::Tensor& t, DType dtype) {
    return operations::TensorType{dtype, t.sizes().vec()};
  };
  const operations::Types types{
      .inputs = {type(x, DType::f32), type(chosen, DType::i32), type(all, DType::i32)},
      .parameters = {}};
  const auto specs = op.outputs(types);
  const Made made{at::empty(specs[Dispatch::rows].type.dims),
                  at::empty(specs[Dispatch::places].type.dims, at::kInt),
                  at::empty(specs[Dispatch::offsets].type.dims, at::kInt)};
  operations::BoundOp bound{.operation = op};
  bound.inputs = {slot(Role::value, x, How::read), slot(Role::value, chosen, How::read),
                  slot(Role::value, all, How::read)};
  bound.outputs = {slot(Role::saved, made.rows, How::overwrite),
                   slot(Role::saved, made.places, How::overwrite),
                   slot(Role::saved, made.offsets, How::overwrite)};
  std::vector<at::Tensor> scratch;  // slots do not own it
  for (const operations::ScratchSpec& s : op.cost(operations::Direction::forward, types).scratch) {
    scratch.push_back(at::empty(s.type.dims, at::kInt));
    bound.scratch.push_back(slot(Role::scratch, scratch.back(), How::overwrite));
  }
  graph.blocks.push_back(block);
  operations::BlockContext context(graph, graph.blocks.front(), operands, how,
                                   operations::Mode::train, 1, 1);
  context.set_place({.layer = 0, .rows = place, .heads = place});
  const operations::BoundBlock in_block;
  op.run_forward(operations::OpContext(context, in_block, bound));
  return made;
}

std::int32_t element(const at::Tensor& t, std::int64_t i) { return t.view(-1)[i].item<int>(); }

}  // namespace

TEST_CASE("ranks that share a micro-batch keep the choices that one rank keeps") {
  constexpr std::int64_t N = 24, H = 3, E = 4;
  const std::int64_t k = GENERATE(1, 2), ranks = GENERATE(2, 4), capacity = GENERATE(1, 3, 5, 100);
  CAPTURE(k, ranks, capacity);
  const at::Tensor x = at::randn({N, H}), chosen = at::randint(0, E, {N, k}, at::kInt);
  const Made whole =
      dispatched({.experts = E, .capacity = capacity, .sparse = true}, x, chosen, chosen, 0);
  const Dispatch of_rank{.experts = E, .capacity = capacity, .ranks = ranks, .sparse = true};
  const std::int64_t tokens = N / ranks;
  std::vector<std::int64_t> rows(E);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const at::Tensor own = chosen.narrow(0, rank * tokens, tokens).contiguous();
    const at::Tensor own_x = x.narrow(0, rank * tokens, tokens).contiguous();
    const Made made = dispatched(of_rank, own_x, own, chosen, static_cast<int>(rank));
    for (std::int64_t i = 0; i < tokens * k; ++i) {
      const bool is_kept = element(whole.places, rank * tokens * k + i) >= 0;
      const std::int32_t place = element(made.places, i), expert = element(own, i);
      REQUIRE((place >= 0) == is_kept);
      if (!is_kept) continue;
      CHECK(place >= element(made.offsets, expert));
      CHECK(place < element(made.offsets, expert + 1));
      CHECK(made.rows[place].equal(own_x[i / k]));
    }
    for (std::int64_t e = 0; e < E; ++e)
      rows[static_cast<std::size_t>(e)] += element(made.offsets, e + 1) - element(made.offsets, e);
  }
  for (std::int64_t e = 0; e < E; ++e)
    CHECK(rows[static_cast<std::size_t>(e)] ==
          element(whole.offsets, e + 1) - element(whole.offsets, e));
}

}  // namespace shared_capacity_test

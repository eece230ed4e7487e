// HeadsByRank as instructions run it: what a rank gets of each section, both ways, and that
// backward is the transpose of forward where neighbours share key-value heads.
#include "operations/heads_by_rank/heads_by_rank_spec.hpp"
#include "operations/op_context.hpp"
#include "support/catch.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros_like.h>

namespace heads_by_rank_test {

using namespace trainx;
using operations::HeadsByRank;
using program::How;
using program::Role;

namespace {

at::Tensor empty_output(const HeadsByRank& op, const at::Tensor& x) {
  const operations::Types types{.inputs = {{DType::f32, x.sizes().vec()}}, .parameters = {}};
  return at::zeros(op.outputs(types).front().type.dims);
}

/// Runs forward (of x, y) or backward (of dx, dy; `adds`: to what dx has).
void run(const HeadsByRank& op, at::Tensor x, at::Tensor y, bool forward, bool adds = false) {
  program::ModelGraph graph;
  program::BlockSpec block;
  std::vector<Tensor> operands;
  std::vector<How> how;
  const auto slot = [&](Role role, const at::Tensor& t, How used) {
    operands.emplace_back(t);
    how.push_back(used);
    block.slots.push_back(
        {.name = "s", .role = role, .tensor = {"s", DType::f32, t.sizes().vec()}});
    return static_cast<program::Slot>(operands.size()) - 1;
  };
  operations::BoundOp bound{.operation = op};
  if (forward) {
    bound.inputs = {slot(Role::value, x, How::read)};
    bound.outputs = {slot(Role::saved, y, How::overwrite)};
  } else {
    const program::Slot to = slot(Role::value_gradient, x, How::overwrite);
    bound.input_gradients = {{.to = to, .addend = adds ? to : program::none}};
    bound.output_gradients = {slot(Role::value_gradient, y, How::read)};
  }
  graph.blocks.push_back(block);
  const operations::BlockContext context(graph, graph.blocks.front(), operands, how,
                                         operations::Mode::train, 1, 1);
  const operations::BoundBlock in_block;
  const operations::OpContext c(context, in_block, bound);
  forward ? op.run_forward(c) : op.run_backward(c);
}

/// Integers: sums are exact.
at::Tensor numbers(std::initializer_list<std::int64_t> dims) {
  return at::randint(-50, 50, dims).to(at::kFloat);
}
double product(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum().item<double>(); }

}  // namespace

TEST_CASE("rows of all heads are ordered by the ranks that have them") {
  // 4 heads of queries, 2 of keys of 2 elements, 2 of values of 3; of 2 and of 4 ranks
  for (const std::int64_t ranks : {2, 4}) {
    const HeadsByRank op{.sections = {{4, 2}, {2, 2}, {2, 3}}, .ranks = ranks};
    const at::Tensor x = at::arange(3 * 18).view({3, 18}).to(at::kFloat);
    const at::Tensor y = empty_output(op, x);
    REQUIRE(y.size(0) == 3 * ranks);
    REQUIRE(y.size(1) == (ranks == 2 ? 4 + 2 + 3 : 2 + 2 + 3));
    run(op, x, y, true);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t queries = 8 / ranks, key = rank * 2 / ranks;
      const at::Tensor own = y.narrow(0, rank * 3, 3);
      CHECK(own.narrow(1, 0, queries).equal(x.narrow(1, rank * queries, queries)));
      CHECK(own.narrow(1, queries, 2).equal(x.narrow(1, 8 + key * 2, 2)));
      CHECK(own.narrow(1, queries + 2, 3).equal(x.narrow(1, 12 + key * 3, 3)));
    }
  }
}

TEST_CASE("backward is the transpose of forward, and adds what neighbours share") {
  for (const bool joins : {false, true})
    for (const std::int64_t ranks : {1, 2, 4}) {
      CAPTURE(joins, ranks);
      const HeadsByRank op{
          .sections = joins ? std::vector<operations::HeadSection>{{4, 3}}
                            : std::vector<operations::HeadSection>{{4, 2}, {1, 2}, {2, 3}},
          .ranks = ranks,
          .joins = joins};
      const at::Tensor x = joins ? numbers({5 * ranks, 12 / ranks}) : numbers({5, 16});
      const at::Tensor y = empty_output(op, x), dy = numbers({y.size(0), y.size(1)}),
                       dx = at::zeros_like(x);
      run(op, x, y, true);
      run(op, dx, dy, false);
      CHECK(product(y, dy) == product(x, dx));
      if (joins) continue;
      const at::Tensor before = numbers({5, 16}), sum = before.clone();
      run(op, sum, dy, false, true);
      CHECK(sum.equal(before + dx));
    }
}

TEST_CASE("both ways give what was there") {
  const HeadsByRank there{.sections = {{4, 3}}, .ranks = 4},
      back{.sections = {{4, 3}}, .ranks = 4, .joins = true};
  const at::Tensor x = numbers({7, 12}), between = empty_output(there, x),
                   again = empty_output(back, between);
  run(there, x, between, true);
  run(back, between, again, true);
  CHECK(again.equal(x));
}

}  // namespace heads_by_rank_test

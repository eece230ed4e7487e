// Balance of experts without a loss.
#include "execute/balance.hpp"
#include "program/shards.hpp"
#include <limits>
#include <vector>
#include "support/catch.hpp"

namespace balance_test {

using namespace trainx;

namespace {

void balance(const program::GroupSpec& group, const std::vector<double>& loads, double norm2,
             float* parameters) {
  for (const auto& op : execute::balance_of(group, 0.125, 4, loads.data(), &norm2, parameters))
    kernels::balance_biases_reference(op);
}

}  // namespace

TEST_CASE("a router's bias moves by the sign of what its expert's load lacks of the mean") {
  program::GroupSpec group{.name = "h1.mlp", .elements = 12};
  group.parameters = {{.name = "other", .dims = {4}, .offset = 0},
                      {.name = "bias", .dims = {4}, .offset = 4, .expert_layer = 1},
                      {.name = "after", .dims = {4}, .offset = 8}};
  // of two layers: four experts, and what was dropped, which is nobody's load
  const std::vector<double> loads{9, 9, 9, 9, 0, 7, 5, 3, 5, 100};
  const std::vector<float> before{1, 2, 3, 4, 0.5F, 0.5F, 0.5F, 0.25F, 5, 6, 7, 8};
  std::vector<float> whole = before;
  balance(group, loads, 3, whole.data());
  CHECK(whole == std::vector<float>{1, 2, 3, 4, 0.375F, 0.5F, 0.625F, 0.25F, 5, 6, 7, 8});

  // ranks that keep parts of the group move their parts alike
  std::vector<float> parts = before;
  for (int rank = 0; rank < 2; ++rank)
    balance(program::shard_of(group, rank, 2), loads, 3, parts.data() + rank * 6);
  CHECK(parts == whole);

  // a step that is not made moves none
  balance(group, loads, std::numeric_limits<double>::infinity(), parts.data());
  CHECK(parts == whole);
}

}  // namespace balance_test

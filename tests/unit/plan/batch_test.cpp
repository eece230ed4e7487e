#include "plan/batch.hpp"
#include "support/catch.hpp"

namespace batch_test {

using namespace trainx;

TEST_CASE("any two of the three batch quantities give the third") {
  for (const auto& b : {recipe::BatchSection{64, 4, {}}, recipe::BatchSection{64, {}, 8},
                        recipe::BatchSection{{}, 4, 8}, recipe::BatchSection{64, 4, 8}}) {
    const auto plan = plan::plan_batch(b, 2);
    CHECK(plan.global_batch_size == 64);
    CHECK(plan.micro_batch_size == 4);
    CHECK(plan.grad_accum_steps == 8);
  }
}

TEST_CASE("a batch that does not divide is refused with the nearest that does") {
  CHECK_THROWS_WITH(plan::plan_batch({30, 4, {}}, 2),
                    "batch.global_batch_size (30) must be a multiple of micro_batch_size * "
                    "world_size (4 * 2 = 8); the nearest that are: 24 and 32");
  CHECK_THROWS_WITH(plan::plan_batch({3, 4, {}}, 1),
                    "batch.global_batch_size (3) must be a multiple of micro_batch_size * "
                    "world_size (4 * 1 = 4); the nearest that are: 4");
  CHECK_THROWS_AS(plan::plan_batch({{}, {4}, {}}, 1), UserError);
  // of one sample each, until a micro-batch is chosen
  CHECK(plan::plan_batch({64, {}, {}}, 2).grad_accum_steps == 32);
  CHECK_THROWS_AS(plan::plan_batch({64, 4, 4}, 1), UserError);
}

}  // namespace batch_test

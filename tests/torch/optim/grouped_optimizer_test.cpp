// Groups with settings of their own, and the average of the weights, against plain optimizers and
// the formula.
#include "group_fixture.hpp"
#include "support/catch.hpp"
#include <limits>

namespace grouped_optimizer_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

const options::OptimizerOptions optimizers[] = {options::AdamWOptions{0.9, 0.99, 1e-8, 0.1},
                                                options::SgdOptions{0.9, true, 0.1},
                                                options::AdamOptions{0.9, 0.99, 1e-8, 0.1},
                                                options::AdagradOptions{0.1, 0.1, 1e-10, 0.1},
                                                options::LionOptions{0.9, 0.99, 0.1},
                                                options::AdamW8bitOptions{},
                                                options::AdafactorOptions{},
                                                options::LambOptions{}};

struct Kind {
  DType dtype;
  Master master;
};
constexpr Kind kinds[] = {{DType::f32, Master::absent},
                          {DType::bf16, Master::fp32},
                          {DType::bf16, Master::split},
                          {DType::bf16, Master::absent}};

StepScalars scalars_of(GroupFixture& f, unsigned step, double lr) {
  f.new_gradient(step);
  StepScalars s;
  s.norm2 = squared_norm(f.group, f.gradient.data());
  s.applied_steps = step;
  s.lr = lr;
  s.max_grad_norm = 1;
  return s;
}

GroupFixture fixture(const options::OptimizerOptions& o, const Kind& kind, bool averages) {
  auto states = states_of(o);
  if (averages) states.push_back({.name = "ema", .averages_weights = true});
  return {matrix_group(37, 24), states, kind.dtype, kind.master, 7};
}

}  // namespace

TEST_CASE("a group is updated with the learning rate and weight decay that it has of its own") {
  for (const options::OptimizerOptions& o : optimizers)
    for (const Kind& kind : kinds) {
      CAPTURE(o.index(), static_cast<int>(kind.master));
      GroupFixture own = fixture(o, kind, false), plain = fixture(o, kind, false);
      own.group.training = {.lr_scale = 0.25, .weight_decay = 0.3};
      const auto grouped = make_optimizer(o, std::vector<program::GroupSpec>{own.group});
      const auto reference = make_optimizer(options::with_weight_decay(o, 0.3));
      for (unsigned step = 0; step < 3; ++step) {
        const StepScalars s = scalars_of(own, step, 8e-3);
        grouped->update(own.memory(), s);
        reference->update(plain.memory(), scalars_of(plain, step, 2e-3));
      }
      CHECK(same_bits(own.weights(), plain.weights()));
      for (std::size_t k = 0; k < own.states.size(); ++k)
        CHECK(same_bits(own.states[k], plain.states[k]));
      CHECK(own.gaps_untouched());
    }
}

TEST_CASE("a group without settings of its own is updated as without groups") {
  for (const options::OptimizerOptions& o : optimizers) {
    GroupFixture own = fixture(o, kinds[0], false), plain = fixture(o, kinds[0], false);
    make_optimizer(o, std::vector<program::GroupSpec>{own.group})
        ->update(own.memory(), scalars_of(own, 0, 3e-3));
    make_optimizer(o)->update(plain.memory(), scalars_of(plain, 0, 3e-3));
    CHECK(same_bits(own.weights(), plain.weights()));
  }
}

TEST_CASE("an average follows the exact weights of every kind, and changes no update") {
  constexpr double decay = 0.75;
  for (const options::OptimizerOptions& o : optimizers)
    for (const Kind& kind : kinds) {
      CAPTURE(o.index(), static_cast<int>(kind.master));
      GroupFixture with = fixture(o, kind, true), without = fixture(o, kind, false);
      float* const average = with.states.back().floats();
      std::vector<double> want(with.used.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        if (with.used[i]) want[i] = average[i] = with.weights()[i];
      const auto averaging = make_optimizer(o, std::vector<program::GroupSpec>{with.group}, decay),
                 plain = make_optimizer(o);
      for (unsigned step = 0; step < 4; ++step) {
        averaging->update(with.memory(), scalars_of(with, step, 1e-2));
        plain->update(without.memory(), scalars_of(without, step, 1e-2));
        const std::vector<float> weights = with.weights();
        for (std::size_t i = 0; i < want.size(); ++i)
          if (with.used[i]) want[i] = decay * want[i] + (1 - decay) * weights[i];
      }
      CHECK(same_bits(with.weights(), without.weights()));
      for (std::size_t i = 0; i < want.size(); ++i)
        if (with.used[i] && !(std::abs(average[i] - want[i]) <= 1e-6 * (1 + std::abs(want[i]))))
          FAIL("element " << i << ": " << average[i] << ", not " << want[i]);
      CHECK(with.gaps_untouched());
      // a step with an infinity is none
      const std::vector<float> before(average, average + want.size());
      StepScalars s = scalars_of(with, 9, 1e-2);
      s.norm2 = std::numeric_limits<double>::infinity();
      averaging->update(with.memory(), s);
      CHECK(same_bits(before, std::vector<float>(average, average + want.size())));
    }
}

}  // namespace grouped_optimizer_test

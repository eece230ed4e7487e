#include "program/print.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"

namespace programs_test {

using namespace toy;

TEST_CASE("programs written by hand print as written, pass the check, and run bit-equal to loops") {
  for (const Example& example : examples()) {
    INFO("program (" << example.name << ")");
    const Roles roles = example.roles();
    for (std::size_t k = 0; k < roles.programs.size(); ++k)
      CHECK(squeezed(print(roles.programs[k], &example.graph)) == squeezed(example.texts[k]));
    CHECK(prove(roles, example.training()) == "");
  }
}

TEST_CASE(
    "an overflow on one rank is skipped by all: applied steps fall behind steps, the loss scale "
    "halves") {
  const auto all = examples();
  const Example& d = all[3];
  const Trained after = train(d.training(), 5);
  CHECK(after.residents.at({Role::step})[0] == 5);
  CHECK(after.residents.at({Role::applied_steps})[0] == 4);
  CHECK(after.residents.at({Role::loss_scale})[0] == 1.0);  // 0.5, 1, 1, 0.5, 1, 1
  // sharded gradients agree through the reduced norm
  Example b = all[1];
  b.overflow = {3, 2};
  CHECK(prove(b.roles(), b.training()) == "");
}

TEST_CASE("two shape buckets and evaluation in one arena, residents at the same bytes") {
  const ModelGraph large = chain(1, true), small = in_bucket(large, 8);
  const UpdateSpec update = momentum();
  StepProgram p_large = plain_program(large, update);
  const StepProgram p_small = plain_program(small, update),
                    p_eval = forward_program(p_large, large, Op::evaluate);
  CHECK(squeezed(print(p_large, &large)) == squeezed(text_h));
  CHECK(squeezed(print(p_small, &small)) == squeezed(text_h));
  PlacementOptions options{.alignment = 8};
  const Placement at_large = plan_memory(p_large, options);
  for (std::size_t b = 0; p_large.buffers[b].resident; ++b)
    options.fixed.push_back(at_large.base[b]);
  const Placement at_small = plan_memory(p_small, options), at_eval = plan_memory(p_eval, options);
  CHECK(at_small.peak_of(Space::device) < at_large.peak_of(Space::device));
  CHECK(at_eval.peak_of(Space::device) <= at_large.peak_of(Space::device));
  for (std::size_t b = 0; b < options.fixed.size(); ++b) {
    CHECK(at_small.base[b] == at_large.base[b]);
    CHECK(at_eval.base[b] == at_large.base[b]);
  }
  CHECK(check_program(p_eval, at_eval) == "");

  Memory memory(arena_words(at_large), nothing());
  load_residents({&p_large, &at_large, &memory}, 0);
  Machine in_large(large, {{&p_large, &at_large, &memory}}),
      in_small(small, {{&p_small, &at_small, &memory}}),
      in_eval(large, {{&p_eval, &at_eval, &memory}});
  auto runner = [](const StepProgram& p, const Placement& at, Machine& m) {
    return std::make_unique<LaneRunner>(
        p, derive_order(p, at), [&m](const Instruction& i, int) { m.execute_on_lane(i, 0); });
  };
  const auto run_large = runner(p_large, at_large, in_large),
             run_small = runner(p_small, at_small, in_small),
             run_eval = runner(p_eval, at_eval, in_eval);
  Training t{&large, update};
  Trained want = initially(t);
  for (const bool is_small : {false, true, true, false, true}) {
    (is_small ? run_small : run_large)->submit_round();
    (is_small ? run_small : run_large)->wait_idle();
    run_eval->submit_round();
    run_eval->wait_idle();
    t.graph = is_small ? &small : &large;
    train_step(t, want);
    want.reports.clear();
    in_large.reports[0].clear(), in_small.reports[0].clear();
    CHECK(difference(in_large, want) == "");
  }
  REQUIRE(in_eval.reports[0].size() == 5);
  CHECK(std::isfinite(in_eval.reports[0][4].at(ReportSlot::loss_sum)));
}

}  // namespace programs_test

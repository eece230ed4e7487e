#include "train/loop_channel.hpp"
#include "support/catch.hpp"
#include "train/report_text.hpp"
#include "trainx/run_error.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace loop_channel_test {

using namespace trainx;
using namespace trainx::train;
using Kind = LoopCall::Kind;

TEST_CASE("the loop and training take turns") {
  LoopChannel channel;
  std::vector<std::string> order;  // unguarded: one side runs at a time
  std::thread training([&] {
    LoopCall call = channel.next({}, {0, 1, 5, 10});
    for (std::int64_t step = 6; call.kind == Kind::step; ++step) {
      order.push_back("train " + std::to_string(step));
      call = channel.next(StepReport{.step = step}, {0, 1, step, 10});
    }
    order.push_back(describe(call));
    call = channel.next(UserError(ExitCode::io_error, "full"), {});
    order.push_back(describe(call));
    channel.end(UserError(ExitCode::diverged, "over"));
  });
  REQUIRE(channel.wait_for_training());
  CHECK(channel.place().finished_steps == 5);
  for (std::int64_t step = 6; step < 9; ++step) {
    order.push_back("loop");
    CHECK(std::get<StepReport>(channel.call({Kind::step})).step == step);
    CHECK(channel.place().finished_steps == step);
  }
  const auto code_of = [&](const LoopCall& call) {
    try {
      channel.call(call);
    } catch (const RunError& e) { return e.exit_code(); }
    return 0;
  };
  CHECK(code_of({Kind::set_lr, 0.5}) == 74);  // refused
  CHECK(code_of({Kind::save}) == 80);         // training ended
  CHECK(code_of({Kind::step}) == 80);         // for good
  training.join();
  CHECK(order == std::vector<std::string>{"loop", "train 6", "loop", "train 7", "loop", "train 8",
                                          "set_lr(0.5)", "save()"});
}

TEST_CASE("a loop whose training never begins is told") {
  LoopChannel channel;
  std::thread training([&] { channel.end(UserError(ExitCode::bad_data, "no data")); });
  CHECK_FALSE(channel.wait_for_training());
  training.join();
}

TEST_CASE("reports travel exactly") {
  const double inf = std::numeric_limits<double>::infinity();
  StepReport step{7, 0.1, inf, 1e-300, 65536, 12, 0.25, {{"f1", NAN}, {"x", -0.0}}};
  const StepReport same = step_report_from(to_text(step));
  CHECK((same.step == 7 && same.loss == 0.1 && same.grad_norm == inf && same.lr == 1e-300));
  CHECK((same.loss_scale == 65536 && same.tokens == 12 && same.seconds == 0.25));
  CHECK(std::isnan(same.metrics.at("f1")));
  CHECK(std::signbit(same.metrics.at("x")));
  const EvaluationReport eval = evaluation_report_from(to_text(EvaluationReport{3, 1.5, 9, {}}));
  CHECK((eval.step == 3 && eval.loss == 1.5 && eval.targets == 9 && eval.metrics.empty()));
}

}  // namespace loop_channel_test

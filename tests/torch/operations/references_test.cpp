// References of kernels that GPUs alone run, against what their headers say: no test of a GPU tells
// which of the two is wrong.
#include "kernels/experts/router.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "support/catch.hpp"
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace references_test {

using namespace trainx::kernels;

namespace {

/// The experts of one token, best first.
std::vector<int> chosen_of(const RouterForm& form, const std::vector<float>& scores) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(form.per_token), -1);
  ChooseExperts<Bf16> op;
  op.form = form, op.tokens = 1, op.scores = scores.data(), op.indices = indices.data();
  choose_experts_reference(op);
  return {indices.begin(), indices.end()};
}

}  // namespace

TEST_CASE("the reference of a router chooses experts of the best groups alone") {
  const std::vector<float> scores{0.1F, 0.9F, 0.5F, 0.6F};
  RouterForm form;
  form.experts = 4, form.per_token = 2;
  CHECK(chosen_of(form, scores) == std::vector{1, 3});
  form.groups = 2;
  CHECK(chosen_of(form, scores) == std::vector{1, 0});
  form.two_largest = true;
  CHECK(chosen_of(form, scores) == std::vector{3, 2});
  form.kept_groups = 2;
  CHECK(chosen_of(form, scores) == std::vector{1, 3});
}

TEST_CASE("the reference of a loss sums all rows that have a target") {
  // of three classes; the fourth column is none
  std::vector<float> logits{0, 1, 2, 9, 5, 0, 0, 9, 1, 3, 0, 9, 4, 4, 0, 9};
  const std::array<std::int32_t, 4> targets{2, no_target, 0, 0};
  std::array<float, 4> losses{};
  CrossEntropy<float> op;
  op.rows = 4, op.columns = 4, op.vocab_size = 3;
  op.logits = logits.data(), op.targets = targets.data(), op.row_loss = losses.data();
  const auto loss = [&](std::size_t row, std::size_t target) {
    const float* const x = logits.data() + 4 * row;
    return std::log(std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2])) - x[target];
  };
  double sum = 7, count = 7, correct = 7;
  std::array<std::int32_t, 4> predictions{};
  std::array<double, 9> confusion{};
  confusion.fill(7);
  const double want = loss(0, 2) + loss(2, 0) + loss(3, 0);
  cross_entropy_reference(op, {&sum, &count}, {predictions.data(), &correct, confusion.data()});
  CHECK(std::abs(sum - want) < 1e-5);
  CHECK(count == 3);
  CHECK(correct == 2);
  CHECK(predictions == std::array<std::int32_t, 4>{2, 0, 1, 0});
  CHECK(confusion == std::array<double, 9>{1, 1, 0, 0, 0, 0, 0, 0, 1});
  cross_entropy_reference(op, {&sum, &count, true}, {});
  CHECK(std::abs(sum - 2 * want) < 1e-5);
  CHECK(count == 6);
  // that with the gradient makes the same losses, and leaves no row's logits
  const std::array<float, 4> before = std::exchange(losses, {7, 7, 7, 7});
  cross_entropy_with_gradient_reference(op, {}, 1, {&sum, &count});
  CHECK(std::abs(sum - want) < 1e-5);
  CHECK(count == 3);
  CHECK(losses == before);
  for (std::size_t row = 0; row < 4; ++row) {
    CAPTURE(row);
    const float* const d = logits.data() + 4 * row;
    CHECK(std::abs(d[0] + d[1] + d[2]) < 1e-6F);
    CHECK((d[targets[row] == no_target ? 0 : targets[row]] < 0) == (targets[row] != no_target));
    CHECK(d[3] == 0);
  }
}

}  // namespace references_test

// Losses of logits that are scaled and capped first, with smoothing and z-loss.
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/scale_and_cap.hpp"
#include "gpu/operands.hpp"

namespace capped_cross_entropy_test {

using namespace trainx::kernels;

namespace {

struct Case {
  std::int64_t rows, columns, classes;
  LossForm form;
  std::size_t shift = 0;
};

std::vector<std::int32_t> targets_of(const Case& c) {
  auto targets = random_integers(c.rows, c.classes, 5);
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (r % 4 == 3) targets[r] = no_target;
  return targets;
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows << " columns " << c.columns << " classes " << c.classes << " scale "
               << c.form.change.scale << " cap " << c.form.change.soft_cap << " smoothing "
               << c.form.smoothing << " z " << c.form.z_loss << " shift " << c.shift << " bytes "
               << sizeof(T));
  const auto logits = random_elements<T>(c.rows * c.columns, 1, 6);
  const auto targets = targets_of(c);
  const double seed = 0.7, loss_scale = 3;
  auto want = logits;
  std::vector<float> want_loss(targets.size());
  double want_sums[2] = {5, 7};
  CrossEntropy<T> op{c.rows,         c.columns,        c.classes,  want.data(),
                     targets.data(), want_loss.data(), &loss_scale};
  cross_entropy_with_gradient_reference(op, c.form, seed, {want_sums, want_sums + 1, true});
  const OnDevice<T> in(logits, c.shift), changed(logits, c.shift);
  const OnDevice<std::int32_t> d_targets(targets);
  const OnDevice<float> loss(std::vector<float>(targets.size()));
  const OnDevice<double> sums(std::vector<double>{5, 7}), scale(std::vector<double>{loss_scale});
  const Folding folding(0);
  op.logits = in.data(), op.targets = d_targets.data(), op.row_loss = loss.data();
  op.loss_scale = scale.data();
  require_success(
      cross_entropy_with_gradient(op, c.form, seed, {sums.data(), sums.data() + 1, true},
                                  folding.memory().counters, nullptr),
      "cross_entropy_with_gradient");
  check_close(in.host(), want, 2 * rounding<T>, 2e-5, "gradient");
  check_close(loss.host(), want_loss, 1e-4, 2e-4, "loss");
  check_close(sums.host()[0], want_sums[0], 1e-4, 1e-3, "sum");
  CHECK(sums.host()[1] == want_sums[1]);
  folding.check();

  auto want_changed = logits;
  scale_and_cap_reference(
      ScaleAndCap<T>{c.rows, c.columns, c.classes, want_changed.data(), c.form.change});
  require_success(
      scale_and_cap(ScaleAndCap<T>{c.rows, c.columns, c.classes, changed.data(), c.form.change},
                    nullptr),
      "scale_and_cap");
  check_close(changed.host(), want_changed, rounding<T>, 2e-5, "changed logits");
}

template <class T>
void check_sizes() {
  const LossForm forms[] = {{{1, 30}},          {{0.125, 0}},     {{0.25, 5}},
                            {{}, 0.1},          {{}, 0, 1e-2},    {{1, 30}, 0.2, 1e-3},
                            {{0.5, 0}, 0.9, 0}, {{0.25, 5}, 0, 1}};
  for (const LossForm& form : forms)
    for (const std::size_t shift : {0u, 1u}) {
      compare<T>({5, 8, 8, form, shift});
      compare<T>({3, 1, 1, form, shift});
      compare<T>({9, 24, 17, form, shift});
      compare<T>({6, 1000, 997, form, shift});
      compare<T>({4, 5123, 5120, form, shift});
      compare<T>({0, 8, 8, form, shift});
    }
  for (const double smoothing : {0.0, 0.1}) {
    compare<T>({5, 32064, 32001, {{1, 30}, smoothing, smoothing}});
    compare<T>({3, 131072, 131072, {{0.5, 30}, smoothing, smoothing}});
  }
}

}  // namespace

TEST_CASE("scaled and capped losses equal their reference for all sizes", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_sizes<float>();
  check_sizes<Bf16>();
  check_sizes<Fp16>();
}

TEST_CASE("a cap holds infinite logits; NaN and bad targets make their row NaN", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t columns = 64;
  std::vector<float> logits(4 * columns, 0.5f);
  logits[3] = std::numeric_limits<float>::infinity();
  logits[columns + 3] = std::numeric_limits<float>::quiet_NaN();
  const OnDevice<float> in(logits), loss(std::vector<float>(4));
  const OnDevice<std::int32_t> targets(std::vector<std::int32_t>{3, 4, 64, 6});
  const OnDevice<double> sums(std::vector<double>(2));
  const Folding folding(0);
  const CrossEntropy<float> op{4, columns, columns, in.data(), targets.data(), loss.data()};
  require_success(
      cross_entropy_with_gradient(op, {{1, 20}}, 1.0, {sums.data(), sums.data() + 1, false},
                                  folding.memory().counters, nullptr),
      "cross_entropy_with_gradient");
  const auto gradient = in.host(), losses = loss.host();
  CHECK((std::isfinite(losses[0]) && std::isnan(losses[1]) && std::isnan(losses[2]) &&
         std::isfinite(losses[3])));
  CHECK((std::isfinite(gradient[0]) && std::isnan(gradient[columns]) &&
         std::isnan(gradient[2 * columns]) && std::isfinite(gradient[3 * columns])));
}

}  // namespace capped_cross_entropy_test

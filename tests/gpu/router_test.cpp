#include "kernels/experts/router.hpp"
#include "gpu/operands.hpp"
#include "kernels/experts/router_loss.hpp"

namespace router_test {

using namespace trainx::kernels;

namespace {

RouterForm form(int experts, int per_token, RouterScore score, bool normalized = false,
                float scale = 1, int groups = 1, int kept = 1, bool two_largest = false) {
  RouterForm f;
  f.experts = experts, f.per_token = per_token, f.score = score, f.normalized = normalized;
  f.scale = scale, f.groups = groups, f.kept_groups = kept, f.two_largest = two_largest;
  return f;
}

std::vector<RouterForm> all_forms() {
  using enum RouterScore;
  return {form(8, 2, softmax),
          form(8, 3, softmax, true),
          form(1, 1, softmax),
          form(5, 5, softmax, true),
          form(7, 3, chosen_softmax),
          form(32, 1, chosen_softmax),
          form(33, 4, sigmoid, false, 2.5f),
          form(64, 8, softmax),
          form(12, 4, sigmoid, true, 2.5f, 4, 2, true),
          form(12, 3, softmax, false, 1.5f, 3, 1),
          form(160, 6, softmax, false, 16, 8, 3),
          form(256, 8, sigmoid, true, 2.5f, 8, 4, true),
          form(6, 2, sigmoid, true, 1, 6, 3, true),  // groups of one expert
          form(512, 32, softmax, true),
          form(384, 8, sigmoid, true, 2, 32, 7, true)};
}

std::string words(const RouterForm& f, std::int64_t tokens) {
  return "tokens " + std::to_string(tokens) + " chosen " + std::to_string(f.per_token) + " of " +
         std::to_string(f.experts) + " score " + std::to_string(static_cast<int>(f.score)) +
         " groups " + std::to_string(f.groups);
}

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Routed {
  std::vector<float> scores, weights, balanced, d_logits, without_balance, log_sums, z, of_z;
  std::vector<std::int32_t> indices;
};

struct Given {
  Given(const RouterForm& f, std::int64_t tokens)
      : logits(random_elements<float>(tokens * f.experts, 1)),
        before(random_elements<float>(2 * f.experts, 2)),
        d_weights(random_elements<float>(tokens * f.per_token, 3)),
        d_balanced(random_elements<float>(2 * f.experts, 4)),
        correction(random_elements<Bf16>(f.experts, 5, 0.3f)),
        bias(random_elements<Bf16>(f.experts, 6)),
        d_z(random_elements<float>(1, 7)) {}
  std::vector<float> logits, before, d_weights, d_balanced;
  std::vector<Bf16> correction, bias;
  std::vector<float> d_z;
  bool corrects = false;
};

Routed empty(const RouterForm& f, std::int64_t tokens) {
  Routed r;
  r.weights.resize(size(tokens * f.per_token));
  r.indices.assign(r.weights.size(), -1);
  r.balanced.resize(size(2 * f.experts));
  r.d_logits.resize(size(tokens * f.experts));
  r.without_balance = r.of_z = r.d_logits;
  r.log_sums.resize(size(tokens));
  r.z.resize(1);
  return r;
}

/// Is there a loss of log sums? Of sigmoids there is none.
bool has_z(const RouterForm& f) { return f.score != RouterScore::sigmoid; }

/// `scores` those of the device: a choice is that of exactly these numbers.
Routed reference_of(const RouterForm& f, std::int64_t tokens, const Given& in,
                    const std::vector<float>& scores) {
  Routed r = empty(f, tokens);
  r.scores = in.logits;
  router_scores_reference<Bf16>(
      {f, tokens, r.scores.data(), in.corrects ? in.bias.data() : nullptr, r.log_sums.data()});
  router_z_reference(
      {tokens, r.log_sums.data(), in.corrects ? in.before.data() : nullptr, r.z.data()});
  choose_experts_reference<Bf16>({f, tokens, scores.data(),
                                  in.corrects ? in.correction.data() : nullptr, r.weights.data(),
                                  r.indices.data()});
  balance_experts_reference(
      {f, tokens, scores.data(), r.indices.data(), in.before.data(), r.balanced.data()});
  router_backward_reference<float>({f, tokens, scores.data(), r.indices.data(), in.d_weights.data(),
                                    in.d_balanced.data(), r.d_logits.data()});
  router_backward_reference<float>({f, tokens, scores.data(), r.indices.data(), in.d_weights.data(),
                                    nullptr, r.without_balance.data()});
  if (has_z(f))
    router_backward_reference<float>({f, tokens, scores.data(), r.indices.data(),
                                      in.d_weights.data(), in.d_balanced.data(), r.of_z.data(),
                                      nullptr, in.d_z.data(), r.log_sums.data()});
  return r;
}

Routed device_of(const RouterForm& f, std::int64_t tokens, const Given& in) {
  const Routed none = empty(f, tokens);
  const OnDevice<float> scores(in.logits), weights(none.weights), before(in.before),
      balanced(none.balanced), d_weights(in.d_weights), d_balanced(in.d_balanced),
      d_logits(none.d_logits), without_balance(none.d_logits), log_sums(none.log_sums), z(none.z),
      of_z(none.of_z), d_z(in.d_z);
  const OnDevice<std::int32_t> indices(none.indices);
  const OnDevice<Bf16> correction(in.correction), bias(in.bias);
  const OnDevice<double> partial(
      std::vector<double>(size(balance_experts_scratch_bytes(f.experts) / 8),
                          std::numeric_limits<double>::quiet_NaN()));
  require_success(router_scores<Bf16>({f, tokens, scores.data(),
                                       in.corrects ? bias.data() : nullptr, log_sums.data()},
                                      nullptr),
                  "scores");
  require_success(
      router_z({tokens, log_sums.data(), in.corrects ? before.data() : nullptr, z.data()}, nullptr),
      "z");
  require_success(
      choose_experts<Bf16>({f, tokens, scores.data(), in.corrects ? correction.data() : nullptr,
                            weights.data(), indices.data()},
                           nullptr),
      "choice");
  require_success(
      balance_experts({f, tokens, scores.data(), indices.data(), before.data(), balanced.data()},
                      partial.data(), nullptr),
      "balance");
  require_success(router_backward<float>({f, tokens, scores.data(), indices.data(),
                                          d_weights.data(), d_balanced.data(), d_logits.data()},
                                         nullptr),
                  "backward");
  require_success(router_backward<float>({f, tokens, scores.data(), indices.data(),
                                          d_weights.data(), nullptr, without_balance.data()},
                                         nullptr),
                  "backward");
  if (has_z(f))
    require_success(router_backward<float>(
                        {f, tokens, scores.data(), indices.data(), d_weights.data(),
                         d_balanced.data(), of_z.data(), nullptr, d_z.data(), log_sums.data()},
                        nullptr),
                    "backward");
  partial.host();  // its guards
  return {scores.host(),   weights.host(), balanced.host(), d_logits.host(), without_balance.host(),
          log_sums.host(), z.host(),       of_z.host(),     indices.host()};
}

}  // namespace

TEST_CASE("routers equal their reference for all forms", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const RouterForm& f : all_forms())
    for (const std::int64_t tokens : {1, 37, 1'200})
      for (const bool corrects : {false, true}) {
        INFO(words(f, tokens) << " corrects " << corrects);
        Given in(f, tokens);
        in.corrects = corrects;
        const Routed got = device_of(f, tokens, in), want = reference_of(f, tokens, in, got.scores);
        check_close(got.scores, want.scores, 1e-5, 1e-6, "scores");
        CHECK(got.indices == want.indices);
        check_close(got.weights, want.weights, 2e-5, 1e-6, "weights");
        check_close(got.balanced, want.balanced, 1e-5, 1e-5, "balanced");
        check_close(got.d_logits, want.d_logits, 1e-4, 1e-4, "d_logits");
        check_close(got.without_balance, want.without_balance, 1e-4, 1e-4, "without balance");
        check_close(got.log_sums, want.log_sums, 1e-6, 1e-6, "log sums");
        check_close(got.z, want.z, 1e-5, 1e-5, "z");
        check_close(got.of_z, want.of_z, 1e-4, 1e-4, "d_logits with z");
        const Routed again = device_of(f, tokens, in);
        CHECK((same_bits(again.weights, got.weights) && same_bits(again.balanced, got.balanced) &&
               same_bits(again.d_logits, got.d_logits) && same_bits(again.z, got.z) &&
               same_bits(again.of_z, got.of_z)));
      }
}

TEST_CASE("ties go to the lower expert on a GPU, and NaN is chosen, once", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const RouterForm f = form(40, 3, RouterScore::softmax);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> scores(3 * 40, 0.25f);
  for (std::size_t e = 0; e < 40; ++e) scores[40 + e] = nan;
  scores[80 + 35] = nan, scores[80 + 12] = 0.5f;
  const OnDevice<float> in(scores), weights(std::vector<float>(9));
  const OnDevice<std::int32_t> indices(std::vector<std::int32_t>(9, -1));
  require_success(
      choose_experts<float>({f, 3, in.data(), nullptr, weights.data(), indices.data()}, nullptr),
      "choice");
  CHECK(indices.host() == std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 35, 12, 0});
  const auto got = weights.host();
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(got[i]) == (i >= 3 && i <= 6));
  // either output alone
  const OnDevice<float> again(std::vector<float>(9));
  const OnDevice<std::int32_t> alone(std::vector<std::int32_t>(9, -1));
  require_success(choose_experts<float>({f, 3, in.data(), nullptr, again.data(), nullptr}, nullptr),
                  "choice");
  require_success(choose_experts<float>({f, 3, in.data(), nullptr, nullptr, alone.data()}, nullptr),
                  "choice");
  CHECK(same_bits(again.host(), got));
  CHECK(alone.host() == indices.host());
}

TEST_CASE("gradients of logits in three parts keep their bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const RouterForm f = form(12, 4, RouterScore::sigmoid, true, 2.5f);
  constexpr std::int64_t tokens = 50;
  const Given in(f, tokens);
  const Routed of = device_of(f, tokens, in);
  const OnDevice<float> scores(of.scores), d_weights(in.d_weights), d_balanced(in.d_balanced);
  const OnDevice<std::int32_t> indices(of.indices);
  const OnDevice<Bf16> parts(std::vector<Bf16>(size(tokens * 3 * f.experts)));
  require_success(router_backward<Bf16>({f, tokens, scores.data(), indices.data(), d_weights.data(),
                                         d_balanced.data(), nullptr, parts.data()},
                                        nullptr),
                  "backward");
  const auto got = parts.host();
  for (std::int64_t n = 0; n < tokens; ++n)
    for (int e = 0; e < f.experts; ++e) {
      double sum = 0;
      for (int part = 0; part < 3; ++part)
        sum += static_cast<double>(widened(got[size((n * 3 + part) * f.experts + e)]));
      check_close(sum, of.d_logits[size(n * f.experts + e)], 1e-7, 1e-30, "sum of parts");
    }

  const auto weight = random_elements<Bf16>(f.experts * 20, 8);
  const auto sums = random_elements<float>(3 * f.experts * 20, 9),
             there = random_elements<float>(f.experts * 20, 10);
  const OnDevice<Bf16> from(weight), repeated(std::vector<Bf16>(3 * weight.size()));
  require_success(repeat_for_parts(repeated.data(), from.data(), std::ssize(weight), nullptr),
                  "repeat");
  const auto copies = repeated.host();
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (copies[i].bits != weight[i % weight.size()].bits) FAIL("copy " << i);
  for (const bool accumulate : {false, true}) {
    const OnDevice<float> of_parts(sums), to(there);
    require_success(
        sum_of_parts(to.data(), of_parts.data(), std::ssize(there), accumulate, nullptr),
        "sum of parts");
    std::vector<float> want = there;
    for (std::size_t i = 0; i < there.size(); ++i)
      want[i] = (accumulate ? there[i] : 0) + sums[i] + sums[i + there.size()] +
                sums[i + 2 * there.size()];
    check_close(to.host(), want, 1e-5, 1e-6, "sum of parts");
  }
}

TEST_CASE("losses that keep experts evenly busy and logits small, on a GPU", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t rows : {1, 700, 5'000}) {
    RouterLoss op{60, 0.02};
    const auto balance = random_elements<float>(2 * op.experts, 1, 1, 3);
    auto targets = random_integers(rows, 100, 2);
    for (std::size_t i = 0; i < targets.size(); i += 3) targets[i] = i % 2 == 0 ? -100 : -1;
    op.balance = balance.data(), op.targets = targets.data(), op.rows = rows;
    std::vector<double> sum{7};
    const std::vector<double> scale{64};
    std::vector<float> d(balance.size(), -1);
    router_loss_reference(op, sum.data());
    router_loss_backward_reference(op, d.data(), 0.25, scale.data());
    const OnDevice<float> on_balance(balance), to(std::vector<float>(balance.size(), -1));
    const OnDevice<std::int32_t> on_targets(targets);
    const OnDevice<double> to_sum(std::vector<double>{7}), on_scale(scale);
    const RouterLoss on{op.experts, op.factor, on_balance.data(), on_targets.data(), rows};
    require_success(router_loss(on, to_sum.data(), nullptr), "loss");
    require_success(router_loss_backward(on, to.data(), 0.25, on_scale.data(), nullptr),
                    "loss backward");
    check_close(to_sum.host()[0], sum[0], 1e-12, 1e-12, "loss");
    check_close(to.host(), d, 1e-6, 0, "d_balance");

    const std::vector<float> z{5};
    std::vector<float> d_z{-1};
    std::vector<double> z_sum{7};
    const RouterZLoss of_z{0.03, z.data(), targets.data(), rows};
    router_z_loss_reference(of_z, z_sum.data());
    router_z_loss_backward_reference(of_z, d_z.data(), 0.25, scale.data());
    const OnDevice<float> on_z(z), to_d_z(std::vector<float>{-1});
    const OnDevice<double> to_z_sum(std::vector<double>{7});
    const RouterZLoss on_device{of_z.factor, on_z.data(), on_targets.data(), rows};
    require_success(router_z_loss(on_device, to_z_sum.data(), nullptr), "loss of z");
    require_success(
        router_z_loss_backward(on_device, to_d_z.data(), 0.25, on_scale.data(), nullptr),
        "loss of z backward");
    check_close(to_z_sum.host()[0], z_sum[0], 1e-12, 1e-12, "loss of z");
    check_close(to_d_z.host(), d_z, 1e-6, 0, "d_z");
  }
}

}  // namespace router_test

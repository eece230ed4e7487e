// The loss of logits that are scaled and capped, and scaled embeddings, against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/embedding/embedding.hpp"
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>

namespace capped_cross_entropy_test {

using namespace trainx;
using namespace double_reference;

namespace {

double finished(double x, double scale, double cap) {
  return cap > 0 ? cap * std::tanh(x * scale / cap) : x * scale;
}

/// Of each row of logits[rows, width] over its first `vocab` columns.
Doubles losses(const Doubles& logits, std::size_t width, std::size_t vocab,
               const std::vector<std::int32_t>& targets, const operations::LossForm& form) {
  const auto [scale, cap] = form.change;
  Doubles out;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    double sum = 0, all = 0;
    for (std::size_t c = 0; c < vocab; ++c) {
      const double x = finished(logits[r * width + c], scale, cap);
      sum += std::exp(x), all += x;
    }
    out.push_back(0);
    if (targets[r] == operations::no_target) continue;
    const double z = std::log(sum), e = form.smoothing,
                 target =
                     finished(logits[r * width + static_cast<std::size_t>(targets[r])], scale, cap);
    out.back() = (1 - e) * (z - target) + e * (z - all / static_cast<double>(vocab)) +
                 form.z_loss * z * z;
  }
  return out;
}

}  // namespace

TEST_CASE("logits are scaled and capped where they lie, columns of padding stay") {
  const double scale = GENERATE(1.0, 0.0625, 3.0), cap = GENERATE(0.0, 2.0, 30.0);
  const std::int64_t vocab = GENERATE(1, 2, 33), width = vocab + GENERATE(0, 5), rows = 7;
  Operands operands(at::kFloat);
  INFO("scale " << scale << " cap " << cap << " columns " << vocab << " of " << width << " seed "
                << operands.seed());
  const at::Tensor x = operands.normal({rows, width}, 20), y = x.clone();
  operations::change_logits(y, vocab, {scale, cap});
  Doubles want = doubles(x);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (static_cast<std::int64_t>(i) % width < vocab) want[i] = finished(want[i], scale, cap);
  CHECK(error(y, want) <= 1e-6);
}

TEST_CASE("the loss of scaled and capped logits, and its gradient over what they were") {
  const double scale = GENERATE(1.0, 0.0625, 3.0), cap = GENERATE(0.0, 2.0, 30.0);
  const std::int64_t vocab = GENERATE(1, 2, 33, 130), width = vocab + GENERATE(0, 5), rows = 7;
  const bool scaled = GENERATE(false, true);
  const auto [smoothing, z_loss] =
      GENERATE(std::pair(0.0, 0.0), std::pair(0.1, 0.0), std::pair(0.0, 0.3), std::pair(0.9, 1e-3));
  const operations::LossForm form{{scale, cap}, smoothing, z_loss};
  Operands operands(at::kFloat);
  INFO("scale " << scale << " cap " << cap << " columns " << vocab << " of " << width
                << " smoothing " << smoothing << " z " << z_loss << " seed " << operands.seed());
  const at::Tensor x = operands.normal({rows, width}, 2), gradient = x.clone();
  std::vector<std::int32_t> targets;
  std::mt19937_64 random(operands.seed());
  for (std::int64_t r = 0; r < rows; ++r)
    targets.push_back(
        r % 3 == 2 ? operations::no_target
                   : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab)));
  const at::Tensor row_loss = operands.empty({rows}), total = at::full({1}, 100, at::kDouble),
                   count = at::full({1}, 10, at::kDouble);
  operations::LossTo to{row_loss, total, count, true};
  const double by = 4;
  const operations::LossSeed seed{.factor = 0.3, .scale = scaled ? &by : nullptr};
  operations::summed_cross_entropy_with_gradient(to, gradient, targets.data(), vocab, seed, form);
  Doubles in = doubles(x);
  const auto each = [&] {
    return losses(in, static_cast<std::size_t>(width), static_cast<std::size_t>(vocab), targets,
                  form);
  };
  const auto loss = [&] {
    double sum = 0;
    for (const double v : each()) sum += v;
    return sum;
  };
  CHECK(error(row_loss, each()) <= 1e-5);
  CHECK(std::abs(doubles(total)[0] - 100 - loss()) <= 1e-4);
  CHECK(doubles(count)[0] == 10 + 5);
  Doubles want = slopes(in, loss);
  for (double& v : want) v *= 0.3 * (scaled ? 4 : 1);
  if (vocab > 1 || z_loss > 0) CHECK(error(gradient, want) <= (form.has_terms() ? 1e-5 : 4e-6));
  for (std::int64_t r = 0; r < rows; ++r) {
    const at::Tensor row = gradient.select(0, r);
    if (targets[static_cast<std::size_t>(r)] == operations::no_target)
      CHECK(row.abs().max().item<float>() == 0);
    for (std::int64_t c = vocab; c < width; ++c) CHECK(row[c].item<float>() == 0);
  }
  // the same without what was there
  const at::Tensor again = x.clone();
  to.accumulate = false;
  operations::summed_cross_entropy_with_gradient(to, again, targets.data(), vocab, seed, form);
  CHECK(at::equal(again, gradient));
  CHECK(std::abs(doubles(total)[0] - loss()) <= 1e-4);
  CHECK(doubles(count)[0] == 5);
}

TEST_CASE("label smoothing is torch's, and z-loss its log-sum-exp squared") {
  const double smoothing = GENERATE(0.0, 0.1, 0.99), z = GENERATE(0.0, 1e-2);
  const std::int64_t rows = 9, vocab = 257, width = 260;
  Operands operands(at::kFloat);
  INFO("smoothing " << smoothing << " z " << z << " seed " << operands.seed());
  const at::Tensor x = operands.normal({rows, width}, 3);
  std::vector<std::int32_t> targets;
  const at::Tensor wide = at::full({rows}, -100, at::kLong);
  for (std::int64_t r = 0; r < rows; ++r) {
    targets.push_back(r == 4 ? operations::no_target : static_cast<std::int32_t>(r * 31 % vocab));
    wide[r].fill_(targets.back());
  }
  const at::Tensor logits = x.narrow(1, 0, vocab).to(at::kDouble),
                   squares = logits.logsumexp({1}).square() * (wide != -100);
  const double want =
      at::cross_entropy_loss(logits, wide, {}, at::Reduction::Sum, -100, smoothing).item<double>() +
      z * squares.sum().item<double>();
  const at::Tensor row_loss = operands.empty({rows}), total = at::full({1}, 0, at::kDouble),
                   count = at::full({1}, 0, at::kDouble);
  operations::summed_cross_entropy_with_gradient({row_loss, total, count}, x, targets.data(), vocab,
                                                 {}, {{}, smoothing, z});
  CHECK(std::abs(doubles(total)[0] - want) <= 1e-6 * want);
  CHECK(doubles(count)[0] == rows - 1);
}

TEST_CASE("scaled embeddings, with and without positions, documents and dropout") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t C = GENERATE(1, 2, 10, 67), B = 2, T = 9, vocab = 11;
  const bool has_positions = GENERATE(false, true), documents = GENERATE(false, true);
  const double scale = GENERATE(1.0, 25.3, 0.5), probability = GENERATE(0.0, 0.4);
  Operands operands(type);
  INFO(c10::toString(type) << " columns " << C << " positions " << has_positions << " documents "
                           << documents << " scale " << scale << " dropout " << probability
                           << " seed " << operands.seed());
  const at::Tensor tokens = at::randint(vocab, {B, T},
                                        at::detail::createCPUGenerator(operands.seed()), at::kInt),
                   word = operands.normal({vocab, C}), out = operands.empty({B * T, C});
  at::Tensor place, starts;
  if (has_positions) place = operands.normal({T, C});
  if (documents) starts = document_starts(B, T);
  const std::int64_t samples[] = {3, 8};
  const operations::Dropout dropout{.probability = probability,
                                    .key = {.seed = 7, .block = 0, .site = 1},
                                    .positions = samples,
                                    .length = T};
  operations::scaled_embedding(out, tokens, word, has_positions ? Tensor(place) : Tensor(), scale,
                               dropout, documents ? Tensor(starts) : Tensor());
  const Doubles ids = doubles(tokens), words = doubles(word), places = doubles(place),
                begins = doubles(starts);
  Doubles want;
  for (std::int64_t r = 0; r < B * T; ++r) {
    std::vector<float> factors(static_cast<std::size_t>(C), 1);
    if (dropout) operations::dropout_factors(dropout, r, C, 0, C, factors.data());
    auto position = static_cast<double>(r % T);
    if (documents) {
      const double begin = begins[static_cast<std::size_t>(r)];
      position = begin < 0 ? 0 : position - begin;
    }
    for (std::int64_t c = 0; c < C; ++c) {
      const auto n = static_cast<double>(C), column = static_cast<double>(c);
      double sum = words[static_cast<std::size_t>(ids[static_cast<std::size_t>(r)] * n + column)];
      if (has_positions) sum += places[static_cast<std::size_t>(position * n + column)];
      want.push_back(sum * scale * factors[static_cast<std::size_t>(c)]);
    }
  }
  CHECK(error(out, want) <= operands.tolerance());
}

TEST_CASE("rows are scaled, also in place") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t C = GENERATE(1, 10, 67);
  Operands operands(type);
  INFO(c10::toString(type) << " columns " << C << " seed " << operands.seed());
  const at::Tensor x = operands.normal({5, C}), y = operands.empty({5, C}), same = x.clone();
  operations::scale_rows(y, x, 12.5);
  Doubles want = doubles(x);
  for (double& v : want) v *= 12.5;
  CHECK(error(y, want) <= operands.tolerance());
  operations::scale_rows(same, same, 12.5);
  CHECK(at::equal(same, y));
}

}  // namespace capped_cross_entropy_test

// The loss of logits of which ranks have some classes each, and its gradient, against those of
// whole rows; and embeddings of which each has some rows of the table.
#include "operations/logit_sums/logit_sums.hpp"
#include "operations/embedding/embedding.hpp"
#include "operations/rows/rows.hpp"
#include "tensor/torch_view.hpp"
#include "torch/operations/double_reference.hpp"
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace logit_sums_test {

using namespace trainx;
using namespace trainx::operations;
using namespace double_reference;

namespace {

constexpr std::int64_t numbers_of_row = 5;

struct Whole {
  at::Tensor gradient;
  double loss = 0, count = 0, correct = 0;
};

Whole of_whole(const at::Tensor& x, const at::Tensor& targets, std::int64_t classes,
               const LossForm& form, double seed) {
  Whole w{x.clone()};
  const std::int64_t rows = x.size(0);
  const at::Tensor row_loss = at::zeros({rows}), loss = at::zeros({1}, at::kDouble),
                   count = at::zeros({1}, at::kDouble), correct = at::zeros({1}, at::kDouble),
                   best = at::zeros({rows}, at::kInt), changed = x.clone();
  change_logits(changed, classes, form.change);
  const auto* const ids = targets.const_data_ptr<std::int32_t>();
  scored_cross_entropy({row_loss, loss, count, false}, {best, correct, {}}, changed, ids, classes);
  w.correct = correct.item<double>();
  summed_cross_entropy_with_gradient({row_loss, loss, count, false}, w.gradient, ids, classes,
                                     {seed, nullptr}, form);
  w.loss = loss.item<double>(), w.count = count.item<double>();
  return w;
}

}  // namespace

TEST_CASE("the loss of parts of the classes is that of all, with its gradient") {
  const std::int64_t ranks = GENERATE(1, 2, 3, 5), classes = GENERATE(7, 12, 40), rows = 9,
                     width = (classes + ranks - 1) / ranks;
  const double scale = GENERATE(1.0, 0.5), cap = GENERATE(0.0, 3.0);
  const auto [smoothing, z_loss] =
      GENERATE(std::pair(0.0, 0.0), std::pair(0.1, 0.0), std::pair(0.2, 1e-2));
  Operands operands(at::kFloat);
  INFO("ranks " << ranks << " classes " << classes << " scale " << scale << " cap " << cap
                << " smoothing " << smoothing << " z " << z_loss << " seed " << operands.seed());
  const at::Tensor x =
      at::constant_pad_nd(operands.normal({rows, classes}, 3), {0, width * ranks - classes}, 77.0);
  at::Tensor targets = at::zeros({rows}, at::kInt);
  std::mt19937_64 random(operands.seed());
  for (std::int64_t r = 0; r < rows; ++r)
    targets[r] = r == 3 ? no_target
                        : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(classes));
  x[1][targets[1].item<int>()] = 50;  // the most probable one
  const LossForm form{{scale, cap}, smoothing, z_loss};
  constexpr double seed = 0.25;
  const Whole whole = of_whole(x, targets, classes, form, seed);
  std::vector<at::Tensor> parts, numbers;
  const auto part_of = [&](std::int64_t p) {
    return LogitPart{std::clamp<std::int64_t>(classes - p * width, 0, width), p * width,
                     form.change};
  };
  for (std::int64_t p = 0; p < ranks; ++p) {
    parts.push_back(x.narrow(1, p * width, width).contiguous());
    numbers.push_back(operands.empty({rows, numbers_of_row}));
    logit_sums(numbers.back(), parts.back(), targets, part_of(p));
  }
  const at::Tensor all = at::stack(numbers), loss = at::zeros({1}, at::kDouble),
                   count = at::zeros({1}, at::kDouble), correct = at::zeros({1}, at::kDouble);
  part_loss({loss, count, correct, false}, all, targets, {classes, smoothing, z_loss});
  CHECK(std::abs(loss.item<double>() - whole.loss) <= 1e-5 * (1 + std::abs(whole.loss)));
  CHECK(count.item<double>() == whole.count);
  CHECK(correct.item<double>() == whole.correct);
  part_loss({loss, count, correct, true}, all, targets, {classes, smoothing, z_loss});
  CHECK(count.item<double>() == 2 * whole.count);
  std::vector<at::Tensor> gradients;
  const double doubled = 2;
  for (std::int64_t p = 0; p < ranks; ++p) {
    const at::Tensor d = operands.empty({rows, numbers_of_row});
    part_loss_backward(d, all, targets, {classes, smoothing, z_loss}, p, {seed / 2, &doubled});
    gradients.push_back(operands.empty({rows, width}));
    logit_sums_backward(gradients.back(), d, numbers[static_cast<std::size_t>(p)],
                        parts[static_cast<std::size_t>(p)], targets, part_of(p));
  }
  CHECK(error(at::cat(gradients, 1), doubles(whole.gradient)) <= 2e-6);
}

TEST_CASE("a target that is no class, and logits that are no numbers, show in the loss") {
  const at::Tensor loss = at::zeros({1}, at::kDouble), count = at::zeros({1}, at::kDouble);
  for (const bool bad_target : {true, false}) {
    const at::Tensor targets = at::full({1}, bad_target ? 9 : 1, at::kInt);
    std::vector<at::Tensor> numbers;
    for (std::int64_t p = 0; p < 2; ++p) {
      at::Tensor x = at::zeros({1, 3});
      if (!bad_target && p == 1) x[0][2] = std::numeric_limits<float>::quiet_NaN();
      numbers.push_back(at::zeros({1, numbers_of_row}));
      logit_sums(numbers.back(), x, targets, {3, 3 * p, {}});
    }
    const at::Tensor all = at::stack(numbers), d = at::zeros({1, numbers_of_row});
    part_loss({loss, count, {}, false}, all, targets, {6, 0, 0});
    CHECK(std::isnan(loss.item<double>()));
    part_loss_backward(d, all, targets, {6, 0, 0}, 0, {1, nullptr});
    CHECK(std::isnan(d.sum().item<double>()));
  }
}

TEST_CASE("what parts of a table embed adds up to the whole table's rows") {
  const std::int64_t ranks = GENERATE(1, 2, 4), rows = 8, columns = 6, B = 2, T = 5;
  const double scale = GENERATE(1.0, 3.0);
  const bool tokens_alone = GENERATE(false, true), documents = GENERATE(false, true);
  Operands operands(at::kFloat);
  INFO("ranks " << ranks << " scale " << scale << " seed " << operands.seed());
  const at::Tensor word = operands.normal({rows, columns}), place = operands.normal({T, columns}),
                   d = operands.normal({B * T, columns});
  at::Tensor tokens = at::zeros({B, T}, at::kInt), starts = at::zeros({B, T}, at::kInt);
  std::mt19937_64 random(operands.seed());
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t) {
      tokens[b][t] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(rows));
      starts[b][t] = t >= 3 ? 3 : 0;
    }
  starts[1][4] = -1;
  const at::Tensor of_starts = documents ? starts : at::Tensor();
  const Tensor where = documents ? Tensor(starts) : Tensor();
  const at::Tensor want = operands.empty({B * T, columns});
  scaled_embedding(want, tokens, word, place, scale, {}, where, tokens_alone);
  at::Tensor sum = at::zeros({B * T, columns});
  std::vector<at::Tensor> gradients;
  const std::int64_t each = rows / ranks, untrained = 2;
  for (std::int64_t p = 0; p < ranks; ++p) {
    const at::Tensor ids = at::zeros({B, T}, at::kInt), out = operands.empty({B * T, columns}),
                     table = word.narrow(0, p * each, each).contiguous();
    ids_of_part(ids, tokens, {p * each, each}, -1);
    EmbeddingPart part{.word = table, .scale = scale, .scales_tokens = tokens_alone};
    if (p == 0) part.position = place, part.starts = where;
    embed_part(out, ids, part);
    sum += out;
    ids_of_part(ids, tokens, {p * each, each}, untrained);
    gradients.push_back(operands.empty({each, columns}));
    embedding_backward_tokens(gradients.back(), d, ids, false, each);
  }
  CHECK(error(sum, doubles(want)) <= 1e-6);
  const at::Tensor d_word = operands.empty({rows, columns});
  embedding_backward_tokens(d_word, d, tokens, false, untrained);
  CHECK(error(at::cat(gradients, 0), doubles(d_word)) <= 1e-6);
}

}  // namespace logit_sums_test

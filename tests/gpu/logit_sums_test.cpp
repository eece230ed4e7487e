#include "kernels/loss/logit_sums.hpp"
#include "gpu/operands.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/embedding/part_ids.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include <algorithm>
#include <array>

namespace logit_sums_test {

using namespace trainx::kernels;

namespace {

std::vector<std::int32_t> targets_of(std::int64_t rows, std::int64_t classes) {
  auto targets = random_integers(rows, classes, 2);
  for (std::int64_t r = 1; r < rows; r += 4) targets[static_cast<std::size_t>(r)] = no_target;
  return targets;
}

template <class T>
void check_sums() {
  for (const std::int64_t rows : {0, 1, 37})
    for (const auto& [columns, classes, first] : {std::array<std::int64_t, 3>{1, 1, 0},
                                                  {40, 40, 0},
                                                  {41, 37, 41},
                                                  {4096, 4000, 4096},
                                                  {16, 0, 32}})
      for (const LogitChange change : {LogitChange{}, LogitChange{0.5, 0}, LogitChange{1, 5}}) {
        INFO("rows " << rows << " columns " << columns << " classes " << classes << " first "
                     << first << " scale " << change.scale << " cap " << change.soft_cap
                     << " bytes " << sizeof(T));
        const auto logits = random_elements<T>(rows * columns, 1, 3.0f);
        const auto targets = targets_of(rows, first + std::max<std::int64_t>(classes, 1));
        std::vector<float> want(static_cast<std::size_t>(rows * LogitNumber::count));
        LogitSums<T> op{rows,          columns,        classes,     first,
                        logits.data(), targets.data(), want.data(), change};
        logit_sums_reference(op, 0, rows);
        const OnDevice<T> x(logits), gradient(std::vector<T>(logits.size()));
        const OnDevice<std::int32_t> t(targets);
        const OnDevice<float> numbers(std::vector<float>(want.size()));
        LogitSums<T> there{rows,     columns,  classes,        first,
                           x.data(), t.data(), numbers.data(), change};
        require_success(logit_sums(there, nullptr), "logit_sums");
        check_close(numbers.host(), want, sizeof(T) == 4 ? 2e-5 : 2e-4, 2e-5, "numbers");
        const auto d = random_elements<float>(rows * LogitNumber::count, 3);
        std::vector<T> of_logits(logits.size());
        logit_sums_gradient_reference(LogitSumsGradient<T>{op, d.data(), of_logits.data()}, 0,
                                      rows);
        const OnDevice<float> d_numbers(d), known(want);
        there.numbers = known.data();
        require_success(
            logit_sums_gradient(LogitSumsGradient<T>{there, d_numbers.data(), gradient.data()},
                                nullptr),
            "logit_sums_gradient");
        check_close(gradient.host(), of_logits, std::max(rounding<T>, 1e-4), 1e-5, "gradient");
      }
}

}  // namespace

TEST_CASE("sums of parts of logits, and their gradients, equal their references", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_sums<float>();
  check_sums<Bf16>();
  check_sums<Fp16>();
}

TEST_CASE("the loss of all parts' sums equals its reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t rows : {0, 1, 5000})
    for (const std::int64_t ranks : {1, 2, 8})
      for (const bool accumulate : {false, true}) {
        INFO("rows " << rows << " ranks " << ranks << " accumulate " << accumulate);
        const std::int64_t classes = 100;
        auto numbers = random_elements<float>(ranks * rows * LogitNumber::count, 1);
        for (std::size_t i = 0; i < numbers.size(); i += LogitNumber::count) {
          numbers[i + LogitNumber::exponentials] = 1 + std::abs(numbers[i + 1]);
          numbers[i + LogitNumber::best] = static_cast<float>(i % 100);
        }
        const auto targets = targets_of(rows, classes);
        double want[3] = {1, 2, 3}, scale = 0.5;
        PartLoss op{rows, ranks, classes, numbers.data(), targets.data(), 0.1, 1e-3};
        part_loss_reference(op, {want, want + 1, want + 2, accumulate});
        const OnDevice<float> n(numbers);
        const OnDevice<std::int32_t> t(targets);
        const OnDevice<double> sums({1, 2, 3}), scales({scale});
        PartLoss there = op;
        there.numbers = n.data(), there.targets = t.data();
        require_success(
            part_loss(there, {sums.data(), sums.data() + 1, sums.data() + 2, accumulate}, nullptr),
            "part_loss");
        const auto got = sums.host();
        check_close(got[0], want[0], 1e-10, 1e-10, "loss");
        CHECK(got[1] == want[1]);
        CHECK(got[2] == want[2]);
        std::vector<float> d(static_cast<std::size_t>(rows * LogitNumber::count));
        part_loss_gradient_reference({op, ranks - 1, 0.25, &scale, d.data()});
        const OnDevice<float> d_there(std::vector<float>(d.size()));
        require_success(
            part_loss_gradient({there, ranks - 1, 0.25, scales.data(), d_there.data()}, nullptr),
            "part_loss_gradient");
        check_close(d_there.host(), d, 1e-6, 1e-9, "gradient of numbers");
      }
}

TEST_CASE("tokens without a row in a part of the table add nothing", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 70, columns = 40, of_part = 16, first = 32;
  const auto tokens = random_integers(rows, 64, 1);
  std::vector<std::int32_t> ids(tokens.size());
  part_ids_reference({rows, tokens.data(), first, of_part, 35, ids.data()});
  const OnDevice<std::int32_t> t(tokens), d_ids(std::vector<std::int32_t>(ids.size()));
  require_success(part_ids({rows, t.data(), first, of_part, 35, d_ids.data()}, nullptr),
                  "part_ids");
  CHECK(d_ids.host() == ids);
  const auto word = random_elements<Bf16>(of_part * columns, 2);
  std::vector<Bf16> want(static_cast<std::size_t>(rows * columns));
  Embedding<Bf16> op{.rows = rows,
                     .columns = columns,
                     .length = 10,
                     .tokens = ids.data(),
                     .word = word.data(),
                     .out = want.data(),
                     .word_rows = of_part};
  scaled_embedding_reference(op, 2.0, {});
  const OnDevice<Bf16> d_word(word), out(std::vector<Bf16>(want.size()));
  op.tokens = d_ids.data(), op.word = d_word.data(), op.out = out.data();
  require_success(scaled_embedding(op, 2.0, {}, nullptr), "scaled_embedding");
  CHECK(same_bits(out.host(), want));
}

}  // namespace logit_sums_test

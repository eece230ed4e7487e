#include "kernels/loss/cross_entropy.hpp"
#include "gpu/operands.hpp"

namespace cross_entropy_test {

using namespace trainx::kernels;

namespace {

template <class T>
struct Batch {
  std::int64_t rows, columns, classes;
  std::vector<T> logits;
  std::vector<std::int32_t> targets;
  Batch(std::int64_t rows_, std::int64_t columns_, std::int64_t classes_)
      : rows(rows_),
        columns(columns_),
        classes(classes_),
        logits(random_elements<T>(rows * columns, 1, 3)),
        targets(random_integers(rows, classes, 2)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      if (r % 5 == 3) targets[r] = no_target;
      // must not count
      for (std::int64_t c = classes; c < columns; ++c) narrow(1e4f, logits[r * columns + c]);
    }
  }
};

template <class T>
struct Results {
  std::vector<T> logits;
  std::vector<float> row_loss;
  double loss = 0, count = 0, correct = 0;
  std::vector<std::int32_t> predictions;
  std::vector<double> confusion;
};

constexpr double seed = 0.37, sum_before = 3.25, count_before = 2;

template <class T>
Results<T> gradient_reference(const Batch<T>& in, bool accumulate) {
  Results<T> out{in.logits, std::vector<float>(in.targets.size()), sum_before, count_before, 0, {},
                 {}};
  cross_entropy_with_gradient_reference(
      CrossEntropy<T>{in.rows, in.columns, in.classes, out.logits.data(), in.targets.data(),
                      out.row_loss.data()},
      {}, seed, {&out.loss, &out.count, accumulate});
  return out;
}
template <class T>
Results<T> gradient_device(const Batch<T>& in, bool accumulate, std::size_t shift) {
  const OnDevice<T> logits(in.logits, shift);
  const OnDevice<std::int32_t> targets(in.targets);
  const OnDevice<float> row_loss{std::vector<float>(in.targets.size())};
  const OnDevice<double> sums(std::vector<double>{sum_before, count_before});
  const Folding folding(0);
  require_success(
      cross_entropy_with_gradient(CrossEntropy<T>{in.rows, in.columns, in.classes, logits.data(),
                                                  targets.data(), row_loss.data()},
                                  {}, seed, {sums.data(), sums.data() + 1, accumulate},
                                  folding.memory().counters, nullptr),
      "cross_entropy_with_gradient");
  folding.check();
  return {logits.host(), row_loss.host(), sums.host()[0], sums.host()[1], 0, {}, {}};
}

template <class T>
Results<T> loss_reference(Batch<T> in, bool accumulate, bool predict, bool confuse) {
  Results<T> out{in.logits, std::vector<float>(in.targets.size()),        sum_before, count_before,
                 1,         std::vector<std::int32_t>(in.targets.size()), {}};
  if (confuse) out.confusion.assign(static_cast<std::size_t>(in.classes * in.classes), 2);
  cross_entropy_reference(
      CrossEntropy<T>{in.rows, in.columns, in.classes, in.logits.data(), in.targets.data(),
                      out.row_loss.data()},
      {&out.loss, &out.count, accumulate},
      {predict ? out.predictions.data() : nullptr, predict ? &out.correct : nullptr,
       confuse ? out.confusion.data() : nullptr});
  return out;
}
template <class T>
Results<T> loss_device(const Batch<T>& in, bool accumulate, bool predict, bool confuse,
                       std::size_t shift) {
  const OnDevice<T> logits(in.logits, shift);
  const OnDevice<std::int32_t> targets(in.targets),
      predictions{std::vector<std::int32_t>(in.targets.size())};
  const OnDevice<float> row_loss{std::vector<float>(in.targets.size())};
  const OnDevice<double> sums(std::vector<double>{sum_before, count_before, 1}),
      confusion(
          std::vector<double>(confuse ? static_cast<std::size_t>(in.classes * in.classes) : 0, 2));
  const Folding folding(0);
  require_success(
      cross_entropy(CrossEntropy<T>{in.rows, in.columns, in.classes, logits.data(), targets.data(),
                                    row_loss.data()},
                    {sums.data(), sums.data() + 1, accumulate},
                    {predict ? predictions.data() : nullptr, predict ? sums.data() + 2 : nullptr,
                     confuse ? confusion.data() : nullptr},
                    folding.memory().counters, nullptr),
      "cross_entropy");
  folding.check();
  return {logits.host(),  row_loss.host(),    sums.host()[0],  sums.host()[1],
          sums.host()[2], predictions.host(), confusion.host()};
}

template <class T>
void compare(std::int64_t rows, std::int64_t columns, std::int64_t classes, std::size_t shift) {
  const Batch<T> in(rows, columns, classes);
  for (const bool accumulate : {false, true}) {
    INFO("rows " << rows << " columns " << columns << " classes " << classes << " shift " << shift
                 << " accumulate " << accumulate << " bytes " << sizeof(T));
    {
      const auto want = gradient_reference(in, accumulate),
                 got = gradient_device(in, accumulate, shift);
      check_close(got.logits, want.logits, rounding<T>, 1e-7, "gradient");
      check_close(got.row_loss, want.row_loss, 1e-6, 2e-6, "row loss");
      check_close(got.loss, want.loss, 1e-6, 1e-6 * std::sqrt(static_cast<double>(in.rows)),
                  "loss");
      CHECK(got.count == want.count);
    }
    const bool predict = (rows + accumulate) % 2 == 0, confuse = predict && classes <= 16;
    const auto want = loss_reference(in, accumulate, predict, confuse),
               got = loss_device(in, accumulate, predict, confuse, shift);
    CHECK(same_bits(got.logits, in.logits));
    check_close(got.row_loss, want.row_loss, 1e-6, 2e-6, "row loss");
    check_close(got.loss, want.loss, 1e-6, 1e-6 * std::sqrt(static_cast<double>(in.rows)), "loss");
    CHECK((got.count == want.count && got.correct == want.correct &&
           got.predictions == want.predictions && same_bits(got.confusion, want.confusion)));
  }
}

template <class T>
void check_sizes() {
  const std::int64_t rows = GENERATE(0, 1, 2, 9, 300);
  const std::pair<std::int64_t, std::int64_t> widths[] = {
      {1, 1},       {2, 2},       {8, 3},       {8, 8},       {13, 13},      {64, 57},
      {1000, 1000}, {1003, 1001}, {4096, 4090}, {8200, 8193}, {30528, 30522}};
  for (const auto& [columns, classes] : widths)
    for (const std::size_t shift : {0u, 1u}) compare<T>(rows, columns, classes, shift);
}

}  // namespace

TEMPLATE_TEST_CASE("cross-entropy equals its reference for all sizes and alignments", "[gpu]",
                   float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_sizes<TestType>();
}

TEST_CASE("cross-entropy of GPT-2's vocabulary, and of one too wide for shared memory", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t rows : {1, 700}) {
    compare<Bf16>(rows, 50304, 50257, 0);
    compare<Fp16>(rows, 50304, 50257, 0);
    compare<float>(rows, 50304, 50257, 0);
  }
  compare<Bf16>(140, 151936, 151936, 0);
  compare<float>(140, 128256, 128250, 0);
}

TEST_CASE(
    "logits of minus infinity have probability 0; rows of NaN and targets outside the classes give "
    "NaN",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const float inf = std::numeric_limits<float>::infinity();
  Batch<float> in(300, 50304, 50257);
  for (std::int64_t c = 0; c < 40'000; ++c) in.logits[5 * in.columns + c] = -inf;
  in.targets[5] = 40'001;
  in.logits[6 * in.columns + 777] = std::numeric_limits<float>::quiet_NaN();
  in.targets[7] = 50'257;
  in.targets[9] = -5;
  in.logits[10 * in.columns + 50'000] = 500;
  in.targets[10] = 50'000;
  const auto want = gradient_reference(in, false), got = gradient_device(in, false, 0);
  check_close(got.logits, want.logits, 1e-5, 1e-7, "gradient");
  check_close(got.row_loss, want.row_loss, 1e-6, 2e-6, "row loss");
  CHECK((std::isnan(got.loss) && !std::isnan(got.row_loss[5]) && std::isnan(got.row_loss[6]) &&
         std::isnan(got.row_loss[7]) && std::isnan(got.row_loss[9])));
  CHECK(got.row_loss[10] < 1e-6f);
}

TEST_CASE("the first of equal logits is the prediction; NaN is never", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Batch<float> in(4, 1000, 1000);
  for (float& x : in.logits) x = 1;
  in.logits[3] = std::numeric_limits<float>::quiet_NaN();
  in.logits[0] = 0;
  in.logits[1 * 1000 + 998] = in.logits[1 * 1000 + 17] = 2;
  in.targets = {1, 17, 0, 0};
  const auto got = loss_device(in, false, true, false, 0);
  CHECK(got.predictions == std::vector<std::int32_t>{1, 17, 0, 0});
  CHECK(got.correct == 4);
}

TEST_CASE("repeats of cross-entropy give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Batch<Bf16> in(1500, 50304, 50257);
  const auto first = gradient_device(in, false, 0);
  const auto first_loss = loss_device(in, false, true, false, 0);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto again = gradient_device(in, false, 0);
    CHECK((same_bits(again.logits, first.logits) && same_bits(again.row_loss, first.row_loss) &&
           again.loss == first.loss && again.count == first.count));
    const auto again_loss = loss_device(in, false, true, false, 0);
    CHECK((same_bits(again_loss.row_loss, first_loss.row_loss) &&
           again_loss.loss == first_loss.loss && again_loss.correct == first_loss.correct));
  }
}

}  // namespace cross_entropy_test

// The references of the kernels give the bits of what the CPU trains with, and the formulas.
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "kernels/optimizer/squared_norm.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/philox.hpp"
#include "operations/dropout/dropout.hpp"
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/adamw_anyprecision.hpp"
#include "optim/lion.hpp"
#include "tensor/random_key.hpp"
#include "group_fixture.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

namespace kernel_references_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

// The group as the kernels see it: a range for each tensor, the large one cut in two.
struct KernelTable {
  std::vector<kernels::UpdateRange> ranges;
  std::vector<kernels::Chunk> chunks;
  explicit KernelTable(GroupFixture& f) {
    const auto add = [&](std::int64_t begin, std::int64_t elements, bool decays) {
      kernels::UpdateRange r{f.gradient.data() + begin,
                             f.dtype == DType::f32 ? static_cast<void*>(f.exact.data() + begin)
                                                   : f.bf16.data() + begin,
                             nullptr,
                             {},
                             elements,
                             decays,
                             {f.rounding_seed.value_or(0), 5, begin}};
      for (std::size_t k = 0; k < f.states.size(); ++k)
        if (f.states[k].layout.entries == f.group.elements)
          r.states[k] = static_cast<std::byte*>(f.states[k].data()) +
                        begin * size_of(f.states[k].spec.dtype);
      if (f.kind == Master::fp32) r.master = f.exact.data() + begin;
      if (f.kind == Master::split) r.master = f.low.data() + begin;
      ranges.push_back(r);
    };
    for (const auto& p : f.group.parameters) {
      const std::int64_t half = p.dims[0] / 2;
      add(p.offset, half, p.decay);
      add(p.offset + half, p.dims[0] - half, p.decay);
    }
    std::vector<std::int64_t> elements;
    for (const auto& r : ranges) elements.push_back(r.elements);
    chunks = kernels::chunks_of(elements);
  }
  kernels::UpdateTable table() const {
    return {ranges.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())};
  }
};

}  // namespace

namespace {

// Ten steps by the CPU's optimizer and by the kernel's reference: the sixth with an infinite
// gradient, the eighth without targets, every second clipped.
template <class Options, class Reference>
void check_reference(const Options& options, Reference run_reference, bool bf16_alone = false) {
  const auto [dtype, master, kind] =
      GENERATE(std::tuple{DType::f32, Master::absent, kernels::WeightKind::fp32},
               std::tuple{DType::bf16, Master::absent, kernels::WeightKind::bf16},
               std::tuple{DType::bf16, Master::fp32, kernels::WeightKind::bf16_with_master},
               std::tuple{DType::bf16, Master::split, kernels::WeightKind::bf16_split},
               std::tuple{DType::f16, Master::fp32, kernels::WeightKind::fp16_with_master},
               std::tuple{DType::bf16, Master::absent, kernels::WeightKind::bf16_stochastic});
  const std::int64_t n = GENERATE(1, 129, 20003);
  if (bf16_alone && kind != kernels::WeightKind::bf16) return;
  GroupFixture cpu(n, options, dtype, master, 31);
  if (kind == kernels::WeightKind::bf16_stochastic) cpu.rounding_seed = 0x123456789abcdefull;
  GroupFixture reference = cpu;
  const auto optimizer = make_optimizer(options);
  const std::vector<double> lr_table{1e-3, 2e-3, 3e-3, 4e-3};
  for (std::int64_t step = 0; step < 10; ++step) {
    cpu.new_gradient(3100 + static_cast<unsigned>(step));
    if (step == 5) cpu.gradient[0] = std::numeric_limits<float>::infinity();
    reference.gradient = cpu.gradient;
    StepScalars s;
    s.norm2 = squared_norm(cpu.group, cpu.gradient.data());
    s.applied_steps = step;
    s.lr = lr_table[static_cast<std::size_t>(std::min<std::int64_t>(step, 3))];
    s.max_grad_norm = step % 2 ? 0.5 : 0;
    const double count = step == 7 ? 0 : 96;
    // a step without targets is one without a gradient
    s.gradient_scale = count > 0 ? 128 / count : 0;
    optimizer->update(cpu.memory(), s);
    const KernelTable table(reference);
    run_reference(table.table(), kind,
                  kernels::UpdateScalars{&s.norm2, &count, &step, lr_table.data(), 4},
                  kernels::ScaleSettings{128, s.max_grad_norm});
  }
  CHECK(same_bits(cpu.exact, reference.exact));
  CHECK(same_bits(cpu.bf16, reference.bf16));
  CHECK(same_bits(cpu.low, reference.low));
  for (std::size_t k = 0; k < cpu.states.size(); ++k)
    CHECK(same_bits(cpu.states[k], reference.states[k]));
  CHECK(std::isfinite(reference.weights()[0]));
}

}  // namespace

TEST_CASE("the adamw kernel's reference gives the bits of the CPU's optimizer") {
  const options::AdamWOptions o{0.9, 0.95, 1e-8, 0.1};
  check_reference(o, [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
    kernels::adamw_reference(table, kind, scalars,
                             {o.beta1, o.beta2, o.eps, o.weight_decay, scale});
  });
}

TEST_CASE("the sgd kernel's reference gives the bits of the CPU's optimizer") {
  const auto o = GENERATE(options::SgdOptions{0, false, 0}, options::SgdOptions{0, false, 0.1},
                          options::SgdOptions{0.9, false, 0.1}, options::SgdOptions{0.9, true, 0});
  check_reference(o, [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
    kernels::sgd_reference(table, kind, scalars, {o.momentum, o.nesterov, o.weight_decay, scale});
  });
}

namespace {

template <class Settings>
Settings scaled(Settings settings, const kernels::ScaleSettings& scale) {
  settings.scale = scale;
  return settings;
}

}  // namespace

TEST_CASE("the kernels' references of the other rules give the bits of the CPU's optimizers") {
  SECTION("adam") {
    const options::AdamOptions o{0.9, 0.95, 1e-8, 0.1};
    check_reference(o, [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
      kernels::adam_reference(table, kind, scalars, scaled(settings_of(o), scale));
    });
  }
  SECTION("adagrad") {
    const options::AdagradOptions o{0.1, 0.5, 1e-10, 0.1};
    check_reference(o, [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
      kernels::adagrad_reference(table, kind, scalars, scaled(settings_of(o), scale));
    });
  }
  SECTION("lion") {
    const options::LionOptions o{0.9, 0.99, 0.1};
    check_reference(o, [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
      kernels::lion_reference(table, kind, scalars, scaled(settings_of(o), scale));
    });
  }
  SECTION("adamw_anyprecision") {
    using options::StateDtype;
    options::AdamWAnyPrecisionOptions o{0.9, 0.95, 1e-8, 0.1};
    o.momentum_dtype = GENERATE(StateDtype::fp32, StateDtype::bf16);
    o.variance_dtype = GENERATE(StateDtype::fp32, StateDtype::bf16);
    o.use_kahan_summation = GENERATE(false, true);
    check_reference(
        o,
        [&](const auto& table, auto kind, const auto& scalars, const auto& scale) {
          kernels::adamw_anyprecision_reference(table, kind, scalars,
                                                scaled(settings_of(o), scale));
        },
        o.use_kahan_summation);
  }
}

TEST_CASE("the norm kernel's reference sums the squares of all ranges") {
  GroupFixture f(20003, 0, DType::f32, Master::absent, 1);
  f.new_gradient(3);
  std::vector<kernels::NormRange> ranges;
  std::vector<std::int64_t> elements;
  for (const auto& p : f.group.parameters) {
    ranges.push_back({f.gradient.data() + p.offset, p.dims[0]});
    elements.push_back(p.dims[0]);
  }
  const auto chunks = kernels::chunks_of(elements);
  double norm2 = -1;
  kernels::squared_norm_reference(
      {ranges.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())}, &norm2);
  CHECK(std::abs(norm2 - squared_norm(f.group, f.gradient.data())) <= 1e-12 * norm2);
  kernels::squared_norm_reference({}, &norm2);
  CHECK(norm2 == 0);
}

TEST_CASE(
    "the kernels' random words are those of the random keys, and of the paper's known answers") {
  const auto zeros = kernels::philox({{0, 0, 0, 0}}, 0);
  CHECK((zeros.at[0] == 0x6627e8d5 && zeros.at[1] == 0xe169c58d && zeros.at[2] == 0xbc57ac4c &&
         zeros.at[3] == 0x9b00dbd8));
  const auto seven = kernels::philox<7>({{0, 0, 0, 0}}, 0);
  CHECK((seven.at[0] == 0x5f6fb709 && seven.at[1] == 0x0d893f64 && seven.at[2] == 0x4f121f81 &&
         seven.at[3] == 0x4f730a48));
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t a = random(), b = random(), key = random();
    const std::uint32_t c[4] = {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
                                static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32)};
    const auto words = kernels::philox({{c[0], c[1], c[2], c[3]}}, key);
    const auto want =
        tensor::philox({c[0], c[1], c[2], c[3]},
                       {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
    CHECK(std::equal(want.begin(), want.end(), words.at));
  }
}

TEST_CASE("attention's dropout keeps as many probabilities as it is asked to, neighbours apart") {
  const double asked = GENERATE(0.1, 0.5, 0.999, 1e-9);
  const std::int64_t positions[] = {3, 1ll << 40};
  const kernels::AttentionDropout dropout =
      kernels::attention_dropout({{asked, 0x123456789abcdef, 5, 3}, positions});
  const double probability = dropout.threshold / 65536.0;
  CHECK(std::abs(probability - asked) <= 0.5 / 65536);
  CHECK(dropout.scale == static_cast<float>(1 / (1 - probability)));
  constexpr std::int64_t heads = 3, tokens = 128;
  std::vector<double> kept;  // 1 or 0, less what is expected
  for (const std::int64_t position : positions)
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t query = 0; query < tokens; ++query) {
        const auto of_query = kernels::dropped_query(dropout, position, head, query);
        for (std::int64_t key = 0; key < tokens; ++key) {
          const float factor = kernels::dropped_factor(
              dropout, kernels::dropped_words(dropout, of_query, key / 8), key);
          CHECK((factor == 0 || factor == dropout.scale));
          kept.push_back((factor != 0) - (1 - probability));
        }
      }
  // neighbours, both halves of a word, all words of a draw, draws, queries, heads, samples: all
  // within 5 standard deviations
  const auto n = kept.size();
  const double variance = probability * (1 - probability);
  CHECK(std::abs(std::accumulate(kept.begin(), kept.end(), 0.0)) <=
        5 * std::sqrt(variance * static_cast<double>(n)));
  for (const std::size_t apart : {1, 2, 4, 8, 16, 128, 128 * 128, 3 * 128 * 128}) {
    double products = 0;
    for (std::size_t i = 0; i + apart < n; ++i) products += kept[i] * kept[i + apart];
    CAPTURE(apart);
    CHECK(std::abs(products) <= 5 * variance * std::sqrt(static_cast<double>(n)));
  }
}

TEST_CASE("the dropout kernel's reference drops the elements that the CPU's operation drops") {
  const std::int64_t columns = GENERATE(1, 3, 4, 7, 64, 129);
  const double probability = GENERATE(0.0, 0.1, 0.5);
  const std::int64_t positions[] = {3, 1ll << 40, 7};
  // from the middle of the first sample into the third
  const std::int64_t length = 5, first_row = 3, rows = 9;
  const tensor::RandomKey key{0x123456789abcdefull, 11, 2};
  const operations::Dropout want{probability, key, positions, length, first_row};
  const auto n = static_cast<std::size_t>(rows * columns);
  std::vector<float> in(n, 1.0f), out(n, -1.0f), factors(n);
  kernels::dropout_reference(out.data(), in.data(), {positions, length, columns, first_row, rows},
                             {probability, key.seed, key.block, key.site});
  for (std::int64_t r = 0; r < rows; ++r)
    operations::dropout_factors(want, r, columns, 0, columns, factors.data() + r * columns);
  CHECK(same_bits(out, factors));
}

}  // namespace kernel_references_test

#include "core/half.hpp"
// What all optimizers promise: kinds of masters, guard, clipping, gaps, independence of the number
// of threads.
#include <ATen/Parallel.h>
#include "group_fixture.hpp"
#include "support/catch.hpp"

namespace optimizer_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

options::AdamWAnyPrecisionOptions any_precision() {
  options::AdamWAnyPrecisionOptions o;
  o.momentum_dtype = options::StateDtype::bf16;
  o.weight_decay = 0.1;
  return o;
}
options::AdafactorOptions adafactor(bool with_momentum) {
  options::AdafactorOptions o;
  o.weight_decay = 0.1;
  if (with_momentum) o.beta1 = 0.9;
  return o;
}
const options::OptimizerOptions optimizers[] = {options::AdamWOptions{0.9, 0.99, 1e-8, 0.1},
                                                options::SgdOptions{},
                                                options::SgdOptions{0.9, false, 0.1},
                                                options::SgdOptions{0.9, true, 0.1},
                                                options::AdamOptions{0.9, 0.99, 1e-8, 0.1},
                                                options::AdagradOptions{0.1, 0.1, 1e-10, 0.1},
                                                options::LionOptions{0.9, 0.99, 0.1},
                                                any_precision(),
                                                options::AdamW8bitOptions{},
                                                adafactor(false),
                                                adafactor(true),
                                                options::LambOptions{}};
constexpr int optimizer_count = static_cast<int>(std::size(optimizers));

enum class Gradients { fp32, rounded, bf16 };  // rounded: what bf16 holds, in fp32

void run(GroupFixture& f, const options::OptimizerOptions& o, unsigned steps, unsigned seed,
         Gradients gradients = Gradients::fp32) {
  const auto optimizer = make_optimizer(o);
  for (unsigned step = 0; step < steps; ++step) {
    f.new_gradient(seed + step);
    std::vector<std::uint16_t> bf16;
    for (float& g : f.gradient) bf16.push_back(round_to_bf16(g));
    for (std::size_t i = 0; gradients != Gradients::fp32 && i < bf16.size(); ++i)
      if (f.used[i]) f.gradient[i] = widen_bf16(bf16[i]);
    StepScalars s;
    s.norm2 = squared_norm(f.group, f.gradient.data());
    s.gradient_scale = 1.5;
    s.applied_steps = step;
    s.lr = 3e-3;
    s.max_grad_norm = 1;
    GroupMemory memory = f.memory();
    if (gradients == Gradients::bf16)
      memory.gradient = bf16.data(), memory.gradient_dtype = DType::bf16;
    optimizer->update(memory, s);
  }
}

bool same_state(const GroupFixture& a, const GroupFixture& b) {
  bool same = same_bits(a.exact, b.exact) && same_bits(a.bf16, b.bf16) && same_bits(a.low, b.low);
  for (std::size_t s = 0; s < a.states.size(); ++s)
    same = same && same_bits(a.states[s], b.states[s]);
  return same;
}

}  // namespace

TEST_CASE("16-bit weights with an fp32 or a split master train bit for bit like fp32") {
  const auto& o = optimizers[GENERATE(range(0, optimizer_count))];
  const std::int64_t n = GENERATE(1, 127, 128, 129, 100003);
  GroupFixture fp32(n, o, DType::f32, Master::absent, 5),
      master(n, o, DType::bf16, Master::fp32, 5), split(n, o, DType::bf16, Master::split, 5),
      half(n, o, DType::f16, Master::fp32, 5);
  run(fp32, o, 50, 500);
  run(master, o, 50, 500);
  run(split, o, 50, 500);
  run(half, o, 50, 500);
  const auto exact = fp32.weights(), with_master = master.weights(), with_split = split.weights();
  for (std::size_t i = 0; i < exact.size(); ++i)
    if (fp32.used[i] && !(exact[i] == with_master[i] && exact[i] == with_split[i] &&
                          master.bf16[i] == split.bf16[i] && half.exact[i] == exact[i] &&
                          half.bf16[i] == round_to_f16(exact[i])))
      FAIL("n " << n << " element " << i);
  for (std::size_t s = 0; s < fp32.states.size(); ++s) {
    CHECK(same_bits(fp32.states[s], master.states[s]));
    CHECK(same_bits(fp32.states[s], split.states[s]));
    CHECK(same_bits(fp32.states[s], half.states[s]));
  }
  CHECK(master.gaps_untouched());
  CHECK(split.gaps_untouched());
}

TEST_CASE(
    "gradients in bf16 give the bits of the same gradients in fp32, and others than exact ones") {
  const auto& o = optimizers[GENERATE(range(0, optimizer_count))];
  const auto [dtype, kind] =
      GENERATE(std::pair{DType::f32, Master::absent}, std::pair{DType::bf16, Master::absent},
               std::pair{DType::bf16, Master::fp32}, std::pair{DType::bf16, Master::split},
               std::pair{DType::f16, Master::fp32});
  const std::int64_t n = GENERATE(1, 129, 16384, 100003);
  GroupFixture widened(n, o, dtype, kind, 5), bf16(n, o, dtype, kind, 5),
      exact(n, o, dtype, kind, 5);
  run(widened, o, 3, 500, Gradients::rounded);
  run(bf16, o, 3, 500, Gradients::bf16);
  run(exact, o, 3, 500);
  CHECK(same_state(bf16, widened));
  CHECK(bf16.gaps_untouched());
  // else bf16 weights may hide it
  const bool is_exact = dtype == DType::f32 || kind != Master::absent;
  if (n > 1 && is_exact) CHECK_FALSE(same_state(bf16, exact));
}

TEST_CASE("bf16 alone follows fp32 as far as its digits go") {
  const auto& o = optimizers[GENERATE(range(0, optimizer_count))];
  GroupFixture fp32(1000, o, DType::f32, Master::absent, 5),
      bf16(1000, o, DType::bf16, Master::absent, 5);
  run(fp32, o, 1, 500);
  run(bf16, o, 1, 500);
  const auto weights = bf16.weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (fp32.used[i] &&
        !(std::abs(weights[i] - fp32.exact[i]) <= 0.011f * (std::abs(fp32.exact[i]) + 1e-2f)))
      FAIL("element " << i);
  CHECK(bf16.gaps_untouched());
}

TEST_CASE("nothing non-finite reaches weights or states") {
  const auto& o = optimizers[GENERATE(range(0, optimizer_count))];
  const auto kind = GENERATE(Master::absent, Master::fp32, Master::split);
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  GroupFixture f(300, o, kind == Master::absent ? DType::f32 : DType::bf16, kind, 9);
  run(f, o, 2, 900);
  const GroupFixture before = f;
  f.new_gradient(1);
  f.gradient[0] = GENERATE(std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN());
  StepScalars s;
  s.lr = 1e-2;
  s.max_grad_norm = GENERATE(0.0, 1.0);
  s.norm2 = squared_norm(f.group, f.gradient.data());
  CHECK_FALSE(std::isfinite(s.norm2));
  const auto optimizer = make_optimizer(o);
  optimizer->update(f.memory(), s);
  CHECK(same_state(f, before));
  f.new_gradient(1);
  for (const auto& [norm2, scale] :
       {std::pair{nan, 1.0}, {inf, 1.0}, {1.0, inf}, {0.0, inf}, {1.0, nan}}) {
    s.norm2 = norm2;
    s.gradient_scale = scale;
    optimizer->update(f.memory(), s);
    CHECK(same_state(f, before));
  }
  s.norm2 = squared_norm(f.group, f.gradient.data());
  s.gradient_scale = 1;
  optimizer->update(f.memory(), s);
  CHECK_FALSE(same_state(f, before));
}

TEST_CASE("clipping scales by max_norm / (norm + 1e-6), and only above it") {
  GroupFixture f(4, 0, DType::f32, Master::absent, 1);
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i]) f.exact[i] = 0, f.gradient[i] = 0;
  f.gradient[0] = 3;
  f.gradient[1] = 4;
  StepScalars s;
  s.norm2 = squared_norm(f.group, f.gradient.data());
  CHECK(s.norm2 == 25);
  s.lr = 1;
  s.gradient_scale = 2;
  const auto sgd = make_optimizer(options::SgdOptions{});
  for (const double limit : {0.0, 20.0, 10.0 + 1e-6, 1.0}) {
    f.exact[0] = f.exact[1] = 0;
    s.max_grad_norm = limit;
    sgd->update(f.memory(), s);
    const double factor = limit == 1.0 ? 1 / (10 + 1e-6) : 1;
    CHECK(std::abs(f.exact[0] + 6 * factor) <= 1e-6);
    CHECK(std::abs(f.exact[1] + 8 * factor) <= 1e-6);
  }
}

TEST_CASE("the number of threads changes no bit") {
  const auto& o = optimizers[GENERATE(range(0, optimizer_count))];
  const int before = at::get_num_threads();
  std::vector<GroupFixture> runs;
  std::vector<double> norms;
  for (const int threads : {1, 2, 3, 7}) {
    at::set_num_threads(threads);
    runs.emplace_back(100003, o, DType::bf16, Master::split, 4);
    run(runs.back(), o, 3, 400);
    norms.push_back(squared_norm(runs.back().group, runs.back().gradient.data()));
  }
  at::set_num_threads(before);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    CHECK(same_state(runs[i], runs[0]));
    CHECK(norms[i] == norms[0]);
  }
}

TEST_CASE("the squared norm is that of the tensors, without the gaps") {
  const std::int64_t n = GENERATE(1, 7, 8, 9, 127, 16384, 16385, 100003);
  GroupFixture f(n, 0, DType::f32, Master::absent, 2);
  f.new_gradient(static_cast<unsigned>(n));
  long double want = 0;
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i])
      want += static_cast<long double>(f.gradient[i]) * static_cast<long double>(f.gradient[i]);
  CHECK(std::abs(squared_norm(f.group, f.gradient.data()) - static_cast<double>(want)) <=
        1e-13 * static_cast<double>(want));
  f.gradient[0] = 3e38f;  // beyond fp32 when squared
  CHECK(squared_norm(f.group, f.gradient.data()) >= 9e76 * 0.99);
}

}  // namespace optimizer_test

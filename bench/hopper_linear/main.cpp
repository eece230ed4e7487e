// Checks and times linear layers with an activation on Hopper; needs a GPU of compute capability
// 9.0.
//   hopper_linear            all groups, each in a process of its own with a time limit
//   hopper_linear GROUP      one of: products repeats times summed
// Ends with 0 if all checks are good. Times are sustained, by turns with cuBLASLt's.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>
#include "bench/hopper_attention/groups.hpp"
#include "bench/hopper_linear/summed.hpp"
#include "bench/kernels/sustained.hpp"
#include "gpu/gemm.hpp"
#include "kernels/activation/pointwise.hpp"
#include "kernels/activation/value_and_slope_reference.hpp"
#include "kernels/linear/hopper/activated_linear.hpp"
#include "kernels/reduce/column_sum.hpp"

namespace trainx::bench {
namespace {

using kernels::ActivationKind, kernels::Fp16;

std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t seed, float deviation = 1) {
  Random random(seed);
  std::vector<T> to(count(n));
  for (T& x : to) kernels::narrow(deviation * random.normal(), x);
  return to;
}
double number(float x) { return static_cast<double>(x); }
template <class T>
double number(T x) {
  return static_cast<double>(kernels::widened(x));
}

struct Shape {
  std::int64_t rows, in, out;
  std::string name() const {
    return "rows " + std::to_string(rows) + ", in " + std::to_string(in) + ", out " +
           std::to_string(out);
  }
};

constexpr std::int64_t guard = 4096;  // elements behind results that nobody writes

const char* name_of(ActivationKind kind) {
  return kind == ActivationKind::gelu_tanh ? "tanh" : "erf";
}
template <class T>
constexpr const char* type_name = std::is_same_v<T, Bf16> ? "bf16" : "fp16";
template <class T>
constexpr double half_step = std::is_same_v<T, Bf16> ? 1.0 / 256 : 1.0 / 2048;

/// Is what lies behind a result still spoilt?
template <class T>
bool guarded(const std::vector<T>& values, std::int64_t used) {
  for (std::size_t i = count(used); i < values.size(); ++i)
    if (values[i].bits != 0xffff) return false;
  return true;
}

template <class T>
void check_forward(Checks& checks, const Shape& s, ActivationKind kind, bool biased) {
  const auto x = random_values<T>(s.rows * s.in, 1),
             weight = random_values<T>(s.out * s.in, 2, 1 / std::sqrt(static_cast<float>(s.in))),
             bias = random_values<T>(s.out, 3);
  const Device<T> dx(x), dw(weight), db(bias);
  Device<T> sum(count(s.rows * s.out + guard)), activated(count(s.rows * s.out + guard));
  sum.spoil(), activated.spoil();
  require(kernels::hopper::activated_linear<T>(
              {s.rows, s.in, s.out, dx.get(), dw.get(), biased ? db.get() : nullptr, sum.get(),
               activated.get()},
              kind, nullptr),
          "activated_linear");
  const auto sums = sum.host(), values = activated.host();
  Random random(4);
  int wrong = 0;
  const int samples = static_cast<int>(std::min<std::int64_t>(20000, s.rows * s.out));
  for (int i = 0; i < samples; ++i) {
    const bool last = i % 4 == 0;  // of the last tiles
    const std::int64_t row = random.whole(
                           last ? static_cast<int>(std::max<std::int64_t>(0, s.rows - 130)) : 0,
                           static_cast<int>(s.rows) - 1),
                       column = random.whole(0, static_cast<int>(s.out) - 1);
    double sum_of = biased ? number(bias[count(column)]) : 0, size = std::abs(sum_of);
    for (std::int64_t k = 0; k < s.in; ++k) {
      const double product = number(x[count(row * s.in + k)]) *
                             number(weight[count(column * s.in + k)]);
      sum_of += product, size += std::abs(product);
    }
    const double found = number(sums[count(row * s.out + column)]),
                 value = number(values[count(row * s.out + column)]);
    const auto expected = kernels::exact_value_and_slope(kind, found);
    const bool good = std::abs(found - sum_of) <= half_step<T> * std::abs(sum_of) + 2e-6 * size &&
                      std::abs(value - expected.value) <=
                          1.05 * half_step<T> * std::abs(expected.value) + 2e-6;
    if (!good && wrong++ < 5)
      std::printf("    [%ld, %ld]: sum %.6g, found %.6g; %s of it %.6g, found %.6g\n",
                  static_cast<long>(row), static_cast<long>(column), sum_of, found, name_of(kind),
                  expected.value, value);
  }
  checks.say(wrong == 0 && guarded(sums, s.rows * s.out) && guarded(values, s.rows * s.out),
             std::string(type_name<T>) + " forward, " + name_of(kind) + ", " + s.name() +
                 (biased ? ", bias" : ""));
}

template <class T>
void check_backward(Checks& checks, const Shape& s, ActivationKind kind, bool summed) {
  const auto dy = random_values<T>(s.rows * s.out, 1),
             weight = random_values<T>(s.out * s.in, 2, 1 / std::sqrt(static_cast<float>(s.out))),
             x = random_values<T>(s.rows * s.in, 3, 2);
  const Device<T> d_dy(dy), d_weight(weight), d_x(x);
  Device<T> dx(count(s.rows * s.in + guard));
  dx.spoil();
  const std::int64_t slabs = kernels::hopper::activated_linear_slabs(s.rows);
  Device<float> sums(count(slabs * s.in));
  sums.spoil();
  require(kernels::hopper::activated_linear_backward<T>(
              {s.rows, s.in, s.out, d_dy.get(), d_weight.get(), d_x.get(), dx.get(),
               summed ? sums.get() : nullptr},
              kind, nullptr),
          "activated_linear_backward");
  const auto found = dx.host();
  Random random(4);
  int wrong = 0;
  const int samples = static_cast<int>(std::min<std::int64_t>(20000, s.rows * s.in));
  for (int i = 0; i < samples; ++i) {
    const bool last = i % 4 == 0;
    const std::int64_t row = random.whole(
                           last ? static_cast<int>(std::max<std::int64_t>(0, s.rows - 130)) : 0,
                           static_cast<int>(s.rows) - 1),
                       column = random.whole(0, static_cast<int>(s.in) - 1);
    double product_sum = 0, size = 0;
    for (std::int64_t k = 0; k < s.out; ++k) {
      const double product = number(dy[count(row * s.out + k)]) *
                             number(weight[count(k * s.in + column)]);
      product_sum += product, size += std::abs(product);
    }
    const double slope =
        kernels::exact_value_and_slope(kind, number(x[count(row * s.in + column)])).slope;
    const double value = number(found[count(row * s.in + column)]);
    // rounded twice; quick_slope; smallest numbers of fp16
    const double slope_error = std::is_same_v<T, Bf16> && kind == ActivationKind::gelu_tanh ? 1.5e-3
                                                                                            : 4e-6;
    const bool good = std::abs(value - product_sum * slope) <=
                      2.1 * half_step<T> * std::abs(product_sum * slope) +
                          2e-6 * size * std::abs(slope) + slope_error * std::abs(product_sum) +
                          6e-8;
    if (!good && wrong++ < 5)
      std::printf("    [%ld, %ld]: expected %.6g, found %.6g\n", static_cast<long>(row),
                  static_cast<long>(column), product_sum * slope, value);
  }
  if (summed) {
    const auto partial = sums.host();
    for (std::int64_t c = 0; c < s.in; ++c)
      for (std::int64_t slab = 0; slab < slabs; ++slab) {
        double total = 0, squares = 0;
        for (std::int64_t r = 128 * slab; r < std::min(s.rows, 128 * slab + 128); ++r) {
          const double v = number(found[count(r * s.in + c)]);
          total += v, squares += v * v;
        }
        const double got = number(partial[count(slab * s.in + c)]);
        if (!(std::abs(got - total) <= 4 * half_step<T> * std::sqrt(squares) + 1e-6) && wrong++ < 5)
          std::printf("    sum of column %ld, slab %ld: expected %.6g, found %.6g\n",
                      static_cast<long>(c), static_cast<long>(slab), total, got);
      }
  }
  checks.say(wrong == 0 && guarded(found, s.rows * s.in), std::string(type_name<T>) +
                                                              " backward, " + name_of(kind) + ", " +
                                                              s.name() + (summed ? ", sums" : ""));
}

constexpr Shape some_shapes[] = {{128, 64, 256},    {1, 8, 8},        {129, 72, 264},
                                 {1000, 768, 3072}, {300, 1600, 520}, {4096, 256, 1032}};

void check_products(Checks& checks) {
  for (const Shape& s : some_shapes)
    for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu_erf}) {
      check_forward<Bf16>(checks, s, kind, true);
      check_backward<Bf16>(checks, s, kind, true);
    }
  for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu_erf}) {
    check_forward<Bf16>(checks, some_shapes[2], kind, false);
    check_backward<Bf16>(checks, some_shapes[2], kind, false);
    check_forward<Fp16>(checks, some_shapes[3], kind, true);
    check_backward<Fp16>(checks, some_shapes[3], kind, true);
  }
}

void check_repeats(Checks& checks) {
  const Shape s{20000, 768, 3072};
  const Device<Bf16> x(random_values<Bf16>(s.rows * s.in, 1)),
      weight(random_values<Bf16>(s.out * s.in, 2)), y(random_values<Bf16>(s.rows * s.out, 3));
  Device<Bf16> sum(count(s.rows * s.out)), out(count(s.rows * s.out));
  Device<float> sums(count(kernels::hopper::activated_linear_slabs(s.rows) * s.out));
  std::vector<Bf16> first_sum, first_out, first_dx;
  std::vector<float> first_sums;
  bool same = true;
  const auto equal = [](const auto& l, const auto& r) {
    return std::memcmp(l.data(), r.data(), l.size() * sizeof l[0]) == 0;
  };
  for (int i = 0; i < 6; ++i) {
    sum.spoil(), out.spoil();
    require(kernels::hopper::activated_linear<Bf16>(
                {s.rows, s.in, s.out, x.get(), weight.get(), nullptr, sum.get(), out.get()},
                ActivationKind::gelu_tanh, nullptr),
            "forward");
    const auto a = sum.host(), b = out.host();
    out.spoil(), sums.spoil();
    // a layer from `out` to `in`
    require(kernels::hopper::activated_linear_backward<Bf16>(
                {s.rows, s.out, s.in, x.get(), weight.get(), y.get(), out.get(), sums.get()},
                ActivationKind::gelu_tanh, nullptr),
            "backward");
    const auto c = out.host();
    const auto d = sums.host();
    if (i == 0)
      first_sum = a, first_out = b, first_dx = c, first_sums = d;
    else
      same = same && equal(a, first_sum) && equal(b, first_out) && equal(c, first_dx) &&
             equal(d, first_sums);
  }
  checks.say(same, "repeats to the bit, " + s.name());
}

struct Timed {
  const char* name;
  Shape shape;
};

void time_all(Checks&) {
  constexpr Timed rows[] = {
      {"124m, 64 x 1024", {65536, 768, 3072}},         {"350m, 32 x 1024", {32768, 1024, 4096}},
      {"774m, 16 x 1024", {16384, 1280, 5120}},        {"1558m, 16 x 1024", {16384, 1600, 6400}},
      {"124m, 4 x 1024", {4096, 768, 3072}},           {"124m, 1 x 1024", {1024, 768, 3072}},
      {"large encoder, 32 x 512", {16384, 1024, 4096}}};
  gpu::Gemm gemm("");
  const Device<char> workspace(gpu::Gemm::workspace_bytes);
  const gpu::StreamSpace space{nullptr, workspace.get(), gpu::Gemm::workspace_bytes};
  std::printf("ms, sustained\n%-26s %-9s %8s %9s %8s %8s   %s\n", "", "", "own", "TFLOP/s",
              "cuBLASLt", "apart",
              "(cuBLASLt with its epilogue and a sum; its product and a kernel)");
  for (const Timed& t : rows) {
    const Shape& s = t.shape;
    const std::int64_t n = s.rows, in = s.in, out = s.out;
    const Device<Bf16> x(random_values<Bf16>(n * in, 1)),
        weight(random_values<Bf16>(out * in, 2, 0.03f)), bias(random_values<Bf16>(out, 3)),
        x_sum(random_values<Bf16>(n * out, 4));
    Device<Bf16> sum(count(n * out)), activated(count(n * out));
    Device<float> sums(count(kernels::hopper::activated_linear_slabs(n) * out)), d_bias(count(out)),
        partial(std::size_t{16} << 20);
    Device<std::uint32_t> counters(count(kernels::fold_words));
    const kernels::FoldMemory fold{partial.get(), counters.get()};
    auto fused = gpu::linear_problem(n, out, in, DType::bf16, gpu::GemmEpilogue::bias_gelu_tanh),
         plain = gpu::linear_problem(n, out, in, DType::bf16, gpu::GemmEpilogue::bias),
         fused_back = gpu::linear_input_gradient_problem(n, in, out, DType::bf16),
         plain_back = fused_back;
    fused_back.epilogue = gpu::GemmEpilogue::gelu_tanh_grad;
    {
      const std::int64_t bytes =
          std::max(gpu::Gemm::tuning_bytes(fused), gpu::Gemm::tuning_bytes(fused_back));
      const Device<char> scratch(count(bytes));
      for (const auto& p : {fused, plain, fused_back, plain_back})
        gemm.tune(p, space, scratch.get(), bytes,
                  {.ms_per_candidate = 30, .seconds_per_problem = 0.6});
    }
    const auto report = [&](const char* pass, double own, double library, double apart) {
      const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(in) *
                           static_cast<double>(out);
      std::printf("%-26s %-9s %8.4f %9.1f %8.4f %8.4f   %.3f\n", t.name, pass, own,
                  flops / own / 1e9, library, apart, std::min(library, apart) / own);
      std::fflush(stdout);
    };
    gpu::GemmOperands o;
    o.a = x.get(), o.b = weight.get(), o.bias = bias.get(), o.aux = sum.get(),
    o.d = activated.get();
    const auto own = [&] {
      require(kernels::hopper::activated_linear<Bf16>(
                  {n, in, out, x.get(), weight.get(), bias.get(), sum.get(), activated.get()},
                  ActivationKind::gelu_tanh, nullptr),
              "own");
    };
    const auto library = [&] { gemm.run(fused, o, space); };
    const auto apart = [&] {
      auto p = o;
      p.d = sum.get(), p.aux = nullptr;
      gemm.run(plain, p, space);
      require(kernels::pointwise(activated.get(), sum.get(), n * out, ActivationKind::gelu_tanh,
                                 nullptr),
              "pointwise");
    };
    report("forward", sustained_ms(nullptr, own), sustained_ms(nullptr, library),
           sustained_ms(nullptr, apart));
    // of a layer from `out` to `in`, whose weight is [in, out]
    const auto column_sum = [&](auto* from, std::int64_t rows_of) {
      using T = std::remove_cvref_t<decltype(*from)>;
      require(kernels::column_sum(kernels::ColumnSum<T>{rows_of, out, from, d_bias.get(), false},
                                  fold, nullptr),
              "column_sum");
    };
    gpu::GemmOperands b;
    b.a = x.get(), b.b = weight.get(), b.aux = x_sum.get(), b.d = activated.get();
    const auto own_back = [&] {
      require(kernels::hopper::activated_linear_backward<Bf16>(
                  {n, out, in, x.get(), weight.get(), x_sum.get(), activated.get(), sums.get()},
                  ActivationKind::gelu_tanh, nullptr),
              "own");
      column_sum(sums.get(), kernels::hopper::activated_linear_slabs(n));
    };
    const auto library_back = [&] {
      gemm.run(fused_back, b, space);
      column_sum(activated.get(), n);
    };
    const auto apart_back = [&] {
      auto p = b;
      p.aux = nullptr;
      gemm.run(plain_back, p, space);
      require(kernels::pointwise_backward(
                  kernels::PointwiseBackward<Bf16>{n, out, activated.get(), x_sum.get(),
                                                   activated.get(), d_bias.get(), false},
                  ActivationKind::gelu_tanh, fold, nullptr),
              "pointwise_backward");
    };
    report("backward", sustained_ms(nullptr, own_back), sustained_ms(nullptr, library_back),
           sustained_ms(nullptr, apart_back));
  }
}

}  // namespace
}  // namespace trainx::bench

int main(int argc, char** argv) {
  using namespace trainx::bench;
  return Groups("hopper_linear",
                {{"products", 120, check_products},
                 {"repeats", 60, check_repeats},
                 {"times", 200, time_all},
                 {"summed", 200, time_summed}},
                trainx::kernels::hopper::watch_linear_waits)
      .run(argv, argc);
}

#include "gpu/gemm.hpp"
#include "gpu/device.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/own_gemm.hpp"
#include "core/files.hpp"
#include "kernels/bits.hpp"
#include "support/temporary_folder.hpp"
#include <algorithm>
#include <cmath>
#include <random>

namespace gemm_test {

using namespace trainx;
using namespace trainx::gpu;
using kernels::Bf16;
using kernels::OnDevice;

namespace {

constexpr std::int64_t workspace_bytes = Gemm::workspace_bytes;

class Workspace {
 public:
  Workspace() { kernels::require_success(cudaMalloc(&memory_, workspace_bytes), "cudaMalloc"); }
  ~Workspace() { cudaFree(memory_); }
  Workspace(const Workspace&) = delete;
  StreamSpace space(cudaStream_t stream = nullptr) const {
    return {stream, memory_, workspace_bytes};
  }

 private:
  void* memory_ = nullptr;
};

std::vector<float> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& f : x) f = normal(random);
  return x;
}

/// Values of a type on the device; what the type makes of them stays in `host`.
class Matrix {
 public:
  Matrix(std::vector<float> values, DType type, std::size_t shift)
      : host(std::move(values)), type_(type) {
    if (type == DType::bf16) {
      round(bf16_, shift);
    } else if (type == DType::f16) {
      round(f16_, shift);
    } else {
      f32_.emplace_back(host, shift);
    }
  }
  void* data() const {
    return type_ == DType::bf16  ? static_cast<void*>(bf16_[0].data())
           : type_ == DType::f16 ? static_cast<void*>(f16_[0].data())
                                 : f32_[0].data();
  }
  std::vector<float> read() const {
    if (type_ == DType::f32) return f32_[0].host();
    std::vector<float> out;
    if (type_ == DType::bf16)
      for (const Bf16 b : bf16_[0].host()) out.push_back(kernels::widened(b));
    else
      for (const kernels::Fp16 b : f16_[0].host()) out.push_back(kernels::widened(b));
    return out;
  }
  std::vector<float> host;

 private:
  template <class T>
  void round(std::vector<OnDevice<T>>& to, std::size_t shift) {
    std::vector<T> rounded(host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      kernels::narrow(host[i], rounded[i]);
      host[i] = kernels::widened(rounded[i]);
    }
    to.emplace_back(rounded, shift);
  }

  DType type_;
  std::vector<OnDevice<Bf16>> bf16_;
  std::vector<OnDevice<kernels::Fp16>> f16_;
  std::vector<OnDevice<float>> f32_;
};

double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double gelu(double x, GemmEpilogue e) {
  return e == GemmEpilogue::bias_gelu_erf || e == GemmEpilogue::gelu_erf_grad
             ? x / 2 * std::erfc(-x / std::sqrt(2.0))
             : gelu(x);
}
double gelu_gradient(double x, GemmEpilogue e) {
  const double h = 1e-5;
  return (gelu(x + h, e) - gelu(x - h, e)) / (2 * h);
}

struct Options {
  std::int64_t gap = 0;   // elements between rows
  std::size_t shift = 0;  // elements off alignment
  bool separate_c = false;
};

// Every element against the sum in double precision; a bound per element, of the size of its sum's
// terms.
void check_gemm(Gemm& gemm, GemmProblem p, const Options& o, const Workspace& workspace) {
  INFO(describe(p) << ", gap " << o.gap << ", shift " << o.shift << ", separate c "
                   << o.separate_c);
  p.lda += o.gap;
  p.ldb += o.gap;
  p.ldd += o.gap;
  const Matrix a(random_values((p.a_transposed ? p.k : p.m) * p.lda, 1), p.operands, o.shift);
  const Matrix b(random_values((p.b_transposed ? p.n : p.k) * p.ldb, 2), p.operands, o.shift);
  const Matrix d(random_values(p.m * p.ldd, 3), p.result, o.shift),
      c(random_values(p.m * p.ldd, 4), p.result, o.shift);
  const Matrix bias(random_values(p.n, 5), p.result, o.shift),
      aux(random_values(p.m * p.ldd, 6), p.result, 0);
  const bool has_bias = p.epilogue == GemmEpilogue::bias || is_gelu(p.epilogue);
  const bool has_aux = is_gelu(p.epilogue) || is_gelu_grad(p.epilogue);
  const bool has_sums = p.own && is_gelu_grad(p.epilogue);
  const std::int64_t slabs = has_sums ? own_gemm_slabs(p) : 0;
  const Matrix sums(random_values(std::max<std::int64_t>(1, slabs * p.n), 7), DType::f32, 0);
  gemm.run(p,
           {.a = a.data(),
            .b = b.data(),
            .d = d.data(),
            .c = o.separate_c ? c.data() : nullptr,
            .bias = has_bias ? bias.data() : nullptr,
            .aux = has_aux ? aux.data() : nullptr,
            .column_sums = has_sums ? static_cast<float*>(sums.data()) : nullptr},
           workspace.space());
  const std::vector<float> got = d.read(), got_aux = aux.read(), got_sums = sums.read();
  const double terms_error = p.tf32 ? 1e-3 : 2e-6, rounding = p.result == DType::bf16  ? 1.0 / 256
                                                              : p.result == DType::f16 ? 1.0 / 2048
                                                                                       : 1e-6;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.ldd; ++j) {
      const auto at = static_cast<std::size_t>(i * p.ldd + j);
      if (j >= p.n) {
        if (got[at] != d.host[at]) FAIL("wrote between rows, row " << i);
        continue;
      }
      double sum = 0, terms = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const double left =
            a.host[static_cast<std::size_t>(p.a_transposed ? l * p.lda + i : i * p.lda + l)];
        const double right =
            b.host[static_cast<std::size_t>(p.b_transposed ? j * p.ldb + l : l * p.ldb + j)];
        sum += left * right;
        terms += std::abs(left * right);
      }
      const double product = sum;
      if (has_bias) sum += bias.host[static_cast<std::size_t>(j)];
      if (p.accumulate) sum += (o.separate_c ? c : d).host[at];
      // Kernels for odd sizes round to D's type before they add the bias.
      double want = sum,
             tolerance = terms_error * terms +
                         rounding * (std::abs(sum) + (has_bias ? std::abs(product) : 0)) + 1e-6;
      if (is_gelu(p.epilogue)) {
        if (!(std::abs(got_aux[at] - sum) <= tolerance))
          FAIL("aux " << i << " " << j << ": " << got_aux[at] << " for " << sum);
        want = gelu(sum, p.epilogue);
        tolerance = 1.2 * tolerance + 2e-3;  // the library's tanh is approximate
        if (p.own) tolerance += 1.2 * rounding * std::abs(sum);  // of the rounded sum
      }
      if (is_gelu_grad(p.epilogue)) {
        want = sum * gelu_gradient(aux.host[at], p.epilogue);
        tolerance = 1.2 * tolerance + 4e-3 * std::abs(sum);
      }
      if (!(std::abs(got[at] - want) <= tolerance))
        FAIL("element " << i << " " << j << ": " << got[at] << " for " << want << " +- "
                        << tolerance);
    }
  for (std::int64_t slab = 0; slab < slabs; ++slab)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0, terms = 0;  // of rounded elements
      for (std::int64_t i = 128 * slab; i < std::min(p.m, 128 * slab + 128); ++i) {
        const double element = got[static_cast<std::size_t>(i * p.ldd + j)];
        sum += element, terms += std::abs(element);
      }
      const float found = got_sums[static_cast<std::size_t>(slab * p.n + j)];
      if (!(std::abs(found - sum) <= rounding * terms + 1e-6))
        FAIL("sum of column " << j << ", slab " << slab << ": " << found << " for " << sum);
    }
}

}  // namespace

TEST_CASE(
    "matrix products of linear layers equal their sums for all sizes, types, row distances and "
    "alignments",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  struct Size {
    std::int64_t rows, out, in;
  };
  for (const Size s : {Size{1, 1, 1},
                       {3, 5, 7},
                       {8, 8, 8},
                       {1, 96, 64},
                       {17, 33, 65},
                       {130, 200, 96},
                       {257, 129, 64},
                       {64, 768, 768}})
    for (const DType type : {DType::bf16, DType::f16, DType::f32})
      for (const bool tf32 : {false, true}) {
        if (tf32 && type != DType::f32) continue;
        for (const Options o : {Options{}, {.gap = 8}, {.gap = 3, .shift = 1}}) {
          GemmProblem forward = linear_problem(s.rows, s.out, s.in, type),
                      with_bias = linear_problem(s.rows, s.out, s.in, type, GemmEpilogue::bias);
          GemmProblem input = linear_input_gradient_problem(s.rows, s.out, s.in, type),
                      weight = linear_weight_gradient_problem(s.rows, s.out, s.in, type);
          forward.tf32 = with_bias.tf32 = input.tf32 = weight.tf32 = tf32;
          check_gemm(gemm, forward, o, workspace);
          if (o.shift == 0) check_gemm(gemm, with_bias, o, workspace);
          check_gemm(gemm, input, o, workspace);
          check_gemm(gemm, weight, o, workspace);
          weight.accumulate = input.accumulate = true;
          check_gemm(gemm, weight, o, workspace);
          check_gemm(gemm, input, {o.gap, o.shift, true}, workspace);
        }
      }
}

TEST_CASE("GELU epilogues keep the preactivation and multiply by the derivative", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  for (const std::int64_t rows : {1, 24, 130}) {
    check_gemm(gemm, linear_problem(rows, 256, 64, DType::bf16, GemmEpilogue::bias_gelu_tanh), {},
               workspace);
    GemmProblem gradient = linear_input_gradient_problem(rows, 64, 256, DType::bf16);
    gradient.epilogue = GemmEpilogue::gelu_tanh_grad;
    check_gemm(gemm, gradient, {}, workspace);
  }
}

TEST_CASE("own products with a GELU do as the library's, and sum columns", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  const GemmProblem some = linear_problem(128, 256, 64, DType::bf16, GemmEpilogue::bias_gelu_tanh);
  cudaDeviceProp device{};
  kernels::require_success(cudaGetDeviceProperties(&device, 0), "device");
  if (!has_own_gemm(some, 10 * device.major + device.minor, Gemm::workspace_bytes))
    TRAINX_SKIP("takes a GPU that has own products with a GELU");
  struct Size {
    std::int64_t rows, wide, narrow;
  };
  for (const Size s : {Size{1, 8, 8}, {128, 256, 64}, {129, 264, 72}, {300, 520, 200}})
    for (const DType type : {DType::bf16, DType::f16})
      for (const bool erf : {false, true}) {
        GemmProblem forward =
            linear_problem(s.rows, s.wide, s.narrow, type,
                           erf ? GemmEpilogue::bias_gelu_erf : GemmEpilogue::bias_gelu_tanh);
        GemmProblem gradient = linear_input_gradient_problem(s.rows, s.narrow, s.wide, type);
        gradient.epilogue = erf ? GemmEpilogue::gelu_erf_grad : GemmEpilogue::gelu_tanh_grad;
        for (GemmProblem* p : {&forward, &gradient}) {
          REQUIRE(has_own_gemm(*p, 90, Gemm::workspace_bytes));
          p->own = true;
          check_gemm(gemm, *p, {}, workspace);
        }
      }
}

TEST_CASE("empty products do nothing, or write zeros", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  const OnDevice<float> d(std::vector<float>(15, 2.0f));
  GemmProblem p = linear_weight_gradient_problem(0, 3, 5, DType::f32);
  p.accumulate = true;
  gemm.run(p, {.d = d.data()}, workspace.space());
  CHECK(d.host() == std::vector<float>(15, 2.0f));
  p.accumulate = false;
  gemm.run(p, {.d = d.data()}, workspace.space());
  CHECK(d.host() == std::vector<float>(15, 0.0f));
  gemm.run(linear_problem(0, 3, 5, DType::f32), {}, workspace.space());
}

TEST_CASE("a product without workspace has another algorithm and the same sums", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Matrix dy(random_values(4096 * 64, 1), DType::bf16, 0),
      x(random_values(4096 * 64, 2), DType::bf16, 0);
  const Matrix with(random_values(64 * 64, 3), DType::f32, 0),
      without(random_values(64 * 64, 4), DType::f32, 0);
  const GemmProblem p = linear_weight_gradient_problem(4096, 64, 64, DType::bf16);
  const Workspace workspace;
  gemm.run(p, {.a = dy.data(), .b = x.data(), .d = with.data()}, workspace.space());
  gemm.run(p, {.a = dy.data(), .b = x.data(), .d = without.data()}, {});
  const auto a = with.read(), b = without.read();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-3)) FAIL("element " << i << ": " << a[i] << " and " << b[i]);
}

TEST_CASE("what is not finite shows in a product", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  auto values = random_values(64 * 64, 1);
  values[5] = std::nanf("");
  const Matrix x(values, DType::bf16, 0), w(random_values(64 * 64, 2), DType::bf16, 0),
      y(random_values(64 * 64, 3), DType::bf16, 0);
  gemm.run(linear_problem(64, 64, 64, DType::bf16), {.a = x.data(), .b = w.data(), .d = y.data()},
           workspace.space());
  const auto got = y.read();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isnan(got[i]) != (i < 64)) FAIL("element " << i << " is " << got[i]);
}

TEST_CASE("tuned choices touch no operand, outlive the process and are replayed bit for bit",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/deeper/gemm.json";
  const Workspace workspace;
  GemmProblem p = linear_weight_gradient_problem(4096, 256, 512, DType::bf16);
  p.accumulate = true;
  OnDevice<char> scratch(std::vector<char>(static_cast<std::size_t>(Gemm::tuning_bytes(p)), 0));
  const Matrix dy(random_values(4096 * 256, 1), DType::bf16, 0),
      x(random_values(4096 * 512, 2), DType::bf16, 0);
  const auto gradient = [&](Gemm& gemm) {
    const OnDevice<float> dw(std::vector<float>(256 * 512, 1.0f));
    gemm.run(p, {.a = dy.data(), .b = x.data(), .d = dw.data()}, workspace.space());
    return dw.host();
  };
  std::string choices;
  std::vector<float> first;
  {
    Gemm gemm(cache);
    const auto times = gemm.tune(p, workspace.space(), scratch.data(), Gemm::tuning_bytes(p),
                                 {.ms_per_candidate = 2});
    REQUIRE(times);
    CHECK(times->candidates > 0);
    CHECK(times->chosen_ms <= times->heuristic_ms);
    CHECK(gemm.tuned_ms(p) == times->chosen_ms);
    scratch.host();  // its guards
    first = gradient(gemm);
    gemm.save_tuned();
    choices = gemm.choices();
  }
  {
    Gemm gemm(cache);
    CHECK(!gemm.tune(p, workspace.space(), scratch.data(), Gemm::tuning_bytes(p)));
    CHECK(kernels::same_bits(gradient(gemm), first));
  }
  {
    Gemm gemm("");
    gemm.replay(choices);
    for (int repeat = 0; repeat < 10; ++repeat) CHECK(kernels::same_bits(gradient(gemm), first));
    CHECK(gemm.choices() == choices);
    CHECK_THROWS_AS(gemm.replay("{\"another GPU, cuBLASLt 1\": {}}"), GpuError);
  }
  write_file_atomic(cache, "{ broken");
  Gemm gemm(cache);
  CHECK(!gemm.tuned_ms(p));
}

TEST_CASE("a captured product gives what the uncaptured one gave", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Gemm gemm("");
  const Workspace workspace;
  cudaStream_t stream = nullptr;
  kernels::require_success(cudaStreamCreate(&stream), "stream");
  const Matrix x(random_values(128 * 256, 1), DType::bf16, 0),
      w(random_values(64 * 256, 2), DType::bf16, 0), y(random_values(128 * 64, 3), DType::bf16, 0);
  const GemmProblem p = linear_problem(128, 64, 256, DType::bf16);
  const GemmOperands operands{.a = x.data(), .b = w.data(), .d = y.data()};
  gemm.run(p, operands, workspace.space(stream));
  const auto want = y.read();
  kernels::require_success(cudaMemset(y.data(), 0, 128 * 64 * 2), "memset");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  kernels::require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                           "capture");
  gemm.run(p, operands, workspace.space(stream));
  kernels::require_success(cudaStreamEndCapture(stream, &graph), "capture");
  kernels::require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
  kernels::require_success(cudaGraphLaunch(replay, stream), "launch");
  CHECK(kernels::same_bits(y.read(), want));
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace gemm_test

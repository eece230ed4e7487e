#include "core/hopper_kernels.hpp"
#include "gpu/attention.hpp"
#include "gpu/attention_case.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/document_attention.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

namespace attention_test {

using namespace trainx;
using namespace trainx::gpu;
using kernels::Bf16, kernels::Fp16, kernels::OnDevice, kernels::narrowed, kernels::relative_error,
    kernels::widened;

namespace {

struct Inputs {
  std::vector<float> qkv, d_out;
  std::vector<std::int32_t> lengths;  // of samples; all T where nothing is padded
};
struct Results {
  std::vector<float> out, lse, d_qkv;
};

std::int64_t out_elements(const AttentionProblem& p) {
  return p.batch * p.tokens * p.heads * p.head_size;
}
Inputs inputs_of(const AttentionProblem& p) {
  return {kernels::random_values(3 * out_elements(p), 1),
          kernels::random_values(out_elements(p), 2),
          kernels::sample_lengths(p.batch, p.tokens, p.padded)};
}
kernels::Padding padding_of(const AttentionProblem& p, const Inputs& in) {
  return {in.lengths, p.tokens, p.heads * p.head_size};
}
/// Padding of all operands, which reaches nothing.
void fill_padding(const AttentionProblem& p, Inputs& in, float value) {
  kernels::Padding padding = padding_of(p, in);
  padding.fill(in.d_out, value);
  padding.width *= 3;
  padding.fill(in.qkv, value);
}

Results reference(const AttentionProblem& p, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()),
            std::vector<float>(static_cast<std::size_t>(p.batch * p.heads * p.tokens)),
            std::vector<float>(in.qkv.size())};
  kernels::attention_reference(in.qkv.data(), p.padded ? in.lengths.data() : nullptr,
                               in.d_out.data(), r.out.data(), r.lse.data(), r.d_qkv.data(),
                               {p.batch, p.tokens, p.heads, p.head_size, p.causal});
  return r;
}

class Workspace {
 public:
  explicit Workspace(std::int64_t bytes) : bytes_(bytes) {
    kernels::require_success(
        cudaMalloc(&memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 256))),
        "cudaMalloc");
  }
  ~Workspace() { cudaFree(memory_); }
  Workspace(const Workspace&) = delete;
  StreamSpace space() const { return {nullptr, memory_, bytes_}; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_;
};

/// Outputs hold garbage before.
template <class T>
Results computed(Attention& attention, const AttentionProblem& p, const Inputs& in,
                 int backward_repeats = 1) {
  const Workspace workspace(
      std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
  const OnDevice<T> qkv(narrowed<T>(in.qkv)), d_out(narrowed<T>(in.d_out)),
      out(narrowed<T>(std::vector<float>(in.d_out.size(), 77))), d_qkv(narrowed<T>(in.qkv));
  const OnDevice<float> lse(
      std::vector<float>(static_cast<std::size_t>(p.batch * p.heads * p.tokens), std::nanf("")));
  const OnDevice<std::int32_t> lengths(in.lengths);
  const std::int32_t* const given = p.padded ? lengths.data() : nullptr;
  attention.forward(p, {qkv.data(), given}, out.data(), lse.data(), workspace.space());
  std::vector<T> first;
  for (int i = 0; i < backward_repeats; ++i) {
    kernels::require_success(cudaMemset(d_qkv.data(), 0x55, in.qkv.size() * sizeof(T)), "memset");
    attention.backward(p, {qkv.data(), given}, out.data(), lse.data(), d_out.data(), {d_qkv.data()},
                       workspace.space());
    const auto got = d_qkv.host();
    if (i == 0)
      first = got;
    else if (!kernels::same_bits(first, got))
      FAIL(describe(p) << ": repeat " << i << " of the backward has other bits");
  }
  return {widened(out.host()), lse.host(), widened(first)};
}

void check(const AttentionProblem& p, const Inputs& in, const Results& got, const Results& want,
           double tolerance) {
  INFO(describe(p) << " by " << name_of(path_of(p)));
  const std::int64_t row = p.heads * p.head_size;
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.lse, want.lse, [&](std::int64_t i) {
          return i % p.tokens < in.lengths[static_cast<std::size_t>(i / p.tokens / p.heads)];
        }) <= tolerance);
  for (std::int64_t part = 0; part < 3; ++part) {
    INFO("gradient of "
         << "qkv"[part]);
    const auto of_part = [&](std::int64_t i) { return i / row % 3 == part; };
    // One token attends to itself alone: no gradient reaches q and k, and rounding is all there is.
    if (p.tokens == 1 && part < 2) continue;
    CHECK(relative_error(got.d_qkv, want.d_qkv, of_part) <= 1.5 * tolerance);
  }
  kernels::check_zeros(padding_of(p, in), got.out, got.d_qkv);
}

}  // namespace

TEST_CASE(
    "attention and its gradients equal the reference for all lengths, head sizes, masks and types",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  struct Size {
    std::int64_t batch, tokens, heads, head_size;
  };
  for (const Size s : {Size{3, 1, 2, 64},
                       {3, 2, 2, 64},
                       {3, 17, 3, 64},
                       {3, 64, 2, 80},
                       {2, 65, 2, 128},
                       {3, 130, 2, 36},
                       {1, 40, 1, 200},
                       {2, 512, 2, 80},
                       {1, 512, 2, 64},
                       {1, 1024, 1, 64},
                       {6, 130, 8, 64},
                       {9, 130, 8, 64},
                       {5, 160, 16, 32}})
    for (const bool causal : {false, true})
      for (const bool padded : {false, true}) {
        if (s.tokens >= 512 && causal == padded) continue;  // the reference takes seconds
        AttentionProblem p{s.batch,    s.tokens, s.heads, s.head_size,
                           DType::f32, causal,   padded,  false};
        Inputs in = inputs_of(p);
        const Results want = reference(p, in);
        padding_of(p, in).fill(in.d_out, 1000);  // reaches nothing
        check(p, in, computed<float>(attention, p, in), want, 3e-6);
        p.tf32 = true;
        check(p, in, computed<float>(attention, p, in), want, 2e-3);
        p.tf32 = false;
        p.dtype = DType::bf16;
        check(p, in, computed<Bf16>(attention, p, in), want, 6e-3);
        p.deterministic = true;
        check(p, in, computed<Bf16>(attention, p, in), want, 6e-3);
        p.dtype = DType::f16;
        check(p, in, computed<Fp16>(attention, p, in), want, 1e-3);
        p.deterministic = false;
        check(p, in, computed<Fp16>(attention, p, in), want, 1e-3);
      }
}

TEST_CASE("attention by Hopper's own instructions equals the reference and repeats to the bit",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  if (!has_hopper_kernels || attention.compute_capability() != 90) return;
  for (const auto& [tokens, heads, head_size] :
       {std::tuple{256, 3, 64}, {257, 2, 64}, {1000, 1, 64}, {300, 2, 128}, {513, 1, 128}}) {
    AttentionProblem p{3, tokens, heads, head_size, DType::bf16, true};
    p.compute_capability = 90;
    REQUIRE(path_of(p) == AttentionPath::hopper);
    const Inputs in = inputs_of(p);
    check(p, in, computed<Bf16>(attention, p, in, 20), reference(p, in), 6e-3);
  }
}

TEST_CASE("attention that sums columns writes the same gradients, and their sums", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  if (!has_hopper_kernels || attention.compute_capability() != 90) return;
  for (const auto& [tokens, heads, causal] :
       {std::tuple{256, 3, true}, {257, 2, true}, {1000, 1, false}, {256, 2, false}}) {
    AttentionProblem p{3, tokens, heads, 64, DType::bf16, causal};
    p.compute_capability = 90;
    REQUIRE(can_sum_columns(p));
    const Inputs in = inputs_of(p);
    const Results plain = computed<Bf16>(attention, p, in);
    p.column_sums = true;
    INFO(describe(p));
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    const OnDevice<Bf16> qkv(narrowed<Bf16>(in.qkv)), d_out(narrowed<Bf16>(in.d_out)),
        out(narrowed<Bf16>(plain.out)), d_qkv(narrowed<Bf16>(in.qkv));
    const OnDevice<float> lse(plain.lse);
    const AttentionColumnSums at = column_sums_in(workspace.space().workspace, p);
    const std::int64_t columns = p.heads * p.head_size;
    std::vector<float> first;
    for (int repeat = 0; repeat < 3; ++repeat) {
      kernels::require_success(
          cudaMemset(workspace.space().workspace, 0xff,
                     static_cast<std::size_t>(workspace.space().workspace_bytes)),
          "memset");
      attention.backward(p, {qkv.data(), nullptr}, out.data(), lse.data(), d_out.data(),
                         {d_qkv.data()}, workspace.space());
      const std::vector<float> got = widened(d_qkv.host());
      CHECK(got == plain.d_qkv);
      std::vector<float> slabs(
          static_cast<std::size_t>((at.query_slabs + 2 * at.key_slabs) * columns));
      kernels::require_success(cudaMemcpy(slabs.data(), at.queries, slabs.size() * sizeof(float),
                                          cudaMemcpyDeviceToHost),
                               "sums");
      if (repeat == 0) first = slabs;
      CHECK(slabs == first);
      for (std::int64_t c = 0; c < 3 * columns; ++c) {
        const bool of_queries = c < columns;
        const std::int64_t width = of_queries ? columns : 2 * columns,
                           from = of_queries ? c : at.query_slabs * columns + c - columns;
        double sum = 0, want = 0, squares = 0;
        for (std::int64_t s = 0; s < (of_queries ? at.query_slabs : at.key_slabs); ++s)
          sum += slabs[static_cast<std::size_t>(from + s * width)];
        for (std::int64_t row = 0; row < p.batch * p.tokens; ++row) {
          const double x = got[static_cast<std::size_t>(row * 3 * columns + c)];
          want += x, squares += x * x;
        }
        // these are sums of rounded elements
        if (!(std::abs(sum - want) <= 0.01 * std::sqrt(squares) + 1e-4))
          FAIL("column " << c << ": " << sum << " for " << want);
      }
    }
  }
}

TEST_CASE(
    "attention of encoders by Hopper's own instructions equals the reference, padded or not, and "
    "repeats to the bit",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  if (!has_hopper_kernels || attention.compute_capability() != 90) return;
  for (const std::int32_t tokens : {128, 197, 256, 384, 500, 512}) {
    // around tiles of 64 queries and 128 keys; whole rows, and samples that are padding alone
    const std::vector<std::int32_t> lengths{1, tokens, 0, 64, 65, tokens - 1, 127, tokens * 2 / 3};
    AttentionProblem p{static_cast<std::int64_t>(lengths.size()), tokens, 1, 64, DType::bf16};
    p.compute_capability = 90;
    for (const bool padded : {false, true}) {
      p.padded = padded;
      REQUIRE(path_of(p) == AttentionPath::hopper);
      Inputs in = inputs_of(p);
      if (padded) in.lengths = lengths;
      const Results want = reference(p, in);
      fill_padding(p, in, 1000);
      check(p, in, computed<Bf16>(attention, p, in, 20), want, 6e-3);
    }
  }
  // more blocks than run at once, beside cuDNN
  AttentionProblem p{16, 512, 12, 64, DType::bf16, false, true, true};
  Inputs in = inputs_of(p);
  for (std::size_t b = 0; b < in.lengths.size(); ++b)
    in.lengths[b] = static_cast<std::int32_t>(17 + 33 * b);
  const Results of_cudnn = computed<Bf16>(attention, p, in);
  p.compute_capability = 90;
  check(p, in, computed<Bf16>(attention, p, in, 20), of_cudnn, 6e-3);
}

TEST_CASE("lengths that leave nothing out change no bit of an encoder's attention", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  if (!has_hopper_kernels || attention.compute_capability() != 90) return;
  for (const std::int64_t tokens : {130, 512}) {
    AttentionProblem p{7, tokens, 12, 64, DType::bf16};
    p.compute_capability = 90;
    const Inputs in = inputs_of(p);
    const Results whole = computed<Bf16>(attention, p, in);
    p.padded = true;
    const Results counted = computed<Bf16>(attention, p, in);
    CHECK(counted.out == whole.out);
    CHECK(counted.lse == whole.lse);
    CHECK(counted.d_qkv == whole.d_qkv);
  }
}

TEST_CASE(
    "attention inside documents is that of the kernels in all types, within the workspace that it "
    "asks for",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  AttentionProblem p{2, 300, 3, 64, DType::bf16, true, false, true};
  p.documents = true;
  const Inputs in = inputs_of(p);
  std::vector<std::int32_t> starts;
  for (std::int32_t t = 0; t < 600; ++t)
    starts.push_back(t < 300 ? (t < 90 ? 0 : t < 91 ? 90 : 91) : t < 430 ? 0 : -1);
  Results want{std::vector<float>(in.d_out.size()), std::vector<float>(2 * 3 * 300),
               std::vector<float>(in.qkv.size())};
  kernels::document_attention_reference(in.qkv.data(), starts.data(), in.d_out.data(),
                                        want.out.data(), want.lse.data(), want.d_qkv.data(),
                                        {p.batch, p.tokens, p.heads, p.head_size});
  const auto compare = [&]<class T>(T, DType type, double tolerance,
                                    AttentionPath path = AttentionPath::kernels) {
    p.dtype = type;
    REQUIRE(path_of(p) == path);
    const Workspace workspace(attention.backward_workspace_bytes(p));
    const OnDevice<T> qkv(narrowed<T>(in.qkv)), d_out(narrowed<T>(in.d_out)),
        out(narrowed<T>(in.d_out)), d_qkv(narrowed<T>(in.qkv));
    const OnDevice<float> lse(want.lse);
    const OnDevice<std::int32_t> seen(starts);
    attention.forward(p, {qkv.data(), seen.data()}, out.data(), lse.data(), workspace.space());
    attention.backward(p, {qkv.data(), seen.data()}, out.data(), lse.data(), d_out.data(),
                       {d_qkv.data()}, workspace.space());
    CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
    CHECK(relative_error(lse.host(), want.lse) <= tolerance);
    CHECK(relative_error(widened(d_qkv.host()), want.d_qkv) <= 1.5 * tolerance);
  };
  compare(float{}, DType::f32, 3e-6);
  compare(Bf16{}, DType::bf16, 6e-3);
  compare(Fp16{}, DType::f16, 1e-3);
  p.compute_capability = attention.compute_capability();
  if (has_hopper_kernels && p.compute_capability == 90)
    compare(Bf16{}, DType::bf16, 6e-3, AttentionPath::hopper);
}

TEST_CASE("attention of grouped heads and windows equals the reference, whoever computes it",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  struct Size {
    std::int64_t batch, tokens, heads, of_keys, head_size, window;
    double soft_cap;
  };
  const auto compare = [&]<class T>(T, DType type, const Size& s, bool deterministic,
                                    double tolerance, int compute_capability = 0) {
    AttentionProblem p{s.batch, s.tokens, s.heads, s.head_size, type, true, false, deterministic};
    p.compute_capability = compute_capability;
    p.key_value_heads = s.of_keys;
    p.window = s.window;
    p.soft_cap = s.soft_cap;
    p.scale = s.tokens % 2 ? 0.07 : 0;
    INFO(describe(p) << " by " << name_of(path_of(p)));
    CHECK((path_of(p) == AttentionPath::hopper) ==
          (has_hopper_kernels && compute_capability == 90));
    CHECK((path_of(p) == AttentionPath::kernels) ==
          (type == DType::f32 || s.soft_cap > 0 || s.head_size > 128 || s.tokens == 1));
    const std::int64_t rows = s.batch * s.tokens;
    const std::vector<float> qkv = kernels::random_values(rows * p.row(), 1),
                             d_out = kernels::random_values(rows * s.heads * s.head_size, 2);
    kernels::AttentionSize size{s.batch, s.tokens, s.heads, s.head_size, true};
    size.key_value_heads = s.of_keys, size.window = s.window;
    size.scale = p.scale, size.soft_cap = s.soft_cap;
    Results want{std::vector<float>(d_out.size()),
                 std::vector<float>(static_cast<std::size_t>(rows * s.heads)),
                 std::vector<float>(qkv.size())};
    kernels::grouped_attention_reference(qkv.data(), nullptr, d_out.data(), want.out.data(),
                                         want.lse.data(), want.d_qkv.data(), size);
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    const OnDevice<T> x(narrowed<T>(qkv)), dy(narrowed<T>(d_out)),
        out(narrowed<T>(std::vector<float>(d_out.size(), 77))),
        d_x(narrowed<T>(std::vector<float>(qkv.size(), 77)));
    const OnDevice<float> lse(std::vector<float>(want.lse.size(), std::nanf("")));
    attention.forward(p, {x.data()}, out.data(), lse.data(), workspace.space());
    attention.backward(p, {x.data()}, out.data(), lse.data(), dy.data(), {d_x.data()},
                       workspace.space());
    CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
    CHECK(relative_error(lse.host(), want.lse) <= tolerance);
    CHECK(relative_error(widened(d_x.host()), want.d_qkv) <= 1.5 * tolerance);
    const auto first = d_x.host();
    attention.backward(p, {x.data()}, out.data(), lse.data(), dy.data(), {d_x.data()},
                       workspace.space());
    if (deterministic) CHECK(kernels::same_bits(first, d_x.host()));
  };
  for (const Size& s : {Size{2, 17, 4, 2, 64, 0, 0},
                        {2, 64, 14, 2, 64, 0, 0},
                        {2, 130, 6, 2, 128, 50, 0},
                        {1, 300, 8, 1, 80, 128, 0},
                        {2, 256, 4, 4, 64, 32, 0},
                        {2, 64, 4, 2, 64, 8, 0},
                        {2, 129, 4, 2, 96, 200, 0},
                        {1, 200, 4, 2, 256, 64, 0},
                        {2, 100, 4, 2, 64, 40, 20}}) {
    compare(float{}, DType::f32, s, true, 3e-6);
    for (const bool deterministic : {false, true}) {
      compare(Bf16{}, DType::bf16, s, deterministic, 6e-3);
      compare(Fp16{}, DType::f16, s, deterministic, 1e-3);
    }
  }
  if (attention.compute_capability() != 90) return;
  for (const Size& s : {Size{2, 256, 14, 2, 64, 0, 0},
                        {1, 301, 4, 2, 64, 0, 0},
                        {1, 420, 4, 4, 64, 0, 0},
                        {2, 257, 4, 2, 64, 100, 0},
                        {1, 420, 4, 4, 128, 500, 0},
                        {2, 256, 8, 2, 128, 0, 0},
                        {1, 301, 6, 1, 128, 0, 0}})
    compare(Bf16{}, DType::bf16, s, true, 6e-3, 90);
}

TEST_CASE("ten repeats of the deterministic backward have the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  for (const bool padded : {false, true}) {
    // 24 MiB of score gradients a sample: two calls of cuDNN, of 6 samples and of 5.
    const AttentionProblem p{11, 1024, 12, 64, DType::bf16, !padded, padded, true};
    const Inputs in = inputs_of(p);
    const Results strict = computed<Bf16>(attention, p, in, 10);
    AttentionProblem loose = p;
    loose.deterministic = false;
    const Results free = computed<Bf16>(attention, loose, in);
    CHECK(relative_error(strict.d_qkv, free.d_qkv) <= 6e-3);
    CHECK(relative_error(strict.out, free.out) == 0);
  }
  const AttentionProblem plain{4, 300, 3, 64, DType::f32, true, false, true};
  computed<float>(attention, plain, inputs_of(plain), 10);
}

TEST_CASE("what is not finite shows in attention", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  AttentionProblem p{1, 256, 1, 64, DType::f32, true, false, false};
  p.compute_capability = attention.compute_capability();
  Inputs in = inputs_of(p);
  in.qkv[static_cast<std::size_t>(70 * 192 + 3)] = std::nanf("");  // of query 70
  const auto out_of = [&](const Results& r, std::size_t t) { return r.out[t * 64]; };
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    p.dtype = type;
    const Results r = type == DType::f32   ? computed<float>(attention, p, in)
                      : type == DType::f16 ? computed<Fp16>(attention, p, in)
                                           : computed<Bf16>(attention, p, in);
    CHECK(std::isfinite(out_of(r, 69)));
    CHECK(std::isnan(out_of(r, 70)));
    CHECK(std::isfinite(out_of(r, 71)));
  }
}

TEST_CASE("a captured attention gives what the uncaptured one gave", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  cudaStream_t stream = nullptr;
  kernels::require_success(cudaStreamCreate(&stream), "stream");
  const auto compare = [&](const AttentionProblem& p) {
    INFO(describe(p) << " by " << name_of(path_of(p)));
    const Inputs in = inputs_of(p);
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    StreamSpace space = workspace.space();
    space.stream = stream;
    const OnDevice<Bf16> qkv(narrowed<Bf16>(in.qkv)), d_out(narrowed<Bf16>(in.d_out)),
        out(narrowed<Bf16>(in.d_out)), d_qkv(narrowed<Bf16>(in.qkv));
    const OnDevice<float> lse(std::vector<float>(4 * 256 * 2));
    const OnDevice<std::int32_t> lengths(in.lengths);
    const std::int32_t* const given = p.padded ? lengths.data() : nullptr;
    const auto both = [&] {
      attention.forward(p, {qkv.data(), given}, out.data(), lse.data(), space);
      attention.backward(p, {qkv.data(), given}, out.data(), lse.data(), d_out.data(),
                         {d_qkv.data()}, space);
    };
    const auto forget = [&] {
      kernels::require_success(cudaMemset(out.data(), 0, in.d_out.size() * 2), "memset");
      kernels::require_success(cudaMemset(d_qkv.data(), 0, in.qkv.size() * 2), "memset");
    };
    both();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    kernels::require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                             "capture");
    both();
    kernels::require_success(cudaStreamEndCapture(stream, &graph), "capture");
    kernels::require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    // a padded one is replayed for batches of other lengths
    for (const std::vector<std::int32_t>& of_batch :
         {in.lengths, std::vector<std::int32_t>{256, 3, 130, 0}}) {
      if (p.padded)
        kernels::require_success(cudaMemcpy(lengths.data(), of_batch.data(),
                                            4 * sizeof(std::int32_t), cudaMemcpyDefault),
                                 "copy");
      forget();
      both();
      const auto want_out = out.host(), want_gradient = d_qkv.host();
      forget();
      kernels::require_success(cudaGraphLaunch(replay, stream), "launch");
      CHECK(kernels::same_bits(out.host(), want_out));
      CHECK(kernels::same_bits(d_qkv.host(), want_gradient));
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  };
  for (const int compute_capability : {0, attention.compute_capability()})
    for (const bool causal : {true, false})
      for (const bool padded : {false, true}) {
        if (causal && padded) continue;
        AttentionProblem p{4, 256, 2, 64, DType::bf16, causal, padded, true};
        p.compute_capability = compute_capability;
        compare(p);
      }
  cudaStreamDestroy(stream);
}

}  // namespace attention_test

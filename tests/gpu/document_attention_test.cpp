#include "kernels/attention/document_attention.hpp"
#include "gpu/attention_case.hpp"
#include <algorithm>
#include <numeric>
#include <random>

namespace document_attention_test {

using namespace trainx::kernels;

namespace {

using Rows = std::vector<std::vector<std::int64_t>>;  // lengths of each row's documents

struct Case {
  std::int64_t tokens, heads, head_size;
  Rows rows;
  std::int64_t batch() const { return static_cast<std::int64_t>(rows.size()); }
  std::int64_t width() const { return heads * head_size; }
  AttentionSize size(bool tf32 = false) const {
    return {batch(), tokens, heads, head_size, false, tf32};
  }
};

std::vector<std::int32_t> starts_of(const Case& c) {
  std::vector<std::int32_t> starts;
  for (const auto& documents : c.rows) {
    std::vector<std::int32_t> row;
    for (const std::int64_t tokens : documents)
      row.resize(row.size() + static_cast<std::size_t>(tokens),
                 static_cast<std::int32_t>(row.size()));
    row.resize(static_cast<std::size_t>(c.tokens), -1);
    starts.insert(starts.end(), row.begin(), row.end());
  }
  return starts;
}

Padding padding_of(const Case& c) {
  Padding padding{{}, c.tokens, c.width()};
  for (const auto& documents : c.rows)
    padding.lengths.push_back(static_cast<std::int32_t>(
        std::accumulate(documents.begin(), documents.end(), std::int64_t{0})));
  return padding;
}

/// Documents of up to `most` tokens until a row is full, or earlier.
Rows random_rows(std::int64_t batch, std::int64_t tokens, std::int64_t most, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows(static_cast<std::size_t>(batch));
  for (auto& documents : rows)
    for (std::int64_t left = tokens; left > 0 && random() % 16 > 0; left -= documents.back())
      documents.push_back(1 + random() % std::min(left, most));
  return rows;
}

struct Inputs {
  std::vector<float> qkv, d_out;
};
struct Results {
  std::vector<float> out, lse, d_qkv;
};

Inputs inputs_of(const Case& c) {
  return {random_values(3 * c.batch() * c.tokens * c.width(), 1),
          random_values(c.batch() * c.tokens * c.width(), 2)};
}

Results reference(const Case& c, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()),
            std::vector<float>(static_cast<std::size_t>(c.batch() * c.heads * c.tokens)),
            std::vector<float>(in.qkv.size())};
  document_attention_reference(in.qkv.data(), starts_of(c).data(), in.d_out.data(), r.out.data(),
                               r.lse.data(), r.d_qkv.data(), c.size());
  return r;
}

/// Outputs and scratch hold garbage before.
template <class T>
struct Operands {
  Operands(const Case& c, const Inputs& in, std::size_t shift)
      : qkv(narrowed<T>(in.qkv), shift),
        d_out(narrowed<T>(in.d_out), shift),
        out(narrowed<T>(std::vector<float>(in.d_out.size(), 77)), shift),
        d_qkv(narrowed<T>(std::vector<float>(in.qkv.size(), 77)), shift),
        lse(std::vector<float>(static_cast<std::size_t>(c.batch() * c.heads * c.tokens),
                               std::nanf("")),
            shift),
        delta(lse.host(), shift),
        starts(starts_of(c), shift),
        ends(std::vector<std::int32_t>(starts.host().size(), 1 << 30), shift) {}
  OnDevice<T> qkv, d_out, out, d_qkv;
  OnDevice<float> lse, delta;
  OnDevice<std::int32_t> starts, ends;

  void both(const AttentionSize& size, cudaStream_t stream = nullptr) const {
    require_success(
        document_attention_forward(qkv.data(), starts.data(), out.data(), lse.data(), size, stream),
        "document_attention_forward");
    require_success(
        document_attention_backward(qkv.data(), starts.data(), out.data(), lse.data(), d_out.data(),
                                    d_qkv.data(), delta.data(), ends.data(), size, stream),
        "document_attention_backward");
  }
  Results results() const {
    delta.host(), ends.host();  // their guards
    return {widened(out.host()), lse.host(), widened(d_qkv.host())};
  }
};

template <class T>
Results computed(const Case& c, const Inputs& in, bool tf32 = false, std::size_t shift = 0) {
  const Operands<T> on(c, in, shift);
  on.both(c.size(tf32));
  return on.results();
}

void check(const Case& c, const Results& got, const Results& want, double tolerance,
           const char* type) {
  std::string documents;
  for (const auto& row : c.rows) {
    documents += " |";
    for (const std::int64_t n : row) documents += " " + std::to_string(n);
  }
  INFO(type << " T " << c.tokens << " H " << c.heads << " D " << c.head_size << documents);
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.lse, want.lse) <= tolerance);
  CHECK(relative_error(got.d_qkv, want.d_qkv) <= 1.5 * tolerance);
  check_zeros(padding_of(c), got.out, got.d_qkv);
}

void compare(const Case& c, std::size_t shift = 0) {
  Inputs in = inputs_of(c);
  const Results want = reference(c, in);
  const Padding padding = padding_of(c);
  padding.fill(in.d_out, std::nanf(""));  // reaches nothing, nor does what padding holds
  for (std::size_t i = 0; i < in.qkv.size(); ++i)
    if (padding.holds(static_cast<std::int64_t>(i) / (3 * padding.width) * padding.width))
      in.qkv[i] = std::nanf("");
  check(c, computed<float>(c, in, false, shift), want, 3e-6, "fp32");
  check(c, computed<float>(c, in, true, shift), want, 2e-3, "tf32");
  check(c, computed<Bf16>(c, in, false, shift), want, 6e-3, "bf16");
  check(c, computed<Fp16>(c, in, false, shift), want, 1e-3, "fp16");
}

}  // namespace

TEST_CASE("attention inside documents equals the reference wherever they begin and end", "[gpu]") {
  TRAINX_NEEDS_GPU();
  compare({0, 2, 64, {{}, {}}});
  compare({7, 2, 64, {}});
  compare({1, 2, 64, {{1}, {}}});
  compare({2, 1, 64, {{1, 1}, {2}, {1}, {}}});
  compare({5, 3, 8, {{1, 1, 1, 1, 1}, {}, {5}}});
  compare({63, 2, 64, {{31, 32}, {63}, {62}}});
  compare({64, 2, 64, {{64}, {32, 32}, {16, 16, 16, 16}, {63, 1}, {1, 63}}});
  compare({65, 2, 64, {{64, 1}, {1, 64}, {65}, {33, 31, 1}}});
  compare({256,
           2,
           64,
           {{64, 64, 64, 64},
            {128, 128},
            {63, 2, 63, 128},
            {200},
            {},
            std::vector<std::int64_t>(256, 1)}});
  compare({1024, 1, 64, {{1024}, {512, 512}, {50, 300, 17, 640}, {1000, 1}}});
}

TEST_CASE(
    "attention inside documents equals the reference for all head sizes, misaligned, with many "
    "heads and with random documents",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = std::random_device{}();
  WARN("documents of seed " << seed);
  for (const std::int64_t head : {1, 20, 32, 36, 64, 80, 96, 128, 136, 200, 256}) {
    compare({140, 2, head, {{31, 1, 33, 70}, {140}, {64, 65}}});
    compare({140, 2, head, {{31, 1, 33, 70}, {140}, {64, 65}}}, 1);
  }
  // more blocks than multiprocessors
  compare({130, 16, 64, random_rows(9, 130, 100, seed)});
  compare({130, 8, 64, random_rows(6, 130, 100, seed + 14)});  // of 64 rows; fewer of 128
  compare({333, 8, 128, random_rows(3, 333, 333, seed + 1)});
  for (unsigned k = 0; k < 12; ++k)
    compare({1 + 37 * k, 2, k % 2 ? 64 : 80, random_rows(4, 1 + 37 * k, 1 + 20 * k, seed + 2 + k)},
            k % 3 == 2);
}

TEST_CASE("a row that is one document is causal attention", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{300, 3, 64, {{300}, {300}}};
  const Inputs in = inputs_of(c);
  const Results got = computed<float>(c, in);
  const OnDevice<float> qkv(in.qkv), out(in.d_out);
  const OnDevice<float> lse(got.lse);
  AttentionSize size = c.size();
  size.causal = true;
  require_success(attention_forward(qkv.data(), nullptr, out.data(), lse.data(), size, nullptr),
                  "attention_forward");
  CHECK(relative_error(got.out, out.host()) <= 1e-6);
  CHECK(relative_error(got.lse, lse.host()) <= 1e-6);
}

TEST_CASE("ten repeats of attention inside documents have the same bits, captured too", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{1024, 12, 64, random_rows(8, 1024, 400, 5)};
  const Inputs in = inputs_of(c);
  cudaStream_t stream = nullptr;
  require_success(cudaStreamCreate(&stream), "stream");
  {
    const Operands<Bf16> on(c, in, 0);
    on.both(c.size(), stream);
    const Results first = on.results();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    on.both(c.size(), stream);
    require_success(cudaStreamEndCapture(stream, &graph), "capture");
    require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    for (int repeat = 0; repeat < 10; ++repeat) {
      require_success(cudaMemset(on.out.data(), 0x55, in.d_out.size() * 2), "memset");
      require_success(cudaMemset(on.d_qkv.data(), 0x55, in.qkv.size() * 2), "memset");
      require_success(cudaDeviceSynchronize(), "memset");
      if (repeat % 2)
        require_success(cudaGraphLaunch(replay, stream), "launch");
      else
        on.both(c.size(), stream);
      const Results again = on.results();
      CHECK(same_bits(again.out, first.out));
      CHECK(same_bits(again.lse, first.lse));
      CHECK(same_bits(again.d_qkv, first.d_qkv));
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  cudaStreamDestroy(stream);
}

TEST_CASE("what is not finite shows in its document", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{256, 1, 64, {{100, 156}}};
  const auto check_nan = [&]<class T>(T) {
    Inputs in = inputs_of(c);
    in.qkv[70 * 192 + 3] = std::nanf("");  // of query 70
    Results r = computed<T>(c, in);
    for (const std::size_t t : {0u, 69u, 71u, 99u, 100u, 255u}) CHECK(std::isfinite(r.out[t * 64]));
    CHECK(std::isnan(r.out[70 * 64]));
    in = inputs_of(c);
    in.qkv[10 * 192 + 128 + 5] = std::nanf("");  // of value 10
    r = computed<T>(c, in);
    for (const std::size_t t : {10u, 11u, 50u, 99u}) CHECK(std::isnan(r.out[t * 64 + 5]));
    // tiles that the two documents do not share
    for (const std::size_t t : {128u, 255u}) CHECK(std::isfinite(r.out[t * 64 + 5]));
  };
  check_nan(float{});
  check_nan(Bf16{});
  check_nan(Fp16{});
}

}  // namespace document_attention_test

// Attention with sinks, whoever computes it.
#include "attention_run.hpp"
#include "core/hopper_kernels.hpp"
#include "kernels/attention/biased_attention.hpp"

namespace sink_attention_test {

using namespace trainx;
using namespace trainx::gpu;
using namespace trainx::gpu::test;

namespace {

struct Case {
  std::int64_t batch, tokens, heads, of_keys, head_size, window;
  bool documents = false;
  AttentionProblem problem(DType type, int compute_capability) const {
    AttentionProblem p{batch, tokens, heads, head_size, type, true};
    p.key_value_heads = of_keys;
    p.window = window;
    p.documents = documents;
    p.biased = p.sinks_alone = true;
    p.compute_capability = compute_capability;
    return p;
  }
  /// Each row has three documents and padding.
  std::vector<std::int32_t> starts() const {
    std::vector<std::int32_t> to;
    for (std::int64_t i = 0; i < batch * tokens; ++i) {
      const auto t = static_cast<std::int32_t>(i % tokens),
                 third = static_cast<std::int32_t>(tokens / 3);
      to.push_back(t >= tokens - 5 ? -1 : t / third * third);
    }
    return to;
  }
};

struct SinkResults : Results {
  std::vector<float> d_sinks;
};

template <class T>
void compare(Attention& attention, const Case& c, DType type, AttentionPath path,
             double tolerance) {
  const AttentionProblem p =
      c.problem(type, path == AttentionPath::hopper ? attention.compute_capability() : 0);
  INFO(describe(p) << " by " << name_of(path));
  REQUIRE(path_of(p) == path);
  const std::int64_t rows = c.batch * c.tokens;
  const std::vector<float> qkv = kernels::random_values(rows * p.row(), 1),
                           d_out = kernels::random_values(rows * c.heads * c.head_size, 2);
  // from one that takes nearly nothing to one that takes nearly all
  std::vector<float> sinks(static_cast<std::size_t>(c.heads));
  for (std::size_t h = 0; h < sinks.size(); ++h) sinks[h] = -6 + 4 * static_cast<float>(h);
  const std::vector<std::int32_t> starts = c.starts();
  kernels::AttentionSize size{c.batch, c.tokens, c.heads, c.head_size, true};
  size.key_value_heads = c.of_keys, size.window = c.window;
  size.biases.sinks = sinks.data();
  SinkResults want{{std::vector<float>(d_out.size()),
                    std::vector<float>(static_cast<std::size_t>(rows * c.heads)),
                    std::vector<float>(qkv.size())},
                   std::vector<float>(sinks.size())};
  kernels::biased_attention_reference(qkv.data(), c.documents ? starts.data() : nullptr,
                                      d_out.data(), want.out.data(), want.lse.data(),
                                      want.d_qkv.data(), nullptr, want.d_sinks.data(), size);

  const std::int64_t bytes =
      std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p));
  const Workspace workspace(bytes);
  const StreamSpace space = workspace.space();
  const OnDevice<T> x(narrowed<T>(qkv)), dy(narrowed<T>(d_out)), s(narrowed<T>(sinks)),
      out(narrowed<T>(std::vector<float>(d_out.size(), 77))),
      dx(narrowed<T>(std::vector<float>(qkv.size(), 77)));
  const OnDevice<float> lse(std::vector<float>(want.lse.size(), std::nanf(""))),
      d_sinks(std::vector<float>(sinks.size(), 77));
  const OnDevice<std::int32_t> seen(starts);
  AttentionInputs in{x.data(), c.documents ? seen.data() : nullptr};
  in.sinks = s.data();
  std::vector<T> first;
  for (const bool again : {false, true}) {
    attention.forward(p, in, out.data(), lse.data(), space);
    AttentionGradients to{dx.data()};
    to.sinks = {d_sinks.data(), again};
    attention.backward(p, in, out.data(), lse.data(), dy.data(), to, space);
    if (again) {
      CHECK(kernels::same_bits(first, dx.host()));
      for (float& d : want.d_sinks) d *= 2;
    }
    first = dx.host();
    CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
    CHECK(relative_error(lse.host(), want.lse) <= tolerance);
    CHECK(relative_error(widened(first), want.d_qkv) <= 1.5 * tolerance);
    CHECK(relative_error(d_sinks.host(), want.d_sinks) <= 4 * tolerance);
  }
  // a frozen sink has no gradient
  attention.backward(p, in, out.data(), lse.data(), dy.data(), {dx.data()}, space);
  CHECK(kernels::same_bits(first, dx.host()));
}

}  // namespace

TEST_CASE("attention with sinks equals the reference, whoever computes it", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  for (const Case& c : {Case{2, 300, 4, 2, 64, 0},
                        {1, 400, 4, 1, 64, 128},
                        {2, 270, 4, 4, 64, 40, true},
                        {1, 257, 4, 2, 128, 0},
                        {2, 301, 4, 2, 128, 0, true}}) {
    compare<float>(attention, c, DType::f32, AttentionPath::kernels, 3e-6);
    compare<Bf16>(attention, c, DType::bf16, AttentionPath::kernels, 6e-3);
    compare<Fp16>(attention, c, DType::f16, AttentionPath::kernels, 1e-3);
    if (has_hopper_kernels && attention.compute_capability() == 90)
      compare<Bf16>(attention, c, DType::bf16, AttentionPath::hopper, 6e-3);
  }
}

TEST_CASE("biases by distance beside sinks are none of Hopper's kernels'") {
  AttentionProblem p = Case{2, 300, 4, 2, 64, 0}.problem(DType::bf16, 90);
  CHECK((path_of(p) == AttentionPath::hopper) == has_hopper_kernels);
  p.sinks_alone = false;
  CHECK(path_of(p) == AttentionPath::kernels);
}

}  // namespace sink_attention_test

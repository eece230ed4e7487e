// Attention whose probabilities are dropped, whoever computes it.
#include "attention_run.hpp"
#include "core/hopper_kernels.hpp"
#include "kernels/attention/grouped_attention.hpp"

namespace dropped_attention_test {

using namespace trainx;
using namespace trainx::gpu;
using namespace trainx::gpu::test;

namespace {

struct Case {
  std::int64_t tokens, heads, of_keys, head_size;
  bool causal = true;
  std::int64_t window = 0;
  bool documents = false, padded = false;
  AttentionProblem problem(DType type, int compute_capability) const {
    AttentionProblem p{batch, tokens, heads, head_size, type, causal, padded};
    p.key_value_heads = of_keys == heads ? 0 : of_keys;
    p.window = window;
    p.documents = documents;
    p.dropped = true;
    p.compute_capability = compute_capability;
    return p;
  }
  static constexpr std::int64_t batch = 3;
  bool is_grouped() const { return of_keys != heads || window > 0 || documents; }
  /// Documents of 71 tokens and padding, or lengths of samples.
  std::vector<std::int32_t> seen() const {
    std::vector<std::int32_t> to;
    if (padded)
      return {static_cast<std::int32_t>(tokens), 70, static_cast<std::int32_t>(tokens / 2)};
    for (std::int64_t i = 0; i < batch * tokens; ++i) {
      const auto t = static_cast<std::int32_t>(i % tokens);
      to.push_back(t >= tokens - 9 ? -1 : t / 71 * 71);
    }
    return to;
  }
};

const std::vector<std::int64_t> positions{7, std::int64_t{1} << 35, 0};

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
  const std::vector<std::int32_t> seen = c.seen();
  const kernels::FusedDropout dropout{{0.3, 0x123456789abcdef, 5, 3}, positions.data()};
  kernels::AttentionSize size{c.batch, c.tokens, c.heads, c.head_size, c.causal};
  size.key_value_heads = p.key_value_heads, size.window = c.window, size.dropout = dropout;
  Results want{std::vector<float>(d_out.size()),
               std::vector<float>(static_cast<std::size_t>(rows * c.heads)),
               std::vector<float>(qkv.size())};
  (c.is_grouped() ? kernels::grouped_attention_reference : kernels::attention_reference)(
      qkv.data(), c.documents || c.padded ? seen.data() : nullptr, d_out.data(), want.out.data(),
      want.lse.data(), want.d_qkv.data(), size);

  const Workspace workspace(
      std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
  const OnDevice<T> x(narrowed<T>(qkv)), dy(narrowed<T>(d_out)),
      out(narrowed<T>(std::vector<float>(d_out.size(), 77))),
      dx(narrowed<T>(std::vector<float>(qkv.size(), 77)));
  const OnDevice<float> lse(std::vector<float>(want.lse.size(), std::nanf("")));
  const OnDevice<std::int32_t> on_seen(seen);
  const OnDevice<std::int64_t> on_positions(positions);
  AttentionInputs in{x.data(), c.documents || c.padded ? on_seen.data() : nullptr};
  in.dropout = dropout;
  in.dropout.positions = on_positions.data();
  std::vector<T> first;
  for (int repeat = 0; repeat < 3; ++repeat) {
    attention.forward(p, in, out.data(), lse.data(), workspace.space());
    attention.backward(p, in, out.data(), lse.data(), dy.data(), {dx.data()}, workspace.space());
    if (repeat > 0) CHECK(kernels::same_bits(first, dx.host()));
    first = dx.host();
  }
  CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
  CHECK(relative_error(lse.host(), want.lse) <= tolerance);
  CHECK(relative_error(widened(first), want.d_qkv) <= 1.5 * tolerance);
}

}  // namespace

TEST_CASE("attention whose probabilities are dropped equals the reference, whoever computes it",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  for (const Case& c : {Case{257, 3, 3, 64},
                        {300, 4, 2, 64},
                        {300, 4, 1, 32, true, 100},
                        {310, 2, 2, 64, true, 0, true},
                        {270, 4, 2, 48, true, 150, true},
                        {197, 3, 3, 64, false},
                        {200, 2, 2, 64, false, 0, false, true},
                        {333, 2, 2, 40, false, 0, false, true}}) {
    compare<float>(attention, c, DType::f32, AttentionPath::kernels, 3e-6);
    compare<Bf16>(attention, c, DType::bf16, AttentionPath::kernels, 6e-3);
    compare<Fp16>(attention, c, DType::f16, AttentionPath::kernels, 1e-3);
    if (has_hopper_kernels && attention.compute_capability() == 90)
      compare<Bf16>(attention, c, DType::bf16, AttentionPath::hopper, 6e-3);
  }
}

TEST_CASE("wide heads, and sinks beside dropout, are none of Hopper's kernels'") {
  const auto path = [](auto change) {
    AttentionProblem p = Case{300, 4, 2, 64}.problem(DType::bf16, 90);
    change(p);
    return path_of(p);
  };
  CHECK((path([](AttentionProblem&) {}) == AttentionPath::hopper) == has_hopper_kernels);
  CHECK(path([](AttentionProblem& p) { p.head_size = 72; }) == AttentionPath::kernels);
  CHECK(path([](AttentionProblem& p) { p.biased = p.sinks_alone = true; }) ==
        AttentionPath::kernels);
}

}  // namespace dropped_attention_test

#include "gpu/own_gemm.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "core/hopper_kernels.hpp"
#include "kernels/reduce/column_sum.hpp"

namespace own_gemm_test {

using namespace trainx;
using namespace trainx::gpu;

TEST_CASE("own products are for dense rows in 16 bits that tensor maps can hold") {
  const GemmProblem good = linear_problem(128, 256, 64, DType::bf16, GemmEpilogue::bias_gelu_erf);
  CHECK(has_own_gemm(good, 90, 0) == has_hopper_kernels);
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  const auto refuses = [](GemmProblem p, const auto& change) {
    change(p);
    return !has_own_gemm(p, 90, 1 << 20);
  };
  CHECK_FALSE(has_own_gemm(good, 100, 0));
  CHECK(refuses(good, [](GemmProblem& p) { p.lda += 8; }));
  CHECK(refuses(good, [](GemmProblem& p) { p.operands = p.result = DType::f32; }));
  CHECK(refuses(good, [](GemmProblem& p) { p.k = p.lda = p.ldb = 63; }));
  CHECK(refuses(good, [](GemmProblem& p) { p.n = p.ldd = 252; }));
  CHECK(refuses(good, [](GemmProblem& p) { p.epilogue = GemmEpilogue::bias; }));
  GemmProblem gradient = linear_input_gradient_problem(1000, 64, 256, DType::bf16);
  gradient.epilogue = GemmEpilogue::gelu_tanh_grad;
  // eight slabs of 256 sums in fp32, behind the memory that adds them up
  const std::int64_t at = own_gemm_sums_at(gradient);
  CHECK(at >= kernels::column_sum_partial_bytes(256));
  CHECK(has_own_gemm(gradient, 90, at + 8 * 256 * 4));
  CHECK_FALSE(has_own_gemm(gradient, 90, at + 8 * 256 * 4 - 1));
}

TEST_CASE("own products add others, with a bias to rows of weights alone") {
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  GemmProblem good = linear_problem(128, 256, 64, DType::bf16);
  CHECK_FALSE(has_own_gemm(good, 90, 0));  // the library's is as good
  good.added_k = 16;
  CHECK(has_own_gemm(good, 90, 0));
  GemmProblem biased = good, uneven = good, added = good;
  biased.epilogue = GemmEpilogue::bias;
  CHECK(has_own_gemm(biased, 90, 0));
  uneven.added_k = 12;
  CHECK_FALSE(has_own_gemm(uneven, 90, 0));
  added.accumulate = true;
  CHECK_FALSE(has_own_gemm(added, 90, 0));
  GemmProblem gradient = linear_input_gradient_problem(128, 64, 256, DType::f16);
  gradient.added_k = 48;
  CHECK(has_own_gemm(gradient, 90, 0));
  gradient.epilogue = GemmEpilogue::bias;
  CHECK_FALSE(has_own_gemm(gradient, 90, 0));
}

TEST_CASE("an own product has a name of its own in the cache") {
  GemmProblem p = linear_problem(128, 256, 64, DType::bf16, GemmEpilogue::bias_gelu_tanh);
  const std::string key = key_of(p);
  p.own = true;
  CHECK(key_of(p) != key);
  const std::string own = key_of(p);
  p.added_k = 16;
  CHECK(key_of(p) != own);
}

}  // namespace own_gemm_test

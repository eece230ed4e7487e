// What users read where a library or a GPU is missing; on a machine with a GPU the second half has
// nothing to say.
#include <cuda_runtime_api.h>
#include "core/hopper_kernels.hpp"
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/library.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace missing_test {

using namespace trainx;
using namespace trainx::gpu;

namespace {

template <class Call>
std::string sentence_of(const Call& call) {
  try {
    call();
  } catch (const GpuError& error) {
    CHECK(error.code() == ExitCode::unavailable);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a library that cannot be loaded is named, with what needs it and where it comes from") {
  const std::string words = sentence_of([] { Library("libtrainx_none.so.7", "tests"); });
  CHECK(words.find("libtrainx_none.so.7") != std::string::npos);
  CHECK(words.find("tests") != std::string::npos);
  CHECK(words.find("LD_LIBRARY_PATH") != std::string::npos);
  const Library math("libm.so.6", "tests");
  CHECK(math.function<double(double)>("cos")(0) == 1);
  CHECK(sentence_of([&] { math.function<void()>("no_such_function"); }).find("no_such_function") !=
        std::string::npos);
}

TEST_CASE("without a GPU matrix products and cuDNN's attention say so") {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) TRAINX_SKIP("there is a GPU");
  CHECK(!sentence_of([] { Gemm gemm(""); }).empty());
  Attention attention;
  CHECK(!sentence_of([&] {
           attention.forward_workspace_bytes({2, 64, 2, 64, DType::bf16, true, false, false});
         }).empty());
  CHECK(attention.backward_workspace_bytes({2, 64, 2, 64, DType::f32, true, false, false}) ==
        2 * 2 * 64 * 4);
}

TEST_CASE("who computes an attention follows from the problem alone") {
  const auto path = [](std::int64_t tokens, std::int64_t head_size, DType type) {
    return path_of({1, tokens, 1, head_size, type, true, false, true});
  };
  CHECK(path(2, 64, DType::bf16) == AttentionPath::cudnn);
  CHECK(path(1024, 128, DType::bf16) == AttentionPath::cudnn);
  CHECK(path(1, 64, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 36, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 136, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 64, DType::f32) == AttentionPath::kernels);
  AttentionProblem documents{1, 64, 1, 64, DType::bf16, true, false, true};
  CHECK(path_of(documents) == AttentionPath::cudnn);
  documents.documents = true;
  CHECK(path_of(documents) == AttentionPath::kernels);
  AttentionProblem wide{1, 64, 1, 256, DType::bf16, true};
  CHECK(path_of(wide) == AttentionPath::kernels);
  wide.compute_capability = 90;
  CHECK(path_of(wide) == AttentionPath::cudnn);
  wide.soft_cap = 50;
  CHECK(path_of(wide) == AttentionPath::kernels);
}

TEST_CASE("kernels of Hopper's own instructions compute what they are the fastest at") {
  const auto is_by_hopper = [](const AttentionProblem& of) {
    return path_of(of) == AttentionPath::hopper;
  };
  AttentionProblem p{1, 256, 6, 64, DType::bf16, true};
  CHECK_FALSE(is_by_hopper(p));
  p.compute_capability = 90;
  const auto changed = [&](auto change) {
    AttentionProblem other = p;
    change(other);
    return other;
  };
  for (const AttentionProblem& other :
       {p,
        changed([](AttentionProblem& o) { o.tokens = 2049; }),
        changed([](AttentionProblem& o) { o.deterministic = true; }),
        changed([](AttentionProblem& o) { o.head_size = 128; }),
        changed([](AttentionProblem& o) { o.head_size = 96; }),
        changed([](AttentionProblem& o) { o.head_size = 8, o.window = 9; }),
        changed([](AttentionProblem& o) { o.dropped = true; }),
        changed([](AttentionProblem& o) { o.dropped = o.documents = true, o.window = 9; }),
        changed([](AttentionProblem& o) { o.causal = false, o.dropped = o.padded = true; }),
        changed([](AttentionProblem& o) { o.causal = false, o.head_size = 32; }),
        changed([](AttentionProblem& o) { o.key_value_heads = 2; }),
        changed([](AttentionProblem& o) { o.value_size = 32; }),
        changed([](AttentionProblem& o) { o.documents = true; }),
        changed([](AttentionProblem& o) { o.window = 9; }),
        changed([](AttentionProblem& o) { o.head_size = 128, o.window = 256; }),
        changed([](AttentionProblem& o) { o.head_size = 128, o.window = 9, o.documents = true; }),
        changed([](AttentionProblem& o) { o.scale = 1; }),
        changed([](AttentionProblem& o) { o.causal = false; }),
        changed([](AttentionProblem& o) { o.causal = false, o.tokens = 128; }),
        changed([](AttentionProblem& o) { o.causal = false, o.value_size = 32; }),
        changed([](AttentionProblem& o) { o.causal = false, o.padded = true; }),
        changed([](AttentionProblem& o) {
          o.causal = false, o.padded = o.deterministic = true, o.tokens = 197;
        })}) {
    CAPTURE(describe(other));
    CHECK(is_by_hopper(other) == has_hopper_kernels);
  }
  for (const AttentionProblem& other :
       {changed([](AttentionProblem& o) { o.tokens = 255; }),
        changed([](AttentionProblem& o) { o.head_size = 100; }),
        changed([](AttentionProblem& o) { o.head_size = 136; }),
        changed([](AttentionProblem& o) { o.head_size = 128, o.window = 255; }),
        changed([](AttentionProblem& o) { o.head_size = 72, o.window = 255; }),
        changed([](AttentionProblem& o) { o.head_size = 96, o.dropped = true; }),
        changed([](AttentionProblem& o) { o.dtype = DType::f16; }),
        changed([](AttentionProblem& o) { o.padded = true; }),
        changed([](AttentionProblem& o) { o.causal = false, o.tokens = 127; }),
        changed([](AttentionProblem& o) { o.causal = false, o.head_size = 128; }),
        changed([](AttentionProblem& o) { o.causal = false, o.key_value_heads = 2; }),
        changed([](AttentionProblem& o) { o.causal = false, o.window = 9; }),
        changed([](AttentionProblem& o) { o.causal = false, o.scale = 1; }),
        changed([](AttentionProblem& o) { o.causal = false, o.biased = true; }),
        changed([](AttentionProblem& o) { o.causal = false, o.memory_tokens = 256; }),
        changed([](AttentionProblem& o) { o.causal = false, o.dtype = DType::f16; }),
        changed([](AttentionProblem& o) { o.causal = false, o.compute_capability = 80; }),
        changed([](AttentionProblem& o) { o.soft_cap = 30; }),
        changed([](AttentionProblem& o) { o.biased = true; }),
        changed([](AttentionProblem& o) { o.biased = o.sinks_alone = o.dropped = true; }),
        changed([](AttentionProblem& o) { o.compute_capability = 100; })}) {
    CAPTURE(describe(other), other.compute_capability);
    CHECK_FALSE(is_by_hopper(other));
  }
}

TEST_CASE("products of experts are computed by kernels for Hopper where tiles are mostly full") {
  const ExpertProduct p{90, DType::bf16, 2048, 1024};
  const auto with = [&](std::int64_t columns, std::int64_t other) {
    return is_by_hopper(ExpertProduct{90, DType::bf16, columns, other});
  };
  CHECK(is_by_hopper(p) == has_hopper_kernels);
  CHECK(is_by_hopper(ExpertProduct{90, DType::f16, 2048, 1024}) == has_hopper_kernels);
  for (const std::int64_t columns : {256, 384, 768, 1408, 2880, 28'672})
    CHECK(with(columns, 8) == has_hopper_kernels);
  for (const std::int64_t columns : {8, 128, 152, 264, 336, 2047}) CHECK_FALSE(with(columns, 1024));
  CHECK_FALSE(with(2048, 1023));
  CHECK_FALSE(is_by_hopper(ExpertProduct{90, DType::f32, 2048, 1024}));
  for (const int capability : {0, 80, 89, 100, 120})
    CHECK_FALSE(is_by_hopper(ExpertProduct{capability, DType::bf16, 2048, 1024}));
}

}  // namespace missing_test

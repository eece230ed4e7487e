// What users read where a library or a GPU is missing; on a machine with a GPU the second half has
// nothing to say.
#include <cuda_runtime_api.h>
#include "core/hopper_kernels.hpp"
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/library.hpp"
#include "support/catch.hpp"

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
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;
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
    return path_of({1, tokens, 1, head_size, type, true, false, true}, AttentionPass::backward);
  };
  CHECK(path(2, 64, DType::bf16) == AttentionPath::cudnn);
  CHECK(path(1024, 128, DType::bf16) == AttentionPath::cudnn);
  CHECK(path(1, 64, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 36, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 136, DType::bf16) == AttentionPath::kernels);
  CHECK(path(64, 64, DType::f32) == AttentionPath::kernels);
  AttentionProblem documents{1, 64, 1, 64, DType::bf16, true, false, true};
  CHECK(path_of(documents, AttentionPass::backward) == AttentionPath::cudnn);
  documents.documents = true;
  CHECK(path_of(documents, AttentionPass::backward) == AttentionPath::kernels);
}

TEST_CASE("kernels of Hopper's own instructions compute what they are the fastest at") {
  AttentionProblem p{1, 256, 1, 64, DType::bf16, true};
  const auto is_by_hopper = [](const AttentionProblem& of, AttentionPass pass) {
    return path_of(of, pass) == AttentionPath::hopper;
  };
  CHECK_FALSE(is_by_hopper(p, AttentionPass::forward));
  p.compute_capability = 90;
  for (const bool deterministic : {false, true}) {
    p.deterministic = deterministic;
    CHECK(is_by_hopper(p, AttentionPass::forward) == has_hopper_kernels);
    CHECK(is_by_hopper(p, AttentionPass::backward) == has_hopper_kernels);
  }
  AttentionProblem wide = p, longer = p;
  longer.tokens = 2049;
  CHECK(is_by_hopper(longer, AttentionPass::forward) == has_hopper_kernels);
  CHECK(is_by_hopper(longer, AttentionPass::backward) == has_hopper_kernels);
  longer.deterministic = false;
  CHECK(is_by_hopper(longer, AttentionPass::forward) == has_hopper_kernels);
  CHECK_FALSE(is_by_hopper(longer, AttentionPass::backward));
  wide.head_size = 128;
  CHECK(is_by_hopper(wide, AttentionPass::forward) == has_hopper_kernels);
  CHECK_FALSE(is_by_hopper(wide, AttentionPass::backward));
  const auto changed = [&](auto change) {
    AttentionProblem other = p;
    change(other);
    return other;
  };
  for (const AttentionProblem& other :
       {changed([](AttentionProblem& o) { o.tokens = 255; }),
        changed([](AttentionProblem& o) { o.head_size = 96; }),
        changed([](AttentionProblem& o) { o.dtype = DType::f16; }),
        changed([](AttentionProblem& o) { o.causal = false; }),
        changed([](AttentionProblem& o) { o.padded = true; }),
        changed([](AttentionProblem& o) { o.documents = true; }),
        changed([](AttentionProblem& o) { o.scale = 1; }),
        changed([](AttentionProblem& o) { o.window = 9; }),
        changed([](AttentionProblem& o) { o.dropped = true; }),
        changed([](AttentionProblem& o) { o.biased = true; }),
        changed([](AttentionProblem& o) { o.value_size = 32; }),
        changed([](AttentionProblem& o) { o.compute_capability = 100; })}) {
    CAPTURE(describe(other), other.compute_capability);
    CHECK_FALSE(is_by_hopper(other, AttentionPass::forward));
    CHECK_FALSE(is_by_hopper(other, AttentionPass::backward));
  }
}

// A worker whose GPT-2 writes where no memory is, from its second step on: what a user is told when
// a kernel fails.
#include "gpu/attestation/math_attention.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/cast/cast.hpp"
#include "model/gpt2/attention.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "trainx/worker_main.hpp"

namespace trainx::model::gpt2 {

using S = spec::AttentionSlot;
using P = spec::AttentionTensor;

Attention::Attention(const Shape& shape, bool first)
    : Sublayer(shape, {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in, P::ln_weight,
                       P::ln_bias, P::pending_bias, first}) {}
void Attention::forward(BlockContext& c) {
  train::test::MathAttention(shape_, at_.first).forward(c);
}
void Attention::backward(BlockContext& c) {
  static int calls = 0;  // two layers, one micro-step
  train::test::MathAttention(shape_, at_.first).backward(c);
  if (++calls > 2)
    gpu::require(
        kernels::cast(reinterpret_cast<float*>(64), reinterpret_cast<const kernels::Bf16*>(64), 8,
                      operations::current_gpu()->space.stream),
        "a kernel of the test");
}

}  // namespace trainx::model::gpt2

int main(int argc, char** argv) { return trainx::worker_main(argc, argv); }

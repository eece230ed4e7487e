// A worker whose GPT-2 has its attention by math: the linker takes the block from here instead of
// from the library. What a user sees of a trainx that does something else than it planned: `trainx
// --worker PATH train ...` ends with 79.
#include "gpu/attestation/math_attention.hpp"
#include "model/gpt2/attention.hpp"
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
  train::test::MathAttention(shape_, at_.first).backward(c);
}

}  // namespace trainx::model::gpt2

int main(int argc, char** argv) { return trainx::worker_main(argc, argv); }

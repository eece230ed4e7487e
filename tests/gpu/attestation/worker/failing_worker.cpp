// A worker whose GPT-2 writes where no memory is, from its second step on: what a user is told when
// a kernel fails.
#include "gpu/attestation/math_attention.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/cast/cast.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "trainx/worker_main.hpp"

using namespace trainx;

namespace {

class FailingAttention final : public train::test::MathAttention {
 public:
  using MathAttention::MathAttention;

 protected:
  void run_backward(const operations::BoundOp& op, const operations::OpContext& c) const override {
    static int calls = 0;  // two layers, one micro-step
    MathAttention::run_backward(op, c);
    if (std::holds_alternative<operations::Attention>(op.operation) && ++calls > 2)
      gpu::require(
          kernels::cast(reinterpret_cast<float*>(64), reinterpret_cast<const kernels::Bf16*>(64), 8,
                        operations::current_gpu()->space.stream),
          "a kernel of the test");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::set_block_factory([](auto composition, std::size_t index, std::int64_t batch) {
    return std::make_unique<FailingAttention>(composition, index, batch);
  });
  return worker_main(argc, argv);
}

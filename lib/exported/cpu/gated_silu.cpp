#include "exported/cpu/gated_silu.hpp"
#include "operations/activation/pointwise_rows.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto silu = operations::Activation::silu;
constexpr std::int64_t grain = 16384;

struct GatedSilu : torch::autograd::Function<GatedSilu> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor x = gate.contiguous(), y = up.contiguous(), to = at::empty_like(x);
    const float *const a = x.const_data_ptr<float>(), *const b = y.const_data_ptr<float>();
    float* const out = to.mutable_data_ptr<float>();
    tensor::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      operations::gate_row(silu, out + begin, a + begin, b + begin, end - begin);
    });
    c->save_for_backward({x, y});
    return to;
  }

  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const variable_list saved = c->get_saved_variables();
    const at::Tensor d = gradients[0].contiguous(), d_gate = at::empty_like(d),
                     d_up = at::empty_like(d);
    const float *const g = d.const_data_ptr<float>(), *const a = saved[0].const_data_ptr<float>(),
                       *const b = saved[1].const_data_ptr<float>();
    float *const da = d_gate.mutable_data_ptr<float>(), *const db = d_up.mutable_data_ptr<float>();
    tensor::parallel_for(0, d.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      operations::gate_row_backward(silu, da + begin, db + begin, g + begin, a + begin, b + begin,
                                    end - begin);
    });
    return {d_gate, d_up};
  }
};

}  // namespace

at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up) {
  return GatedSilu::apply(gate, up);
}

}  // namespace trainx::exported::cpu

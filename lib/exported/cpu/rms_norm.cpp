#include "exported/cpu/rms_norm.hpp"
#include "operations/norm/any_norm.hpp"
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

operations::NormForm form_of(double epsilon) {
  operations::NormForm form;
  form.rms = true, form.epsilon = epsilon;
  return form;
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& x, const at::Tensor& weight,
                            double epsilon) {
    const at::Tensor rows = x.contiguous().view({-1, x.size(-1)}), to = at::empty_like(rows),
                     scale = weight.contiguous(), rstd = at::empty({rows.size(0)}, x.options());
    operations::any_norm(form_of(epsilon), {rows, {}, rstd, to}, {}, {}, {}, scale, {}, {});
    c->save_for_backward({rows, scale, rstd});
    c->saved_data["epsilon"] = epsilon;
    return to.view(x.sizes());
  }

  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const variable_list saved = c->get_saved_variables();
    const at::Tensor &rows = saved[0], &scale = saved[1], &rstd = saved[2];
    const at::Tensor d = gradients[0].contiguous().view(rows.sizes()), dx = at::empty_like(rows),
                     d_weight = at::empty_like(scale);
    const operations::NormForm form = form_of(c->saved_data["epsilon"].toDouble());
    operations::any_norm_backward(form, {dx, {}, d_weight, {}, {}}, {}, d, rows, {}, rstd, scale,
                                  {});
    return {dx.view(gradients[0].sizes()), d_weight, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return RmsNorm::apply(x, weight, epsilon);
}

}  // namespace trainx::exported::cpu

#include "operations/module/keyed_dropout.hpp"
#include "operations/dropout/dropout.hpp"
#include "trainx/dropout.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/ones.h>
#include <c10/util/StringUtil.h>
#include <stdexcept>
#include <utility>

namespace trainx::operations {
namespace {

thread_local DropoutScope* scope = nullptr;
constexpr std::uint32_t most_sites = 256;  // kernels/random/dropout.hpp

}  // namespace

DropoutScope::DropoutScope(tensor::RandomKey key, at::Tensor positions)
    : key_(key), positions_(std::move(positions)), before_(std::exchange(scope, this)) {}
DropoutScope::~DropoutScope() { scope = before_; }

DropoutScope* DropoutScope::current() { return scope; }

bool DropoutScope::takes(const at::Tensor& x) const {
  const std::int64_t samples = positions_.numel();
  return x.dim() >= 1 && x.size(0) >= samples && x.size(0) % samples == 0 &&
         x.is_floating_point() && sites_ < most_sites;
}

at::Tensor DropoutScope::drop(const at::Tensor& x, double probability) {
  const std::int64_t samples = positions_.numel();
  if (sites_ == most_sites)
    throw std::invalid_argument("its forward calls trainx::dropout more than 256 times");
  if (!takes(x))
    throw std::invalid_argument(c10::str("trainx::dropout is given ", x.sizes(), " of ",
                                         x.scalar_type(),
                                         "; it takes floating tensors whose first dimension is a "
                                         "multiple of the micro-batch, ",
                                         samples));
  tensor::RandomKey key = key_;
  key.site = sites_++;
  at::Tensor dropped;
  {
    const at::NoGradGuard no_gradients;
    const at::Tensor factors = at::ones({x.size(0), x.numel() / x.size(0)}, x.options());
    const Dropout how{probability, key, positions_.const_data_ptr<std::int64_t>(),
                      x.size(0) / samples, 0};
    drop_out(Tensor(factors), Tensor(factors), how);
    dropped = factors.eq(0).view(x.sizes());
  }
  return x.masked_fill(dropped, 0) * (1 / (1 - probability));
}

}  // namespace trainx::operations

namespace trainx {

at::Tensor dropout(const at::Tensor& x, double probability, bool training) {
  if (!(probability >= 0) || probability >= 1)
    throw std::invalid_argument(
        c10::str("trainx::dropout: probability ", probability, " is not in [0, 1)"));
  if (!training || probability == 0) return x;
  operations::DropoutScope* const scope = operations::DropoutScope::current();
  return scope ? scope->drop(x, probability) : at::dropout(x, probability, true);
}

}  // namespace trainx

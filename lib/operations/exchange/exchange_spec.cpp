#include "operations/exchange/exchange_spec.hpp"

namespace trainx::operations {

using program::ExchangeKind;

std::vector<OutputSpec> Exchange::outputs(const Types& t) const {
  TensorType to = t.inputs[x];
  switch (kind) {
    case ExchangeKind::rows_to_all: to.dims.front() *= ranks; break;
    case ExchangeKind::sums_to_rows: to.dims.front() /= ranks; break;
    case ExchangeKind::parts_to_ranks: break;
    default: to.dims.insert(to.dims.begin(), ranks);
  }
  return {{"exchanged", std::move(to), {input(x)}}};
}

BackwardSpec Exchange::backward(const Types& t) const {
  if (kind == ExchangeKind::numbers_to_all || t.inputs[x].dtype == DType::i32) return {};
  return {.inputs = {{.input = x}}};
}

Cost Exchange::cost(Direction, const Types&) const { return {}; }

std::optional<Split> Exchange::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Exchange::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations

#include "operations/op_context.hpp"
#include "core/error.hpp"

namespace trainx::operations {

using program::Role;

Tensor OpContext::operand(Slot s) const {
  if (!is_used(s)) return {};
  const Tensor& t = block_[s];
  if (bound_.chunk == 0 || rows_.count == 0) return t;
  switch (block_.role(s)) {
    case Role::scratch:
      if (s == bound_.row_index || s == bound_.row_targets)
        return t.narrow(0, rows_.first, rows_.count);
      // operands of the operation as a whole are of no row
      return t.dim() > 0 && t.size(0) == bound_.chunk ? t.narrow(0, rows_.at, rows_.count) : t;
    case Role::value:
    case Role::value_gradient: return picks_rows() ? t : t.narrow(0, rows_.first, rows_.count);
    case Role::batch:
      return s == bound_.targets ? t.view({-1}).narrow(0, rows_.first, rows_.count) : t;
    default: return t;
  }
}

Tensor OpContext::parameter_in(int i, bool gradient) const {
  if (!has(op_.parameters, i)) return {};
  const BoundParameter& p = op_.parameters[static_cast<std::size_t>(i)];
  const Slot s = gradient ? p.gradient : p.value;
  if (!is_used(s)) return {};
  return block_.joined(s, p.first, p.count);
}

Tensor OpContext::fp8_scale(int parameter) const {
  const BoundParameter& p = op_.parameters[static_cast<std::size_t>(parameter)];
  return block_[bound_.fp8_scales].view({-1}).narrow(
      0, block_.parameter(p.value, p.first).fp8_scale * program::fp8_scale_stride, 1);
}

ModuleState& OpContext::module() const {
  if (!module_) throw InternalError("a block of a module was made without the module");
  return *module_;
}

bool OpContext::accumulates(int parameter) const {
  if (!has(op_.parameters, parameter)) return false;
  const Slot s = op_.parameters[static_cast<std::size_t>(parameter)].gradient;
  return s != program::none && ((bound_.chunk > 0 && !is_first_chunk()) || block_.accumulates(s));
}

Dropout OpContext::dropout(double probability, int positions, std::int64_t length, int site) const {
  if (!(probability > 0) || !block_.training()) return {};
  const Tensor at = whole(slot(op_.inputs, positions));
  const std::int64_t first = picks_rows() ? 0 : rows_.first;
  // where samples have one row, such as the first of their tokens', it is a sample's number
  const std::int64_t own =
      bound_.rows_of_part > 0 ? row_part() * bound_.rows_of_part * length / bound_.length : 0;
  return {probability, block_.random_key(site), at.as<const std::int64_t>(), length, first + own};
}

}  // namespace trainx::operations

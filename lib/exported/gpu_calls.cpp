#include "exported/gpu_calls.hpp"
#include <algorithm>
#include <array>
#include <string_view>

namespace trainx::exported {
namespace {

c10::OperatorHandle operator_named(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

/// masked_fill(x, mask, value) reads its value on the host.
void fill_by_where(Call& call) {
  std::swap(call.slots[0], call.slots[2]);  // value, mask, x
  std::swap(call.slots[0], call.slots[1]);
  call.op = operator_named("aten::where", "self");
}

/// Of (query, key, value, dropout_p, is_causal, attn_mask, scale), where nobody reads its second
/// result.
void attend_anywhere(Call& call) {
  if (std::ranges::find(call.frees, call.outputs.at(1)) == call.frees.end()) return;
  std::vector<Slot>& s = call.slots;
  std::rotate(s.begin() + 3, s.begin() + 5, s.begin() + 6);  // the mask comes first
  s.push_back({.constant = false});                          // enable_gqa
  call.op = operator_named("aten::scaled_dot_product_attention");
  call.outputs.pop_back();
  call.drawing = 4;
}

}  // namespace

void suit_gpu(Call& call) {
  const c10::OperatorName& name = call.op->operator_name();
  if (name.name == "aten::masked_fill" && name.overload_name == "Tensor") fill_by_where(call);
  if (name.name == "aten::_scaled_dot_product_flash_attention_for_cpu") attend_anywhere(call);
}

bool takes_host_numbers(const std::string& op) {
  constexpr std::array<std::string_view, 11> arithmetic{
      "aten::add", "aten::sub", "aten::rsub", "aten::mul", "aten::div", "aten::eq",
      "aten::ne",  "aten::lt",  "aten::le",   "aten::gt",  "aten::ge"};
  return std::ranges::find(arithmetic, op) != arithmetic.end();
}

}  // namespace trainx::exported

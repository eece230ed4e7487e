#include "exported/fusions.hpp"
#include "exported/cpu/fusions.hpp"
#include "exported/cpu/rms_norm.hpp"
#include "exported/makers.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/rsqrt.h>
#include <algorithm>
#include <cmath>
#include <optional>

namespace trainx::exported {
namespace {

/// The value that a call multiplies by a number, or adds it to; -1: it does not.
std::int64_t beside_number(const Call* call, double number) {
  if (!call) return -1;
  for (const int k : {0, 1})
    if (is_number(call->slots.at(static_cast<std::size_t>(k)), number))
      return call->slots.at(static_cast<std::size_t>(1 - k)).value;
  return -1;
}

/// x of x + 0.044715 x^3; -1: it is another.
std::int64_t bent(const Makers& makers, const Slot& slot) {
  const Call* const sum = makers.of(slot, "aten::add");
  if (!sum || !is_plain_sum(*sum)) return -1;
  for (const std::size_t k : {0U, 1U}) {
    const std::int64_t x = sum->slots[k].value;
    const Call* const scaled = makers.of(sum->slots[1 - k], "aten::mul");
    const std::int64_t power = beside_number(scaled, 0.044715);
    const Call* const cube = power < 0 ? nullptr : makers.of(slot_of(power), "aten::pow");
    if (cube && is_value(cube->slots[0], x) && is_number(cube->slots[1], 3)) return x;
  }
  return -1;
}

/// x of tanh(sqrt(2 / pi) (x + 0.044715 x^3)) + 1; -1: it is another.
std::int64_t gate(const Makers& makers, const Slot& slot) {
  const Call* const sum = makers.of(slot, "aten::add");
  const std::int64_t of_sum = sum && is_plain_sum(*sum) ? beside_number(sum, 1) : -1;
  const Call* const tanh = of_sum < 0 ? nullptr : makers.of(slot_of(of_sum), "aten::tanh");
  const Call* const scaled = tanh ? makers.of(tanh->slots[0], "aten::mul") : nullptr;
  const std::int64_t inner = beside_number(scaled, std::sqrt(2 / 3.14159265358979323846));
  return inner < 0 ? -1 : bent(makers, slot_of(inner));
}

/// 0.5 x (1 + tanh(...)), as GPT-2 writes it.
bool fuse_gelu(const Makers& makers, Call& call) {
  if (call.op->schema().name() != "aten::mul") return false;
  for (const std::size_t k : {0U, 1U}) {
    const std::int64_t x = beside_number(makers.of(call.slots[k], "aten::mul"), 0.5);
    if (x < 0 || gate(makers, call.slots[1 - k]) != x) continue;
    Slot approximation;
    approximation.constant = "tanh";
    call.op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::gelu", "");
    call.slots = {slot_of(x), approximation};
    return true;
  }
  return false;
}

/// (x, weight, eps): x / sqrt(mean(x^2) + eps) * weight over the last dimension.
void rms_norm(std::vector<c10::IValue>& stack) {
  const at::Tensor x = stack.at(0).toTensor(), weight = stack.at(1).toTensor();
  const double eps = stack.at(2).toScalar().toDouble();
  if (weight.dim() == 1 && weight.size(0) == x.size(-1) &&
      weight.scalar_type() == x.scalar_type()) {
    const bool own = x.is_cpu() && x.scalar_type() == at::kFloat;
    stack = {own ? cpu::rms_norm(x, weight, eps) : at::rms_norm(x, weight.sizes(), weight, eps)};
    return;
  }
  const at::Tensor wide = x.to(at::kFloat);
  stack = {weight * (wide * at::rsqrt(wide.square().mean(-1, true) + eps)).to(x.scalar_type())};
}

/// What a call casts; the slot itself where it is no cast.
Slot before_cast(const Makers& makers, const Slot& slot) {
  for (const std::string_view cast : {"aten::_to_copy", "aten::to"})
    if (const Call* call = makers.of(slot, cast)) return call->slots[0];
  return slot;
}

struct Scaled {
  std::int64_t x = -1;
  Slot eps;
};

/// x and eps of x * rsqrt(mean(x^2) + eps), computed in x's type or a wider one.
std::optional<Scaled> scaled_by_root(const Makers& makers, const Slot& slot) {
  const Call* const product = makers.of(slot, "aten::mul");
  if (!product) return std::nullopt;
  for (const std::size_t k : {0U, 1U}) {
    const Call* const root = makers.of(product->slots[1 - k], "aten::rsqrt");
    const Call* const sum = root ? makers.of(root->slots[0], "aten::add") : nullptr;
    const Call* const mean = sum && is_plain_sum(*sum) ? makers.of(sum->slots[0], "aten::mean")
                                                       : nullptr;
    const Call* const square = mean ? makers.of(mean->slots[0], "aten::pow") : nullptr;
    if (!square || !is_number(square->slots[1], 2) || !number_of(sum->slots[1])) continue;
    const std::vector<Slot>& over = mean->slots.at(1).items;
    const bool of_rows = over.size() == 1 && is_number(over[0], -1) &&
                         mean->slots.at(2).constant.isBool() && mean->slots[2].constant.toBool();
    const std::int64_t x = before_cast(makers, square->slots[0]).value;
    if (of_rows && x >= 0 && before_cast(makers, product->slots[k]).value == x)
      return Scaled{x, sum->slots[1]};
  }
  return std::nullopt;
}

bool fuse_rms_norm(const Makers& makers, Call& call) {
  if (call.op->schema().name() != "aten::mul") return false;
  for (const std::size_t k : {0U, 1U}) {
    const Slot weight = call.slots[k];
    const auto scaled = scaled_by_root(makers, before_cast(makers, call.slots[1 - k]));
    if (!scaled || weight.value < 0 || weight.value == scaled->x) continue;
    Slot eps = scaled->eps;
    eps.wraps_number = false;
    call.slots = {slot_of(scaled->x), weight, eps};
    call.op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::rms_norm", "");
    call.fused = rms_norm;
    return true;
  }
  return false;
}

/// Nothing changes its input, so that a copy is as good as what it is of.
void share_copy(Call& call) {
  if (call.op->schema().name() != "aten::clone") return;
  call.op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::alias", "");
  call.slots.resize(1);
}

void drop_unread(PreparedGraph& graph) {
  std::vector<bool> read(graph.values, false);
  const auto reads = [&](std::int64_t v) {
    if (v >= 0) read[static_cast<std::size_t>(v)] = true;
  };
  for (const std::int64_t r : graph.results) reads(r);
  std::vector<Call> kept;
  for (auto call = graph.calls.rbegin(); call != graph.calls.rend(); ++call) {
    const bool is_read = std::ranges::any_of(
        call->outputs, [&](std::int64_t v) { return read[static_cast<std::size_t>(v)]; });
    if (!is_read) continue;
    for (const Slot& s : call->slots) {
      reads(s.value);
      for (const Slot& item : s.items) reads(item.value);
    }
    kept.push_back(std::move(*call));
  }
  std::ranges::reverse(kept);
  graph.calls = std::move(kept);
}

}  // namespace

void fuse(PreparedGraph& graph, bool on_gpu) {
  const Makers makers(graph);
  const bool on_cpu_in_fp32 = !on_gpu && cpu::can_fuse(graph);
  for (Call& call : graph.calls) {
    if (!call.op) continue;
    if (fuse_gelu(makers, call)) continue;
    if ((on_gpu || on_cpu_in_fp32) && fuse_rms_norm(makers, call)) continue;
    if (on_cpu_in_fp32 && cpu::fuse(makers, call)) continue;
    share_copy(call);
  }
  drop_unread(graph);
  find_frees(graph);
}

}  // namespace trainx::exported

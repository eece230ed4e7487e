#include "exported/cpu/fusions.hpp"
#include "exported/cpu/gated_silu.hpp"
#include "exported/cpu/masked.hpp"
#include "exported/cpu/rotation.hpp"
#include "exported/cpu/small_table.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>
#include <algorithm>
#include <limits>

namespace trainx::exported::cpu {
namespace {

bool is_fp32(const at::Tensor& t) { return t.scalar_type() == at::kFloat; }

/// (gate, up)
void silu_times(std::vector<c10::IValue>& stack) {
  const at::Tensor gate = stack.at(0).toTensor(), up = stack.at(1).toTensor();
  if (gate.sizes() == up.sizes() && is_fp32(gate) && is_fp32(up))
    stack = {gated_silu(gate, up)};
  else
    stack = {at::silu(gate) * up};
}

bool fuse_gated_silu(const Makers& makers, Call& call) {
  if (call.op->schema().name() != "aten::mul") return false;
  for (const std::size_t k : {0U, 1U}) {
    const Call* const silu = makers.of(call.slots[k], "aten::silu");
    if (!silu || call.slots[1 - k].value < 0) continue;
    call.slots = {silu->slots[0], call.slots[1 - k]};
    call.fused = silu_times;
    return true;
  }
  return false;
}

/// (x, cos, sin, dimension, half)
void rotate(std::vector<c10::IValue>& stack) {
  const at::Tensor x = stack.at(0).toTensor(), cos = stack.at(1).toTensor(),
                   sin = stack.at(2).toTensor();
  const std::int64_t dimension = stack.at(3).toInt(), half = stack.at(4).toInt();
  const bool of_columns = dimension == -1 || dimension == x.dim() - 1;
  if (of_columns && 2 * half == x.size(-1) && can_rotate(x, cos, sin)) {
    stack = {rotated(x, cos, sin)};
    return;
  }
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  const at::Tensor first = x.slice(dimension, 0, half), second = x.slice(dimension, half, end);
  stack = {x * cos + at::cat({-second, first}, -1) * sin};
}

/// The dimension and the bound between two halves of x.
struct Halves {
  std::int64_t x = -1;
  Slot dimension, half;
};

/// Of [-x2, x1], halves of the last dimension.
std::optional<Halves> turned_halves(const Makers& makers, const Slot& slot) {
  const Call* const cat = makers.of(slot, "aten::cat");
  if (!cat || cat->slots[0].items.size() != 2 || !is_number(cat->slots.at(1), -1))
    return std::nullopt;
  const Call* const negative = makers.of(cat->slots[0].items[0], "aten::neg");
  const Call* const second = negative ? makers.of(negative->slots[0], "aten::slice") : nullptr;
  const Call* const first = makers.of(cat->slots[0].items[1], "aten::slice");
  if (!first || !second) return std::nullopt;
  // slots of slice: x, dimension, start, end, step
  const auto bound = number_of(first->slots.at(3)), start = number_of(second->slots.at(2)),
             along = number_of(first->slots[1]);
  const bool halves = is_value(first->slots[0], second->slots[0].value) && bound && start &&
                      along && *bound > 0 && *bound == *start &&
                      is_number(second->slots[1], *along) && is_number(first->slots[2], 0) &&
                      is_number(first->slots.at(4), 1) && is_number(second->slots.at(4), 1) &&
                      number_of(second->slots[3]).value_or(0) >= 0x1p62;
  if (!halves) return std::nullopt;
  return Halves{first->slots[0].value, first->slots[1], first->slots[3]};
}

/// x * cos + [-x2, x1] * sin
bool fuse_rotation(const Makers& makers, Call& call) {
  if (call.op->schema().name() != "aten::add" || !is_plain_sum(call)) return false;
  const Call* const straight = makers.of(call.slots[0], "aten::mul");
  const Call* const across = makers.of(call.slots[1], "aten::mul");
  if (!straight || !across) return false;
  for (const std::size_t a : {0U, 1U})
    for (const std::size_t b : {0U, 1U}) {
      const auto halves = turned_halves(makers, across->slots[a]);
      const Slot &sin = across->slots[1 - a], &cos = straight->slots[1 - b];
      if (!halves || !is_value(straight->slots[b], halves->x) || sin.value < 0 || cos.value < 0)
        continue;
      call.slots = {slot_of(halves->x), cos, sin, halves->dimension, halves->half};
      call.fused = rotate;
      return true;
    }
  return false;
}

/// As embedding's arguments: (table, ids, padding, scales by frequency, sparse)
void read_table(std::vector<c10::IValue>& stack) {
  const at::Tensor table = stack.at(0).toTensor(), ids = stack.at(1).toTensor();
  if (is_small_table(table, ids))
    stack = {small_table_rows(table, ids)};
  else
    stack = {at::embedding(table, ids, stack.at(2).toInt())};
}

/// Where every row has its gradient.
bool fuse_table(Call& call) {
  if (call.op->schema().name() != "aten::embedding") return false;
  const auto padding = number_of(call.slots.at(2));
  if (!padding || *padding >= 0 || !is_number(call.slots.at(3), 0) ||
      !is_number(call.slots.at(4), 0))
    return false;
  call.fused = read_table;
  return true;
}

/// (kept, x, number)
void keep_or_number(std::vector<c10::IValue>& stack) {
  const at::Tensor kept = stack.at(0).toTensor(), x = stack.at(1).toTensor();
  const at::Scalar number = stack.at(2).toScalar();
  stack = {can_mask(kept, x) ? masked(kept, x, number.toDouble()) : at::where(kept, x, number)};
}

bool fuse_mask(Call& call) {
  if (call.op->schema().name() != "aten::where" || call.slots.size() != 3) return false;
  if (call.slots[0].value < 0 || call.slots[1].value < 0 || !number_of(call.slots[2])) return false;
  call.slots[2].wraps_number = false;
  call.fused = keep_or_number;
  return true;
}

}  // namespace

bool can_fuse(const PreparedGraph& graph) {
  return std::ranges::all_of(graph.operand_types, [](at::ScalarType type) {
    return !c10::isFloatingType(type) || type == at::kFloat;
  });
}

bool fuse(const Makers& makers, Call& call) {
  return fuse_gated_silu(makers, call) || fuse_rotation(makers, call) || fuse_table(call) ||
         fuse_mask(call);
}

}  // namespace trainx::exported::cpu

#include "exported/keyed_calls.hpp"
#include "operations/module/keyed_dropout.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::exported {
namespace {

using operations::DropoutScope;

struct Attention {
  at::Tensor query, key, value;  // [..., T, head]
  std::optional<at::Tensor> mask;
  double probability = 0;
  bool causal = false;
  std::optional<double> scale;
  bool grouped = false;  // several heads of the query share one of key and value
};

/// The mask as LibTorch adds it to scores; undefined: there is none.
at::Tensor added_mask(const Attention& a, const at::Tensor& scores) {
  at::Tensor seen;
  if (a.causal)
    seen = at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).tril();
  else if (a.mask && a.mask->scalar_type() != at::kBool)
    return *a.mask;
  else if (a.mask)
    seen = *a.mask;
  if (!seen.defined()) return seen;
  const double hidden = -std::numeric_limits<double>::infinity();
  return at::zeros(seen.sizes(), scores.options()).masked_fill(seen.logical_not(), hidden);
}

/// As LibTorch computes attention with dropout where it has no kernel for it.
at::Tensor attention(DropoutScope& scope, const Attention& a) {
  at::Tensor key = a.key, value = a.value;
  if (a.grouped) {
    const std::int64_t times = a.query.size(-3) / key.size(-3);
    key = key.repeat_interleave(times, -3), value = value.repeat_interleave(times, -3);
  }
  const double width = static_cast<double>(a.query.size(-1));
  const double root = std::sqrt(a.scale.value_or(1 / std::sqrt(width)));
  at::Tensor scores = at::matmul(a.query * root, (key * root).transpose(-2, -1));
  if (const at::Tensor mask = added_mask(a, scores); mask.defined()) scores = scores + mask;
  return at::matmul(scope.drop(at::softmax(scores, -1), a.probability), value);
}

bool drop(DropoutScope& scope, std::vector<c10::IValue>& stack) {
  const at::Tensor x = stack.at(0).toTensor();
  const double probability = stack.at(1).toDouble();
  const bool trains = stack.at(2).isNone() || stack[2].toBool();
  if (!trains || probability <= 0 || probability >= 1 || !scope.takes(x)) return false;
  stack = {scope.drop(x, probability)};
  return true;
}

/// Its second result says what was dropped, which only a backward of its own reads.
bool drop_with_mask(DropoutScope& scope, const Call& call, std::vector<c10::IValue>& stack) {
  if (std::ranges::find(call.frees, call.outputs.at(1)) == call.frees.end()) return false;
  if (!drop(scope, stack)) return false;
  stack.emplace_back();
  return true;
}

bool attend(DropoutScope& scope, std::vector<c10::IValue>& stack) {
  Attention a{stack.at(0).toTensor(),           stack.at(1).toTensor(),
              stack.at(2).toTensor(),           stack.at(3).toOptional<at::Tensor>(),
              stack.at(4).toDouble(),           stack.at(5).toBool(),
              stack.at(6).toOptional<double>(), stack.at(7).toBool()};
  if (a.probability <= 0 || a.probability >= 1 || !scope.takes(a.query)) return false;
  stack = {attention(scope, a)};
  return true;
}

}  // namespace

bool call_keyed(const Call& call, std::vector<c10::IValue>& stack) {
  DropoutScope* const scope = DropoutScope::current();
  if (!scope) return false;
  const std::string& name = call.op->schema().name();
  if (name == "aten::dropout") return drop(*scope, stack);
  if (name == "aten::native_dropout") return drop_with_mask(*scope, call, stack);
  return name == "aten::scaled_dot_product_attention" && attend(*scope, stack);
}

}  // namespace trainx::exported

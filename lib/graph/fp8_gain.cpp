#include "graph/fp8_gain.hpp"
#include "graph/model.hpp"
#include <map>
#include <utility>
#include <vector>

namespace trainx::graph {
namespace {

using operations::Activation;
using operations::Fp8Scaling;
using operations::Gated;
using operations::Linear;

constexpr std::int64_t of_16_bits = 2;

/// Disjoint sets of operations that use fp8 together or not at all.
class Units {
 public:
  explicit Units(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) of_.push_back(i);
  }
  std::size_t of(std::size_t i) const {
    while (of_[i] != i) i = of_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) { of_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> of_;
};

/// Seconds of a cast: a fixed time, and the bytes it moves beyond those of the 16-bit path.
class Casts {
 public:
  Casts(const program::Rates& rates, Fp8Scaling scaling)
      : rates_(rates), reads_(operations::reads_of_cast(scaling)) {}

  /// Cast of a stored value or gradient.
  double plain(std::int64_t elements, int copies) const {
    return seconds(elements * (of_16_bits * reads_ + copies)) + rates_.fp8_cast_s;
  }
  /// Cast that computes an activation. The 16-bit product would write it beside its sum.
  double activated(std::int64_t elements, int copies) const {
    return seconds(elements * (of_16_bits * (reads_ - 1) + copies)) + rates_.fp8_cast_s;
  }
  /// Cast that multiplies a gradient by an activation's derivative. The 16-bit product would do so.
  double derived(std::int64_t elements, int copies) const {
    return seconds(elements * (of_16_bits * (2 * reads_ - 1) + copies)) + rates_.fp8_cast_s;
  }
  /// Cast that replaces the kernel of a gate, or of its gradient: two reads and one write.
  double in_place_of_kernel(std::int64_t elements, int copies) const {
    return seconds(elements * (2 * of_16_bits * reads_ + copies - 3 * of_16_bits)) +
           (reads_ - 1) * rates_.fp8_cast_s;
  }

 private:
  double seconds(std::int64_t bytes) const {
    return static_cast<double>(bytes) / rates_.memory_bytes_per_s;
  }
  const program::Rates& rates_;
  int reads_;
};

/// Linear layer with sizes that a GPU can multiply in fp8.
struct Product {
  const Linear* operation;
  operations::Types types;
  std::int64_t n, in, out;
  bool trains, wants_input;
  bool before_gate = false;  // its cast computes the gate's gradient

  int copies_of_gradient() const { return wants_input + trains; }
};

class Products {
 public:
  Products(const Model& model, const Block& block, const Fp8Costs& costs, Fp8Scaling scaling)
      : ops_(block.ops), casts_(costs.rates, scaling), units_(block.ops.size()) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (const ValueId v : ops_[i].outputs) makers_[v] = i;
      const auto* const linear = std::get_if<Linear>(&ops_[i].operation);
      if (!linear) continue;
      Product p{linear, model.types_of(ops_[i]), 0, 0, 0, false, false};
      if (!operations::gpu_multiplies_fp8(p.types)) continue;
      p.n = p.types.inputs[Linear::x].rows() * costs.tokens / model.rows();
      p.in = p.types.parameters[Linear::weight].columns();
      p.out = p.types.parameters[Linear::weight].rows();
      p.trains = p.types.trains(Linear::weight);
      p.wants_input = p.types.wants_gradient(
          linear->input_activation == Activation::none ? Linear::x : Linear::input_sum);
      products_.emplace(i, std::move(p));
      add_input(i, scaling == Fp8Scaling::delayed);
    }
  }

  /// Places of the products whose unit gains nothing. `saved(product)`: seconds that fp8 saves in
  /// its three matrix products.
  template <class Saved>
  std::set<std::size_t> without_gain(const Saved& saved, std::int64_t micro_steps) {
    std::map<std::size_t, double> gains;  // by unit
    for (const auto& [i, p] : products_)
      gains[units_.of(i)] += saved(p) - input_s_[i] - gradient_s(p) - weight_s(p, micro_steps);
    std::set<std::size_t> out;
    for (const auto& [i, p] : products_)
      if (gains[units_.of(i)] <= 0) out.insert(i);
    return out;
  }

 private:
  /// Products that read one value share its cast. A cast computes an activation or a gate only if
  /// the product before it is in fp8 too.
  void add_input(std::size_t i, bool delayed) {
    const Product& p = products_.at(i);
    const ValueId x = ops_[i].inputs[Linear::x];
    const auto [reader, is_first] = readers_.try_emplace(x, i);
    units_.join(i, reader->second);
    if (!is_first) return;
    const std::int64_t elements = p.n * p.in;
    const int copies = 1 + p.trains;
    const auto maker = makers_.find(x);
    const auto* const gate =
        maker == makers_.end() ? nullptr : std::get_if<Gated>(&ops_[maker->second].operation);
    const bool activated = p.operation->input_activation != Activation::none;
    input_s_[i] = gate        ? casts_.in_place_of_kernel(elements, copies)
                  : activated ? casts_.activated(elements, copies)
                              : casts_.plain(elements, copies);
    if (!gate && !activated) return;
    const auto before = gate ? makers_.find(ops_[maker->second].inputs[Gated::x]) : maker;
    if (before == makers_.end() || !products_.contains(before->second)) return;
    units_.join(i, before->second);
    products_.at(before->second).before_gate = gate && delayed;
  }

  /// Of a micro-step. One that is not trained is cast once a run, and counts as nothing also where
  /// memory or modes do not allow that: what is in fp8 does not depend on them.
  double weight_s(const Product& p, std::int64_t micro_steps) const {
    return p.trains
               ? casts_.plain(p.in * p.out, 1 + p.wants_input) / static_cast<double>(micro_steps)
               : 0;
  }

  double gradient_s(const Product& p) const {
    const int copies = p.copies_of_gradient();
    const std::int64_t elements = p.n * p.out;
    return copies == 0                         ? 0
           : p.before_gate                     ? casts_.in_place_of_kernel(elements, copies)
           : p.operation->epilogue.activates() ? casts_.derived(elements, copies)
                                               : casts_.plain(elements, copies);
  }

  const std::vector<Node>& ops_;
  Casts casts_;
  Units units_;
  std::map<ValueId, std::size_t> makers_, readers_;
  std::map<std::size_t, Product> products_;
  std::map<std::size_t, double> input_s_;
};

}  // namespace

std::set<std::size_t> Fp8Gains::without(const Model& model, const Block& block,
                                        Fp8Scaling scaling) {
  const auto saved = [&](const Product& p) {
    double seconds = 0;
    const auto multiply = [&](program::Gemm g) {
      seconds += times_.of(g, model.compute).seconds;
      g.fp8 = true;
      seconds -= times_.of(g, model.compute).seconds;
    };
    multiply({.m = p.n, .n = p.out, .k = p.in});
    if (p.wants_input) multiply({.m = p.n, .n = p.in, .k = p.out});
    if (p.trains) multiply({.m = p.out, .n = p.in, .k = p.n, .a_transposed = true});
    return seconds;
  };
  return Products(model, block, costs_, scaling).without_gain(saved, costs_.micro_steps);
}

}  // namespace trainx::graph

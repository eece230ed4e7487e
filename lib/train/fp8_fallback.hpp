// precision.fallback: which products saturate beyond the limit, from what steps count.
#pragma once
#include "graph/fp8_product.hpp"
#include "program/model_graph.hpp"
#include "train/train_state.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::train {

/// A product of which a tensor was saturated.
struct SaturatedProduct {
  std::string weight;       // graph::Fp8Product::weight
  const char* tensor = "";  // "input", "weight", "output gradient": the one of largest share
  double share = 0;         // of its elements, mean over the window's steps
};

/// What the counts of steps (program::fp8_counts) say of the products of a graph.
class Fp8Products {
 public:
  explicit Fp8Products(const program::ModelGraph& graph);
  /// Adds a step's shares to state.fp8_saturation.
  void add(TrainState& state, const std::vector<double>& counts) const;
  /// Products with a tensor whose mean share over `window` steps is above `limit`, in the order of
  /// the model.
  std::vector<SaturatedProduct> above(double limit, std::int64_t window,
                                      const TrainState& state) const;
  /// The first of `fallback` whose weight or output gradient a step cast to fp8 all the same;
  /// empty: none.
  std::string cast_in_spite(const std::vector<std::string>& fallback,
                            const std::vector<double>& counts) const;
  std::size_t size() const { return products_.size(); }

 private:
  std::size_t tensors() const;
  /// Of class `of`: operations::Fp8Site's number.
  std::int64_t tensor(int of, int block, int number) const;

  std::vector<graph::Fp8Product> products_;
  // Dimensions of counts behind the class: blocks of the model before ranks have parts of them, and
  // tensors of one.
  std::int64_t blocks_ = 0, most_ = 0;
};

/// "step 200: 2 % of the elements of the weight of NAME ... compute in bf16 from step 201 on".
std::string fallback_sentence(const std::vector<SaturatedProduct>& products, std::int64_t step,
                              double limit, std::int64_t window, const std::string& compute);

}  // namespace trainx::train

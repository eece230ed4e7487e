// The same model with fewer layers, for estimates: layers are alike, so that bytes and seconds grow
// by the same amount with each.
#pragma once
#include "plan/draft.hpp"
#include <optional>

namespace trainx::plan {

/// Two depths of a model from which that of `layers` layers can be extrapolated.
struct FewerLayers {
  architectures::ModelDims few, more;
  std::int64_t layers = 0, layers_of_few = 0, layers_of_more = 0;
  /// What the whole model has, from what the two have.
  double extrapolated(double of_few, double of_more) const {
    return of_few + (of_more - of_few) * static_cast<double>(layers - layers_of_few) /
                        static_cast<double>(layers_of_more - layers_of_few);
  }
};

/// Nothing if the model has so few layers that all of them are planned as fast, if its layers do
/// not repeat, or if the recipe treats some of them differently by name.
std::optional<FewerLayers> fewer_layers(const Draft& plan);

/// Whether a search ends in seconds: choices of deep models are estimated from fewer layers.
bool is_searchable(const Draft& plan);

}  // namespace trainx::plan

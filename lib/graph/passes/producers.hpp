#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Who makes each value of a model, and how many operands read it. It stays true while a pass moves
/// no operation and makes no value.
class Producers {
 public:
  explicit Producers(Model& model);

  /// Null: the value is the batch's.
  Node* node(ValueId value) const;
  int block(ValueId value) const { return of(value).block; }  // none: the batch's
  int readers(ValueId value) const { return readers_[static_cast<std::size_t>(value)]; }

 private:
  struct Place {
    int block = none, op = none;
  };
  const Place& of(ValueId value) const { return places_[static_cast<std::size_t>(value)]; }

  Model& model_;
  std::vector<Place> places_;  // by value
  std::vector<int> readers_;
};

}  // namespace trainx::graph

#pragma once
#include "graph/slots.hpp"

namespace trainx::graph {

/// Scratch for gradients inside a block: what was used up is used again, by one of as many rows.
class GradientScratch {
 public:
  explicit GradientScratch(Slots& slots) : slots_(slots) {}
  Slot take(const std::string& name, const operations::TensorType& type);
  /// Of slots that others made nothing happens.
  void give_back(Slot s);
  bool owns(Slot s) const;

 private:
  struct Entry {
    Slot slot;
    DType dtype;
    std::int64_t rows, elements;
    bool free = false;
  };
  Slots& slots_;
  std::vector<Entry> entries_;
};

}  // namespace trainx::graph

// A field of samples that a model of the user's own reads: what the data, the planner and the
// worker agree on.
#pragma once
#include "core/dtype.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx {

struct FieldSpec {
  std::string name;
  DType dtype = DType::f32;        // f32 or i64
  std::vector<std::int64_t> dims;  // of one sample; none: a number
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  bool operator==(const FieldSpec&) const = default;
};

}  // namespace trainx

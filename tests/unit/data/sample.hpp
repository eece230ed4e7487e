#pragma once
#include "data/loader.hpp"
#include <cstdint>
#include <vector>

namespace trainx::data {

/// Room for one sample with every field.
struct Sample {
  explicit Sample(std::size_t row, std::size_t numbers = 0)
      : tokens(row),
        targets(row),
        token_types(row),
        positions(1),
        length(1),
        label(1),
        values(numbers) {}
  // made to padding
  SampleView view() {
    return BatchView{tokens, targets, positions, token_types, length, label, {}, values}.row(0);
  }
  std::vector<std::int32_t> tokens, targets, token_types;
  std::vector<std::int64_t> positions;
  std::vector<std::int32_t> length, label;
  std::vector<float> values;
};

inline Sample read_sample(const Source& source, std::int64_t index, std::size_t row,
                          std::size_t numbers = 0) {
  Sample sample(row, numbers);
  source.read(index, sample.view());
  return sample;
}

using Ids = std::vector<std::int32_t>;

}  // namespace trainx::data

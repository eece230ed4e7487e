#include "recipe/sections.hpp"

namespace trainx::recipe {

std::vector<std::int64_t> row_lengths(const DataSection& data) {
  if (options::always_fills_rows(data.source)) return {data.sequence_length};
  if (!data.pad_to.is_auto()) return *data.pad_to.value;
  constexpr std::int64_t shortest = 32;
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = shortest; length < data.sequence_length; length *= 2)
    lengths.push_back(length);
  lengths.push_back(data.sequence_length);
  return lengths;
}

}  // namespace trainx::recipe

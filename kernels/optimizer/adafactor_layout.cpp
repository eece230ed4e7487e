#include "kernels/optimizer/adafactor.hpp"

namespace trainx::kernels {

AdafactorLayout::AdafactorLayout(const std::vector<AdafactorShape>& shapes) {
  const auto whole = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of; };
  for (std::size_t r = 0; r < shapes.size(); ++r) {
    const AdafactorShape& shape = shapes[r];
    const bool vector = shape.rows == 0;
    first_tiles.push_back(static_cast<std::int64_t>(tiles.size()));
    elements.push_back(shape.count * (vector ? 1 : shape.rows) * shape.columns);
    for (std::int64_t k = 0; k < shape.count; ++k) {
      AdafactorPart p;
      p.range = static_cast<std::int32_t>(r);
      p.is_vector = vector;
      p.rows = vector ? 1 : shape.rows;
      p.columns = shape.columns;
      p.first = k * p.rows * p.columns;
      p.first_row = k * p.rows;
      p.first_column = k * p.columns;
      p.begin = shape.in_parts ? shape.begin : 0;
      p.end = shape.in_parts ? shape.end : elements.back();
      p.sums_of_rows = 1 + p.first_row;
      p.sums_of_columns = 1 + (vector ? 0 : shape.count * shape.rows) + p.first_column;
      p.row_sums = row_sums;
      p.column_sums = column_sums;
      const auto part = static_cast<std::int32_t>(parts.size());
      const std::int64_t down = whole(p.rows, adafactor_tile_rows),
                         across = whole(p.columns, adafactor_tile_columns);
      for (std::int64_t row = 0; row < down && p.begin < p.end; ++row)
        for (std::int64_t column = 0; column < across; ++column)
          tiles.push_back(
              {part, static_cast<std::int32_t>(row), static_cast<std::int32_t>(column)});
      if (!vector || shape.in_parts) {
        row_sums += across * p.rows;
        column_sums += down * p.columns;
        for (std::int64_t line = 0; line < whole(p.rows + p.columns, 256); ++line)
          lines.push_back({part, static_cast<std::int32_t>(line)});
      }
      parts.push_back(p);
    }
  }
  first_tiles.push_back(static_cast<std::int64_t>(tiles.size()));
}

}  // namespace trainx::kernels

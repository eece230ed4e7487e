#include "kernels/optimizer/adafactor.hpp"
#include <algorithm>
#include <stdexcept>

namespace trainx::kernels {
namespace {

/// Of the `number`th matrix of the tensor.
AdafactorPlaces places_of(const AdafactorSlice& slice, std::int64_t number, std::int64_t rows,
                          std::int64_t columns) {
  AdafactorPlaces out;
  out.elements = slice.elements;
  int runs = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int64_t place) {
    if (runs == AdafactorPlaces::most_runs)
      throw std::logic_error("Adafactor: a part has too many runs of a matrix");
    out.runs[runs++] = {begin, end, place};
  };
  if (slice.of_each_row) {
    for (const AdafactorSlice::Run& run : slice.runs) {
      add(run.first, run.first + run.elements, out.row_elements);
      out.row_elements += run.elements;
    }
    out.place = number * rows * out.row_elements - slice.skipped;
    return out;
  }
  const std::int64_t first = number * rows * columns, end = first + rows * columns;
  std::int64_t place = -slice.skipped;  // of the run's first element
  for (const AdafactorSlice::Run& run : slice.runs) {
    const std::int64_t begin = std::max({run.first, first, run.first - place}),
                       last = std::min(
                           {run.first + run.elements, end, run.first - place + slice.elements});
    if (begin < last) add(begin - first, last - first, place + begin - run.first);
    place += run.elements;
  }
  return out;
}

}  // namespace

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
      p.is_in_parts = shape.in_parts;
      if (shape.in_parts) p.places = places_of(shape.slice, k, p.rows, p.columns);
      p.sums_of_rows = 1 + p.first_row;
      p.sums_of_columns = 1 + (vector ? 0 : shape.count * shape.rows) + p.first_column;
      p.row_sums = row_sums;
      p.column_sums = column_sums;
      const auto part = static_cast<std::int32_t>(parts.size());
      const bool is_here = !shape.in_parts || shape.slice.elements > 0;
      const std::int64_t down = whole(p.rows, adafactor_tile_rows),
                         across = whole(p.columns, adafactor_tile_columns);
      for (std::int64_t row = 0; row < down && is_here; ++row)
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

#include "kernels/optimizer/adafactor_element.hpp"
#include "kernels/optimizer/lane_sum.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

double square(float x) { return static_cast<double>(x) * static_cast<double>(x); }

constexpr int warps = sum_threads / 32;

/// A tile's rows and columns, of a part of a range.
struct Tile {
  const AdafactorPart& part;
  const UpdateRange& range;
  std::int64_t row_begin, row_end, column_begin, column_end;
  Tile(const UpdateTable& table, const AdafactorMemory& m, std::int64_t t)
      : part(m.parts[m.tiles[t].part]),
        range(table.ranges[part.range]),
        row_begin(m.tiles[t].row * adafactor_tile_rows),
        row_end(std::min(part.rows, row_begin + adafactor_tile_rows)),
        column_begin(m.tiles[t].column * adafactor_tile_columns),
        column_end(std::min(part.columns, column_begin + adafactor_tile_columns)) {}
  /// Of the range; -1: the element is elsewhere.
  std::int64_t place(std::int64_t row, std::int64_t column) const {
    return adafactor_place(part, row, column);
  }
  bool has_any() const {
    return adafactor_has_any(part, row_begin, row_end, column_begin, column_end);
  }
  float* state(int which) const { return static_cast<float*>(range.states[which]); }
  /// The order of the kernel's threads: a warp takes every eighth row, a lane every 32nd column;
  /// calls use(thread, row, column, place) for elements that are here.
  template <class Use>
  void for_each(const Use& use) const {
    for (int warp = 0; warp < warps; ++warp)
      for (std::int64_t row = row_begin + warp; row < row_end; row += warps)
        for (std::int64_t column = column_begin; column < column_end; ++column)
          if (const std::int64_t at = place(row, column); at >= 0)
            use(32 * warp + static_cast<int>((column - column_begin) % 32), row, column, at);
  }
  /// Sum over the tile in double.
  template <class Term>
  double sum(const Term& term) const {
    double lanes[sum_threads] = {};
    for_each([&](int thread, std::int64_t row, std::int64_t column, std::int64_t at) {
      lanes[thread] += term(row, column, at);
    });
    return fold_lanes(lanes);
  }
};

/// What a gradient of the tile is multiplied by, before it is clipped.
struct Factors {
  const Tile& tile;
  float row_mean;
  float columns[adafactor_tile_columns];
  Factors(const Tile& t, const AdafactorMemory& m)
      : tile(t), row_mean(t.part.is_vector ? 1.0f : m.row_means[&t.part - m.parts]) {
    const float* const of = t.part.is_vector
                                ? t.state(AdafactorState::second)
                                : t.state(AdafactorState::column) + t.part.first_column;
    for (std::int64_t c = t.column_begin; c < t.column_end; ++c)
      columns[c - t.column_begin] = adafactor_root(of[c]);
  }
  float row(std::int64_t r) const {
    return tile.part.is_vector
               ? 1.0f
               : adafactor_row_factor(tile.state(AdafactorState::row)[tile.part.first_row + r],
                                      row_mean);
  }
  float of(float row_factor, std::int64_t column) const {
    return product(row_factor, columns[column - tile.column_begin]);
  }
};

}  // namespace

void AdafactorReference::sums(std::int64_t t) const {
  const AdafactorStep step = adafactor_step(scalars, settings);
  if (!step.finite) return;
  const Tile tile(table, memory, t);
  if (tile.part.is_vector && !memory.moments) {
    float* const second = tile.state(AdafactorState::second);
    for (std::int64_t c = tile.column_begin; c < tile.column_end; ++c)
      second[c] =
          adafactor_moved(step, second[c], adafactor_squared(step, gradient_at(tile.range, c)));
  } else {
    const std::int64_t width = tile.column_end - tile.column_begin;
    float columns[warps][adafactor_tile_columns] = {};
    for (int warp = 0; warp < warps; ++warp)
      for (std::int64_t row = tile.row_begin + warp; row < tile.row_end; row += warps) {
        float squared[adafactor_tile_columns] = {};
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t at = tile.place(row, tile.column_begin + c);
          if (at < 0) continue;
          squared[c] = adafactor_squared(step, gradient_at(tile.range, at));
          columns[warp][c] = kernels::sum(columns[warp][c], squared[c]);
        }
        float lanes[32];
        for (int lane = 0; lane < 32; ++lane)
          lanes[lane] = kernels::sum(kernels::sum(squared[lane], squared[lane + 32]),
                                     kernels::sum(squared[lane + 64], squared[lane + 96]));
        for (int offset = 16; offset > 0; offset /= 2)
          for (int lane = 0; lane < offset; ++lane)
            lanes[lane] = kernels::sum(lanes[lane], lanes[lane + offset]);
        memory.row_sums[tile.part.row_sums + memory.tiles[t].column * tile.part.rows + row] =
            lanes[0];
      }
    for (std::int64_t c = 0; c < width; ++c) {
      float total = columns[0][c];
      for (int warp = 1; warp < warps; ++warp) total = kernels::sum(total, columns[warp][c]);
      memory.column_sums[tile.part.column_sums + memory.tiles[t].row * tile.part.columns +
                         tile.column_begin + c] = total;
    }
  }
  if (settings.scale_parameter)
    with_weight_type(kind, [&](auto type) {
      const typename decltype(type)::Type weights(tile.range, scalars);
      memory.weights2[t] = tile.sum(
          [&](std::int64_t, std::int64_t, std::int64_t at) { return square(weights.load(at)); });
    });
}

namespace {

/// Row or column `i` of a part, rows first.
struct Line {
  bool is_row;
  std::int64_t at, across;  // elements in it
  const float* tiles;       // its sum in the first tile that it goes through
  std::int64_t next, tile;  // from one to the next; how much of it is in one
  std::int64_t in_moments;
  int state;
  std::int64_t in_state;
  Line(const AdafactorMemory& m, const AdafactorPart& p, std::int64_t i)
      : is_row(i < p.rows),
        at(is_row ? i : i - p.rows),
        across(is_row ? p.columns : p.rows),
        tiles((is_row ? m.row_sums + p.row_sums : m.column_sums + p.column_sums) + at),
        next(is_row ? p.rows : p.columns),
        tile(is_row ? adafactor_tile_columns : adafactor_tile_rows),
        in_moments((is_row ? p.sums_of_rows : p.sums_of_columns) + at),
        state(p.is_vector ? AdafactorState::second
              : is_row    ? AdafactorState::row
                          : AdafactorState::column),
        in_state((is_row ? p.first_row : p.first_column) + at) {}
  double sum_of_tiles() const {
    double total = 0;
    for (std::int64_t k = 0; k * tile < across; ++k) total += tiles[k * next];
    return total;
  }
};

/// Calls use(part, line) for the rows and columns of a line of 256; of a vector, for its elements.
template <class Use>
void for_each_line(const AdafactorMemory& memory, std::int64_t line, const Use& use) {
  const AdafactorPart& p = memory.parts[memory.lines[line].part];
  const std::int64_t begin = memory.lines[line].index * std::int64_t{256},
                     end = std::min(p.rows + p.columns, begin + 256);
  for (std::int64_t i = begin; i < end; ++i)
    if (!(p.is_vector && i < p.rows)) use(p, Line(memory, p, i));
}

}  // namespace

void AdafactorReference::part_moments(std::int64_t line) const {
  if (!adafactor_step(scalars, settings).finite) return;
  for_each_line(memory, line, [&](const AdafactorPart& p, const Line& l) {
    memory.moments[p.range][l.in_moments] = p.places.elements > 0 ? l.sum_of_tiles() : 0;
  });
}

void AdafactorReference::part_weights(std::int64_t range) const {
  const std::int64_t first = memory.first_tiles[range],
                     tiles = memory.first_tiles[range + 1] - first;
  memory.moments[range][0] =
      settings.scale_parameter
          ? lane_sum(tiles, [&](std::int64_t k) { return memory.weights2[first + k]; })
          : 0;
}

void AdafactorReference::means(std::int64_t line) const {
  const AdafactorStep step = adafactor_step(scalars, settings);
  if (!step.finite) return;
  for_each_line(memory, line, [&](const AdafactorPart& p, const Line& l) {
    const double total = memory.moments ? memory.moments[p.range][l.in_moments] : l.sum_of_tiles();
    float& state = static_cast<float*>(table.ranges[p.range].states[l.state])[l.in_state];
    state = adafactor_moved(step, state, static_cast<float>(total / static_cast<double>(l.across)));
  });
}

void AdafactorReference::row_mean(std::int64_t part) const {
  const AdafactorPart& p = memory.parts[part];
  if (p.is_vector) return;
  const float* const rows =
      static_cast<const float*>(table.ranges[p.range].states[AdafactorState::row]) + p.first_row;
  memory.row_means[part] = static_cast<float>(
      lane_sum(p.rows, [&](std::int64_t i) { return static_cast<double>(rows[i]); }) /
      static_cast<double>(p.rows));
}

void AdafactorReference::directions(std::int64_t t) const {
  const AdafactorStep step = adafactor_step(scalars, settings);
  if (!step.finite) return;
  const Tile tile(table, memory, t);
  memory.directions2[t] = 0;
  if (!tile.has_any()) return;
  const Factors factors(tile, memory);
  std::int64_t of_row = -1;
  float row_factor = 0;
  memory.directions2[t] = tile.sum([&](std::int64_t row, std::int64_t column, std::int64_t at) {
    if (row != of_row) of_row = row, row_factor = factors.row(row);
    return square(
        adafactor_direction(step, factors.of(row_factor, column), gradient_at(tile.range, at)));
  });
}

void AdafactorReference::part_lengths(std::int64_t range) const {
  const std::int64_t first = memory.first_tiles[range],
                     tiles = memory.first_tiles[range + 1] - first;
  memory.lengths[range][0] =
      lane_sum(tiles, [&](std::int64_t k) { return memory.directions2[first + k]; });
}

void AdafactorReference::step(std::int64_t range) const {
  const AdafactorStep step = adafactor_step(scalars, settings);
  const std::int64_t first = memory.first_tiles[range],
                     tiles = memory.first_tiles[range + 1] - first;
  const double weights2 =
      memory.moments ? memory.moments[range][0]
      : settings.scale_parameter
          ? lane_sum(tiles, [&](std::int64_t k) { return memory.weights2[first + k]; })
          : 0;
  const double directions2 = memory.lengths ? memory.lengths[range][0]
                                            : lane_sum(tiles, [&](std::int64_t k) {
                                                return memory.directions2[first + k];
                                              });
  memory.steps[range] = adafactor_step_size(step, settings, weights2, memory.elements[range]);
  memory.clips[range] = adafactor_clip(settings, directions2, memory.elements[range]);
}

void AdafactorReference::apply(std::int64_t t) const {
  const AdafactorStep step = adafactor_step(scalars, settings);
  if (!step.finite) return;
  const Tile tile(table, memory, t);
  if (!tile.has_any()) return;
  const Factors factors(tile, memory);
  const float step_size = memory.steps[tile.part.range], clip = memory.clips[tile.part.range];
  const float decay =
      tile.range.decays ? product(static_cast<float>(settings.weight_decay), step_size) : 0.0f;
  float* const first = settings.has_beta1 ? tile.state(AdafactorState::first) : nullptr;
  with_weight_type(kind, [&](auto type) {
    const typename decltype(type)::Type weights(tile.range, scalars);
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      const float row_factor = factors.row(row);
      for (std::int64_t column = tile.column_begin; column < tile.column_end; ++column) {
        const std::int64_t i = tile.place(row, column);
        if (i < 0) continue;
        const float direction =
            adafactor_direction(step, factors.of(row_factor, column), gradient_at(tile.range, i));
        weights.store(i, adafactor_weight(step, direction, step_size, clip, decay, weights.load(i),
                                          first ? first + i : nullptr));
      }
    }
  });
}

void adafactor_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const AdafactorSettings& settings, const AdafactorMemory& memory) {
  const AdafactorReference r{table, kind, scalars, settings, memory};
  for (std::int64_t t = 0; t < memory.tile_count; ++t) r.sums(t);
  for (std::int64_t l = 0; l < memory.line_count; ++l) r.means(l);
  for (std::int64_t p = 0; p < memory.part_count; ++p) r.row_mean(p);
  for (std::int64_t t = 0; t < memory.tile_count; ++t) r.directions(t);
  for (std::int64_t k = 0; k < memory.ranges; ++k) r.step(k);
  for (std::int64_t t = 0; t < memory.tile_count; ++t) r.apply(t);
}

}  // namespace trainx::kernels

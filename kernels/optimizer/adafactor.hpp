#pragma once
#include "kernels/optimizer/update.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AdafactorSettings {
  double eps1 = 0, eps2 = 0, clip_threshold = 1, decay_rate = 0;
  bool has_beta1 = false;
  double beta1 = 0, weight_decay = 0;
  bool scale_parameter = false;
  ScaleSettings scale;
};

/// Which of a range's states is what. A matrix has the first two, a vector the third, and with
/// beta1 each the fourth.
struct AdafactorState {
  enum { row, column, second, first };
};

/// Which elements of a tensor a range is: runs of them, one after the other in the range, or the
/// same runs of columns of each row; without the first `skipped` of these, and `elements` in all.
struct AdafactorSlice {
  struct Run {
    std::int64_t first = 0, elements = 0;
  };
  std::vector<Run> runs;
  bool of_each_row = false;
  std::int64_t skipped = 0, elements = 0;
};

/// What a tensor is: `count` matrices of rows x columns after one another, without rows that are
/// padding; rows 0: a vector of `columns` elements. The range is all of it, or where it has parts
/// `slice`.
struct AdafactorShape {
  std::int64_t count = 1, rows = 0, columns = 0;
  bool in_parts = false;
  AdafactorSlice slice = {};
};

/// Where a range has the elements of one matrix or vector, as they are numbered in that.
struct AdafactorPlaces {
  static constexpr int most_runs = 4;  // of a matrix: queries, keys and values have three
  struct Run {
    std::int64_t begin = 0, end = 0;  // elements of the matrix, or columns of each row
    std::int64_t place = 0;           // of the first: in the range, or behind that of the row
  };
  Run runs[most_runs];  // empty behind the last one
  // of each row: how many elements of it there are, and the first row's place, which is negative
  // where the range begins behind it. 0: runs are of the matrix
  std::int64_t row_elements = 0, place = 0;
  std::int64_t elements = 0;  // of the range
};

/// A block's share of a matrix; of vectors one row.
constexpr std::int64_t adafactor_tile_rows = 256, adafactor_tile_columns = 128;
struct AdafactorTile {
  std::int32_t part = 0, row = 0, column = 0;
};  // of the part, in tiles
/// One matrix or one vector.
struct AdafactorPart {
  std::int32_t range = 0;
  bool is_vector = false;
  bool is_in_parts = false;  // else the range is all of the tensor
  std::int64_t first = 0;    // element of the tensor
  AdafactorPlaces places;    // of what is in parts
  std::int64_t rows = 0, columns = 0;
  std::int64_t first_row = 0, first_column = 0;  // among the range's states
  // among the sums of tiles: [column tiles][rows], [row tiles][columns]
  std::int64_t row_sums = 0, column_sums = 0;
  // among AdafactorMemory::moments of the range
  std::int64_t sums_of_rows = 0, sums_of_columns = 0;
};
/// 256 of a part's rows and columns, counted through.
struct AdafactorLine {
  std::int32_t part = 0, index = 0;
};

/// How the work is cut; memory of the device, for the reference of the host. Sums may hold anything
/// before a step.
struct AdafactorMemory {
  const AdafactorPart* parts = nullptr;
  const AdafactorTile* tiles = nullptr;
  const AdafactorLine* lines = nullptr;
  const std::int64_t* first_tiles = nullptr;  // [ranges + 1]
  const std::int64_t* elements = nullptr;     // [ranges], without padding
  std::int64_t part_count = 0, tile_count = 0, line_count = 0, ranges = 0;
  float *row_sums = nullptr, *column_sums = nullptr;
  double *weights2 = nullptr, *directions2 = nullptr;  // [tiles]
  float* row_means = nullptr;                          // [parts]
  float *steps = nullptr, *clips = nullptr;            // [ranges]
  /// [ranges], of ranges that are parts of tensors, else null: sums over the whole tensor. Of
  /// squared weights, then squared gradients of each row, then of each column (of a vector its
  /// elements); and of squared directions.
  double* const* moments = nullptr;
  double* const* lengths = nullptr;
};

/// The same on the host, and the sizes of the sums. Throws std::logic_error if a range has more
/// runs of one matrix than AdafactorPlaces holds.
struct AdafactorLayout {
  std::vector<AdafactorPart> parts;
  std::vector<AdafactorTile> tiles;
  std::vector<AdafactorLine> lines;
  std::vector<std::int64_t> first_tiles, elements;
  std::int64_t row_sums = 0, column_sums = 0;
  explicit AdafactorLayout(const std::vector<AdafactorShape>& shapes);
};

/// In-place Adafactor (Shazeer & Stern 2018, arXiv:1804.04235) over all ranges, each a whole tensor
/// or, where sums are given, a part of one, in fp32 in the order of operations of
/// transformers.Adafactor. The learning rate is its step size before a tensor's own scale. Sums are
/// taken in an order that shapes alone decide. Otherwise as adamw; the chunks of the table are not
/// used; the reference gives the same bits, but for the last one of pow().
void adafactor_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const AdafactorSettings& settings, const AdafactorMemory& memory);
/// Its parts, in order, each for one tile, line, part or range alone: what a CPU's threads share.
struct AdafactorReference {
  const UpdateTable& table;
  WeightKind kind;
  const UpdateScalars& scalars;
  const AdafactorSettings& settings;
  const AdafactorMemory& memory;
  void sums(std::int64_t tile) const;
  void part_moments(std::int64_t line) const;  // of parts: their own sums into memory.moments
  void part_weights(std::int64_t range) const;
  void means(std::int64_t line) const;
  void row_mean(std::int64_t part) const;
  void directions(std::int64_t tile) const;
  void part_lengths(std::int64_t range) const;  // of parts: their own sums into memory.lengths
  void step(std::int64_t range) const;
  void apply(std::int64_t tile) const;
};
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches.
/// Only the sums of parts, in two rounds (0: moments; 1: the states of tensors move on, lengths),
/// each to be added up over all parts before the next; `adafactor` then does the rest.
cudaError_t adafactor_measure(int round, const UpdateTable& table, WeightKind kind,
                              const UpdateScalars& scalars, const AdafactorSettings& settings,
                              const AdafactorMemory& memory, cudaStream_t stream);
cudaError_t adafactor(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const AdafactorSettings& settings, const AdafactorMemory& memory,
                      cudaStream_t stream);
#endif

}  // namespace trainx::kernels

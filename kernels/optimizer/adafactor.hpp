#pragma once
#include "kernels/optimizer/update.hpp"
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

/// Which of a range's states is what. A matrix has the first two, a vector the third, and with beta1 each the fourth.
struct AdafactorState { enum { row, column, second, first }; };

/// What a range is: `count` matrices of rows x columns after one another, without rows that are padding; rows 0: a vector of `columns` elements.
struct AdafactorShape { std::int64_t count = 1, rows = 0, columns = 0; };

/// A block's share of a matrix; of vectors one row.
constexpr std::int64_t adafactor_tile_rows = 256, adafactor_tile_columns = 128;
struct AdafactorTile { std::int32_t part = 0, row = 0, column = 0; };   // of the part, in tiles
/// One matrix or one vector.
struct AdafactorPart {
  std::int32_t range = 0;
  bool is_vector = false;
  std::int64_t first = 0;               // element of the range
  std::int64_t rows = 0, columns = 0;
  std::int64_t first_row = 0, first_column = 0;   // among the range's states
  std::int64_t row_sums = 0, column_sums = 0;     // among the sums of tiles: [column tiles][rows], [row tiles][columns]
};
/// 256 of a part's rows and columns, counted through.
struct AdafactorLine { std::int32_t part = 0, index = 0; };

/// How the work is cut; memory of the device, for the reference of the host. Sums may hold anything before a step.
struct AdafactorMemory {
  const AdafactorPart* parts = nullptr;
  const AdafactorTile* tiles = nullptr;
  const AdafactorLine* lines = nullptr;
  const std::int64_t* first_tiles = nullptr;      // [ranges + 1]
  const std::int64_t* elements = nullptr;         // [ranges], without padding
  std::int64_t part_count = 0, tile_count = 0, line_count = 0, ranges = 0;
  float *row_sums = nullptr, *column_sums = nullptr;
  double *weights2 = nullptr, *directions2 = nullptr;   // [tiles]
  float* row_means = nullptr;           // [parts]
  float *steps = nullptr, *clips = nullptr;       // [ranges]
};

/// The same on the host, and the sizes of the sums.
struct AdafactorLayout {
  std::vector<AdafactorPart> parts;
  std::vector<AdafactorTile> tiles;
  std::vector<AdafactorLine> lines;
  std::vector<std::int64_t> first_tiles, elements;
  std::int64_t row_sums = 0, column_sums = 0;
  explicit AdafactorLayout(const std::vector<AdafactorShape>& shapes);
};

/// In-place Adafactor (Shazeer & Stern 2018, arXiv:1804.04235) over all ranges, each a whole tensor, in fp32 in the order of operations of transformers.Adafactor.
/// The learning rate is its step size before a tensor's own scale. Sums are taken in an order that shapes alone decide. Otherwise as adamw; the chunks of the
/// table are not used; the reference gives the same bits, but for the last one of pow().
void adafactor_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars, const AdafactorSettings& settings, const AdafactorMemory& memory);
/// Its parts, in order, each for one tile, line, part or range alone: what a CPU's threads share.
struct AdafactorReference {
  const UpdateTable& table;
  WeightKind kind;
  const UpdateScalars& scalars;
  const AdafactorSettings& settings;
  const AdafactorMemory& memory;
  void sums(std::int64_t tile) const;
  void means(std::int64_t line) const;
  void row_mean(std::int64_t part) const;
  void directions(std::int64_t tile) const;
  void step(std::int64_t range) const;
  void apply(std::int64_t tile) const;
};
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches.
cudaError_t adafactor(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars, const AdafactorSettings& settings, const AdafactorMemory& memory, cudaStream_t stream);
#endif

}  // namespace trainx::kernels

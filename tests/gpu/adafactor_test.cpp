#include "gpu/update_case.hpp"
#include "kernels/optimizer/adafactor.hpp"

namespace adafactor_test {

using namespace trainx::kernels;

namespace {

template <class T>
struct Both {
  std::vector<T> host;
  OnDevice<T> device;
  explicit Both(std::vector<T> x) : host(std::move(x)), device(host) {}
};

void check(const AdafactorShape& matrix, std::int64_t padding, const AdafactorSettings& settings,
           WeightKind kind, std::size_t shift, double norm2 = 25, int repeats = 1) {
  INFO(matrix.count << " x " << matrix.rows << " x " << matrix.columns << " kind "
                    << static_cast<int>(kind) << " shift " << shift << " beta1 "
                    << settings.has_beta1 << " norm2 " << norm2);
  const std::vector<AdafactorShape> shapes{matrix, {1, 0, matrix.columns + 3}};
  UpdateCase c({matrix.count * matrix.rows * matrix.columns + padding, shapes[1].columns});
  c.norm2 = norm2;
  const auto small = [](std::size_t i) { return static_cast<float>(noise(i) * 0.01 + 1e-6); };
  const auto n = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  const StateBytes none{sizeof(float), {}};
  c.states = {{StateBytes::of<float>(n(matrix.count * matrix.rows), small), none},
              {StateBytes::of<float>(n(matrix.count * matrix.columns), small), none},
              {none, StateBytes::of<float>(n(shapes[1].columns), small)}};
  if (settings.has_beta1)
    c.states.push_back({StateBytes::of<float>(n(c.tensors[0]), small),
                        StateBytes::of<float>(n(c.tensors[1]), small)});
  const AdafactorLayout cut(shapes);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto floats = [&](std::int64_t k) {
    return Both<float>(std::vector<float>(n(k) + 1, nan));
  };
  const auto doubles = [&](std::size_t k) { return Both<double>(std::vector<double>(k + 1, nan)); };
  Both<AdafactorPart> parts(cut.parts);
  Both<AdafactorTile> tiles(cut.tiles);
  Both<AdafactorLine> lines(cut.lines);
  Both<std::int64_t> first_tiles(cut.first_tiles), elements(cut.elements);
  Both<float> row_sums = floats(cut.row_sums), column_sums = floats(cut.column_sums),
              row_means = floats(2 * matrix.count + 2), steps = floats(2), clips = floats(2);
  Both<double> weights2 = doubles(cut.tiles.size()), directions2 = doubles(cut.tiles.size());
  const auto memory_of = [&](const auto& at) {
    AdafactorMemory m;
    m.parts = at(parts), m.tiles = at(tiles), m.lines = at(lines), m.first_tiles = at(first_tiles),
    m.elements = at(elements);
    m.part_count = static_cast<std::int64_t>(cut.parts.size()),
    m.tile_count = static_cast<std::int64_t>(cut.tiles.size()),
    m.line_count = static_cast<std::int64_t>(cut.lines.size()), m.ranges = 2;
    m.row_sums = at(row_sums), m.column_sums = at(column_sums), m.weights2 = at(weights2),
    m.directions2 = at(directions2), m.row_means = at(row_means), m.steps = at(steps),
    m.clips = at(clips);
    return m;
  };
  const AdafactorMemory on_host_memory = memory_of([](auto&x) { return x.host.data(); }),
                        on_device_memory = memory_of([](auto&x) { return x.device.data(); });
  const UpdateResult want =
      on_host(c, kind, [&](const UpdateTable& table, const UpdateScalars& scalars) {
        adafactor_reference(table, kind, scalars, settings, on_host_memory);
      });
  for (int repeat = 0; repeat < repeats; ++repeat)
    check_same(on_device(c, kind, shift,
                         [&](const UpdateTable& table, const UpdateScalars& scalars) {
                           return adafactor(table, kind, scalars, settings, on_device_memory,
                                            nullptr);
                         }),
               want);
  if (std::isfinite(norm2)) {
    CHECK(same_bits(steps.device.host(), steps.host));
    CHECK(same_bits(clips.device.host(), clips.host));
  }
}

/// One rank's part of a tensor, whose sums are those of all ranks.
void check_part(const AdafactorShape& shape, const AdafactorSettings& settings, WeightKind kind) {
  INFO(shape.count << " x " << shape.rows << " x " << shape.columns << ", " << shape.slice.elements
                   << " elements, kind " << static_cast<int>(kind));
  const bool vector = shape.rows == 0;
  UpdateCase c({shape.slice.elements});
  const auto small = [](std::size_t i) { return static_cast<float>(noise(i) * 0.01 + 1e-6); };
  const auto state = [&](std::int64_t entries) {
    return std::vector{entries > 0 ? StateBytes::of<float>(static_cast<std::size_t>(entries), small)
                                   : StateBytes{sizeof(float), {}}};
  };
  const std::int64_t rows = shape.count * shape.rows, columns = shape.count * shape.columns;
  c.states = {state(rows), state(vector ? 0 : columns), state(vector ? columns : 0)};
  if (settings.has_beta1) c.states.push_back(state(shape.slice.elements));
  const AdafactorLayout cut({shape});
  const auto floats = [](std::int64_t k) {
    return Both<float>(std::vector<float>(static_cast<std::size_t>(k) + 1));
  };
  const auto doubles = [](std::int64_t k) {
    return Both<double>(std::vector<double>(static_cast<std::size_t>(k) + 1));
  };
  const std::int64_t tile_count = static_cast<std::int64_t>(cut.tiles.size());
  Both<AdafactorPart> parts(cut.parts);
  Both<AdafactorTile> tiles(cut.tiles.empty() ? std::vector<AdafactorTile>(1) : cut.tiles);
  Both<AdafactorLine> lines(cut.lines);
  Both<std::int64_t> first_tiles(cut.first_tiles), elements(cut.elements);
  Both<float> row_sums = floats(cut.row_sums), column_sums = floats(cut.column_sums),
              row_means = floats(shape.count), steps = floats(1), clips = floats(1);
  Both<double> weights2 = doubles(tile_count), directions2 = doubles(tile_count),
               moments = doubles(rows + columns), lengths = doubles(0);
  double *host_moments = moments.host.data(), *host_lengths = lengths.host.data();
  const OnDevice<double*> device_moments(std::vector<double*>{moments.device.data()}),
      device_lengths(std::vector<double*>{lengths.device.data()});
  const auto memory_of = [&](const auto& at) {
    AdafactorMemory m;
    m.parts = at(parts), m.tiles = at(tiles), m.lines = at(lines), m.first_tiles = at(first_tiles),
    m.elements = at(elements);
    m.part_count = shape.count, m.tile_count = tile_count,
    m.line_count = static_cast<std::int64_t>(cut.lines.size()), m.ranges = 1;
    m.row_sums = at(row_sums), m.column_sums = at(column_sums), m.weights2 = at(weights2),
    m.directions2 = at(directions2), m.row_means = at(row_means), m.steps = at(steps),
    m.clips = at(clips);
    return m;
  };
  AdafactorMemory host = memory_of([](auto&x) { return x.host.data(); }),
                  device = memory_of([](auto&x) { return x.device.data(); });
  host.moments = &host_moments, host.lengths = &host_lengths;
  device.moments = device_moments.data(), device.lengths = device_lengths.data();
  const UpdateResult want =
      on_host(c, kind, [&](const UpdateTable& table, const UpdateScalars& scalars) {
        const AdafactorReference run{table, kind, scalars, settings, host};
        const auto each = [](std::int64_t n, const auto& use) {
          for (std::int64_t i = 0; i < n; ++i) use(i);
        };
        each(host.tile_count, [&](std::int64_t t) { run.sums(t); });
        each(host.line_count, [&](std::int64_t l) { run.part_moments(l); });
        run.part_weights(0);
        each(host.line_count, [&](std::int64_t l) { run.means(l); });
        each(host.part_count, [&](std::int64_t p) { run.row_mean(p); });
        each(host.tile_count, [&](std::int64_t t) { run.directions(t); });
        run.part_lengths(0);
        run.step(0);
        each(host.tile_count, [&](std::int64_t t) { run.apply(t); });
      });
  const UpdateResult got =
      on_device(c, kind, 0, [&](const UpdateTable& table, const UpdateScalars& scalars) {
        for (const int round : {0, 1})
          if (const cudaError_t error =
                  adafactor_measure(round, table, kind, scalars, settings, device, nullptr);
              error != cudaSuccess)
            return error;
        return adafactor(table, kind, scalars, settings, device, nullptr);
      });
  check_same(got, want);
  std::vector<double> sums = moments.device.host();
  if (!settings.scale_parameter) sums.front() = moments.host.front();  // which nothing reads
  CHECK(same_bits(sums, moments.host));
  CHECK(same_bits(lengths.device.host(), lengths.host));
}

const AdafactorSettings relative{1e-30, 1e-3, 1, -0.8, false, 0, 0, true, {128, 0}},
    fixed_steps{1e-8, 1e-3, 0.5, -0.7, true, 0.9, 0.1, false, {128, 1}};

}  // namespace

TEST_CASE(
    "the adafactor kernels give the bits of their reference for all shapes, kinds and alignments",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const AdafactorShape& shape :
       {AdafactorShape{1, 1, 1}, AdafactorShape{1, 1, 300}, AdafactorShape{1, 300, 1},
        AdafactorShape{1, 255, 127}, AdafactorShape{1, 256, 128}, AdafactorShape{1, 257, 129},
        AdafactorShape{3, 33, 65}, AdafactorShape{1, 1000, 777}})
    for (const WeightKind kind : all_weight_kinds)
      for (const AdafactorSettings& s : {relative, fixed_steps})
        for (const std::size_t shift : {0u, 1u})
          check(shape, shift * 5 * shape.columns, s, kind, shift, 25, shape.rows == 1000 ? 10 : 1);
}

TEST_CASE("the adafactor kernels give the bits of their reference for parts of tensors", "[gpu]") {
  TRAINX_NEEDS_GPU();
  using Runs = std::vector<AdafactorSlice::Run>;
  const auto part = [](std::int64_t count, std::int64_t rows, std::int64_t columns, Runs runs,
                       bool of_each_row, std::int64_t skipped, std::int64_t elements) {
    return AdafactorShape{count, rows, columns, true,
                          AdafactorSlice{std::move(runs), of_each_row, skipped, elements}};
  };
  const std::vector<AdafactorShape> shapes{
      part(1, 600, 260, {{300 * 260, 300 * 260}}, false, 0, 300 * 260),  // rows
      part(1, 300, 516, {{129, 129}}, true, 0, 300 * 129),               // columns
      part(1, 300, 516, {{129, 129}}, true, 1000, 20'000),               // a shard of them
      part(1, 160, 31, {{0, 40 * 31}, {80 * 31, 20 * 31}, {120 * 31, 20 * 31}}, false, 0, 80 * 31),
      part(3, 40, 30, {{600, 600}, {1800, 600}, {3000, 600}}, false, 700, 900),
      part(3, 30, 40, {{20, 20}}, true, 0, 1800),
      part(1, 3, 40, {{0, 12}, {24, 8}}, true, 0, 60),
      part(1, 0, 700, {{0, 200}, {400, 100}}, false, 0, 300),  // a vector
      part(1, 300, 200, {{0, 0}}, false, 0, 0)};               // none of it
  for (const AdafactorShape& shape : shapes)
    for (const WeightKind kind : all_weight_kinds)
      for (const AdafactorSettings& s : {relative, fixed_steps}) check_part(shape, s, kind);
}

TEST_CASE("adafactor touches nothing where the norm is not finite", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const double norm2 :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check({1, 300, 200}, 0, fixed_steps, WeightKind::bf16_split, 0, norm2);
}

}  // namespace adafactor_test

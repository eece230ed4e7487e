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

TEST_CASE("adafactor touches nothing where the norm is not finite", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const double norm2 :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check({1, 300, 200}, 0, fixed_steps, WeightKind::bf16_split, 0, norm2);
}

}  // namespace adafactor_test

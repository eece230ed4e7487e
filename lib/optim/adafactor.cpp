#include "optim/adafactor.hpp"
#include "optim/group_table.hpp"
#include "tensor/parallel.hpp"

namespace trainx::optim {
namespace {

/// Calls `use(i)` for 0 .. n - 1, on LibTorch's threads.
template <class Use>
void for_each(std::int64_t n, const Use& use) {
  constexpr std::int64_t grain = 2;  // waking a thread takes longer than a little work
  tensor::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) use(i);
  });
}

/// What a group's kernels work through, in host memory.
struct AdafactorWork {
  TensorRanges tensors;
  kernels::AdafactorLayout cut;
  std::vector<float> row_sums, column_sums, row_means, steps, clips;
  std::vector<double> weights2, directions2;
  kernels::AdafactorMemory sums;

  AdafactorWork(const GroupMemory& memory, const options::AdafactorOptions& options)
      : tensors(tensor_ranges(memory, options::states(options), options::tensor_sums(options))),
        cut(adafactor_shapes(tensors)),
        row_sums(static_cast<std::size_t>(cut.row_sums)),
        column_sums(static_cast<std::size_t>(cut.column_sums)),
        row_means(cut.parts.size()),
        steps(tensors.ranges.size()),
        clips(steps),
        weights2(cut.tiles.size()),
        directions2(cut.tiles.size()) {
    sums.parts = cut.parts.data();
    sums.tiles = cut.tiles.data();
    sums.lines = cut.lines.data();
    sums.first_tiles = cut.first_tiles.data();
    sums.elements = cut.elements.data();
    sums.part_count = static_cast<std::int64_t>(cut.parts.size());
    sums.tile_count = static_cast<std::int64_t>(cut.tiles.size());
    sums.line_count = static_cast<std::int64_t>(cut.lines.size());
    sums.ranges = static_cast<std::int64_t>(tensors.ranges.size());
    sums.row_sums = row_sums.data();
    sums.column_sums = column_sums.data();
    sums.weights2 = weights2.data();
    sums.directions2 = directions2.data();
    sums.row_means = row_means.data();
    sums.steps = steps.data();
    sums.clips = clips.data();
    if (tensors.sums.empty()) return;
    sums.moments = tensors.sums[0].data();
    sums.lengths = tensors.sums[1].data();
  }
  AdafactorWork(const AdafactorWork&) = delete;
};

class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(const options::AdafactorOptions& options) : options_(options) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    with_reference(memory, step, [](const kernels::AdafactorReference& run) {
      const kernels::AdafactorMemory& m = run.memory;
      if (!m.moments) {  // else measure has done it
        for_each(m.tile_count, [&](std::int64_t t) { run.sums(t); });
        for_each(m.line_count, [&](std::int64_t l) { run.means(l); });
      }
      for_each(m.part_count, [&](std::int64_t p) { run.row_mean(p); });
      if (!m.moments) for_each(m.tile_count, [&](std::int64_t t) { run.directions(t); });
      for (std::int64_t r = 0; r < m.ranges; ++r) run.step(r);
      for_each(m.tile_count, [&](std::int64_t t) { run.apply(t); });
    });
  }

  void measure(const GroupMemory& memory, const StepScalars& step, int round) const override {
    with_reference(memory, step, [&](const kernels::AdafactorReference& run) {
      const kernels::AdafactorMemory& m = run.memory;
      if (round == 0) {
        for_each(m.tile_count, [&](std::int64_t t) { run.sums(t); });
        for_each(m.line_count, [&](std::int64_t l) { run.part_moments(l); });
        for (std::int64_t r = 0; r < m.ranges; ++r) run.part_weights(r);
        return;
      }
      for_each(m.line_count, [&](std::int64_t l) { run.means(l); });
      for_each(m.part_count, [&](std::int64_t p) { run.row_mean(p); });
      for_each(m.tile_count, [&](std::int64_t t) { run.directions(t); });
      for (std::int64_t r = 0; r < m.ranges; ++r) run.part_lengths(r);
    });
  }

 private:
  template <class Use>
  void with_reference(const GroupMemory& memory, const StepScalars& step, const Use& use) const {
    const AdafactorWork work(memory, options_);
    const StepPointers pointers(step);
    kernels::AdafactorSettings settings = settings_of(options_);
    settings.scale = pointers.scale();
    const kernels::UpdateTable table{work.tensors.ranges.data(), nullptr, 0};
    const kernels::UpdateScalars scalars = pointers.get();
    use(kernels::AdafactorReference{table, weight_kind(memory), scalars, settings, work.sums});
  }

  options::AdafactorOptions options_;
};

}  // namespace

kernels::AdafactorSettings settings_of(const options::AdafactorOptions& o) {
  return {o.eps1,
          o.eps2,
          o.clip_threshold,
          o.decay_rate,
          o.beta1.has_value(),
          o.beta1.value_or(0),
          o.weight_decay,
          o.scale_parameter,
          {}};
}

namespace {

kernels::AdafactorShape adafactor_shape(const program::ParameterSpec& p) {
  if (p.dims.size() < 2) return {1, 0, p.tensor_elements()};
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < p.dims.size(); ++d) count *= p.dims[d];
  return {count, p.rows() / count, p.dims.back()};
}

/// Where the runs are the same columns of each row, as of a matrix with a row for each expert.
void keep_first_row(kernels::AdafactorSlice& slice, const kernels::AdafactorShape& tensor) {
  const std::int64_t rows = tensor.count * tensor.rows, all = std::ssize(slice.runs);
  if (rows == 0 || all % rows != 0) return;
  const std::int64_t runs = all / rows;
  for (std::int64_t k = 0; k < all; ++k) {
    const auto &run = slice.runs[static_cast<std::size_t>(k)],
               &of_first = slice.runs[static_cast<std::size_t>(k % runs)];
    if (run.elements != of_first.elements ||
        run.first != of_first.first + k / runs * tensor.columns)
      return;
  }
  slice.runs.resize(static_cast<std::size_t>(runs));
  slice.of_each_row = true;
}

kernels::AdafactorSlice adafactor_slice(const program::Slice& slice, std::int64_t elements,
                                        const kernels::AdafactorShape& tensor) {
  kernels::AdafactorSlice out{.skipped = slice.skipped, .elements = elements};
  if (slice.is_contiguous()) {
    out.runs.push_back({slice.first, elements});
    return out;
  }
  for (const program::Slice::Run& run : slice.runs) out.runs.push_back({run.first, run.elements});
  if (slice.columns == 0) {
    keep_first_row(out, tensor);
  } else if (slice.row_elements == tensor.columns) {
    out.runs.push_back({slice.first, slice.columns});
    out.of_each_row = true;
  } else {  // rows of each matrix
    for (std::int64_t k = 0; k < tensor.count; ++k)
      out.runs.push_back({slice.first + k * slice.row_elements, slice.columns});
  }
  return out;
}

}  // namespace

std::vector<kernels::AdafactorShape> adafactor_shapes(const TensorRanges& tensors) {
  std::vector<kernels::AdafactorShape> shapes;
  for (std::size_t k = 0; k < tensors.tensors.size(); ++k) {
    kernels::AdafactorShape& shape = shapes.emplace_back(adafactor_shape(tensors.tensors[k]));
    shape.in_parts = !tensors.sums.empty();
    if (shape.in_parts)
      shape.slice = adafactor_slice(tensors.slices[k], tensors.ranges[k].elements, shape);
  }
  return shapes;
}

std::unique_ptr<Optimizer> make(const options::AdafactorOptions& options) {
  return std::make_unique<Adafactor>(options);
}

}  // namespace trainx::optim

// Weights that are laid out for a rule of the user's own, and put back.
#include "kernels/optimizer/own_stage.hpp"
#include "gpu/operands.hpp"
#include <limits>

namespace own_stage_test {

using namespace trainx::kernels;

namespace {

const std::vector<double> lr_table{1e-2, 5e-3};
constexpr std::int64_t applied_steps = 1;
constexpr int states = 7;  // more than a table of trainx's own updates holds

/// Two ranges of n and n / 2 + 1 elements, with all that any kind of weights has.
struct Weights {
  std::vector<float> exact, gradient, kept;  // kept: [states][elements]
  std::vector<Bf16> rounded;
  std::vector<Fp16> half;
  std::vector<std::uint16_t> low;
  std::int64_t n, elements;

  explicit Weights(std::int64_t of)
      : exact(random_elements<float>(of + of / 2 + 1, 1)),
        gradient(random_elements<float>(of + of / 2 + 1, 2)),
        kept(random_elements<float>(states * (of + of / 2 + 1), 3)),
        n(of),
        elements(of + of / 2 + 1) {
    for (const float x : exact) {
      rounded.push_back(nearest_weight(x));
      low.push_back(low_bits(x));
      narrow(x, half.emplace_back());
    }
  }
};

/// The same places in memory of the host or of the device.
struct Places {
  float *exact, *gradient, *kept;
  Bf16* rounded;
  Fp16* half;
  std::uint16_t* low;
};

std::vector<StagedRange> ranges_of(const Weights& w, WeightKind kind, const Places& at,
                                   float* const* state_table) {
  std::vector<StagedRange> ranges;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, w.n}, {w.n, w.elements}}) {
    StagedRange r;
    r.range.gradient = at.gradient + begin;
    r.range.parameter = kind == WeightKind::fp32 ? static_cast<void*>(at.exact + begin)
                        : kind == WeightKind::fp16_with_master ? static_cast<void*>(at.half + begin)
                                                               : at.rounded + begin;
    if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
      r.range.master = at.exact + begin;
    if (kind == WeightKind::bf16_split) r.range.master = at.low + begin;
    r.range.elements = end - begin;
    r.range.rounding = {77, 3, begin};
    r.at = begin;
    r.states = state_table + states * static_cast<std::int64_t>(ranges.size());
    ranges.push_back(r);
  }
  return ranges;
}

std::vector<float*> state_table_of(const Weights& w, float* kept) {
  std::vector<float*> table;
  for (const std::int64_t begin : {std::int64_t{0}, w.n})
    for (int k = 0; k < states; ++k) table.push_back(kept + k * w.elements + begin);
  return table;
}

void compare(std::int64_t n, WeightKind kind, double norm2, float poison) {
  INFO("elements " << n << " kind " << static_cast<int>(kind) << " norm2 " << norm2);
  Weights want(n);
  const OnDevice<float> exact(want.exact), gradient(want.gradient), kept(want.kept);
  const OnDevice<Bf16> rounded(want.rounded);
  const OnDevice<Fp16> half(want.half);
  const OnDevice<std::uint16_t> low(want.low);
  const auto chunks = chunks_of({n, want.elements - n});
  const auto count = static_cast<std::int64_t>(chunks.size());
  const double targets = 96, scale = 4;
  const ScaleSettings settings{128, 1, 0.5};

  const std::vector<float*> table = state_table_of(want, want.kept.data());
  const auto ranges = ranges_of(want, kind,
                                {want.exact.data(), want.gradient.data(), want.kept.data(),
                                 want.rounded.data(), want.half.data(), want.low.data()},
                                table.data());
  const auto size = static_cast<std::size_t>(want.elements);
  std::vector<float> weights(size), gradients(size), laid(states * size);
  OwnStep step;
  std::int64_t fault = 0;
  const UpdateScalars scalars{&norm2, &targets, &applied_steps, lr_table.data(), 2, &scale};
  const OwnStage stage{&step,         gradients.data(), weights.data(), laid.data(),
                       want.elements, states,           &fault};
  own_stage_reference({ranges.data(), chunks.data(), count}, kind, scalars, settings, stage);

  const OnDevice<float*> device_table(state_table_of(want, kept.data()));
  const OnDevice<StagedRange> device_ranges(ranges_of(
      want, kind,
      {exact.data(), gradient.data(), kept.data(), rounded.data(), half.data(), low.data()},
      device_table.data()));
  const OnDevice<Chunk> device_chunks(chunks);
  const OnDevice<double> norm(std::vector<double>{norm2}), wanted(std::vector<double>{targets}),
      lr(lr_table), loss_scale(std::vector<double>{scale});
  const OnDevice<std::int64_t> applied(std::vector<std::int64_t>{applied_steps}),
      found(std::vector<std::int64_t>{0});
  const OnDevice<OwnStep> device_step(std::vector<OwnStep>{{}});
  const OnDevice<float> device_weights(weights), device_gradients(gradients), device_laid(laid);
  const UpdateScalars on_device{norm.data(), wanted.data(),    applied.data(), lr.data(),
                                2,           loss_scale.data()};
  const OwnStage device_stage{device_step.data(), device_gradients.data(), device_weights.data(),
                              device_laid.data(), want.elements,           states,
                              found.data()};
  const StageTable device{device_ranges.data(), device_chunks.data(), count};
  require_success(own_stage(device, kind, on_device, settings, device_stage, nullptr), "stage");
  const OwnStep said = device_step.host().front();
  CHECK((said.lr == step.lr && said.step == step.step && said.finite == step.finite));
  CHECK(step.finite == std::isfinite(norm2));
  CHECK(same_bits(device_weights.host(), weights));
  CHECK(same_bits(device_gradients.host(), gradients));
  CHECK(same_bits(device_laid.host(), laid));

  // as a rule would change them: the gradients become the weights, the states double
  std::vector<float> made = gradients, doubled = laid;
  for (float& x : doubled) x *= 2;
  made.back() += poison;
  const OnDevice<float> device_made(made), device_doubled(doubled);
  OwnStage back = stage, device_back = device_stage;
  back.weights = made.data(), back.states = doubled.data();
  device_back.weights = device_made.data();
  device_back.states = device_doubled.data();
  own_unstage_reference({ranges.data(), chunks.data(), count}, kind, scalars, back);
  require_success(own_unstage(device, kind, on_device, device_back, nullptr), "unstage");
  CHECK(same_bits(exact.host(), want.exact));
  CHECK(same_bits(rounded.host(), want.rounded));
  CHECK(same_bits(half.host(), want.half));
  CHECK(same_bits(low.host(), want.low));
  CHECK(same_bits(kept.host(), want.kept));
  CHECK(found.host().front() == fault);
  CHECK((fault != 0) == (std::isfinite(norm2) && !std::isfinite(poison)));
}

}  // namespace

TEST_CASE("kernels lay weights out for a rule, and put them back, as their references", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t n : {1, 3, 1024, 4095, 8193, 300'003})
    for (const WeightKind kind :
         {WeightKind::fp32, WeightKind::bf16, WeightKind::bf16_with_master, WeightKind::bf16_split,
          WeightKind::fp16_with_master, WeightKind::bf16_stochastic})
      for (const double norm2 : {4.0, std::numeric_limits<double>::infinity()})
        compare(n, kind, norm2, 0);
  compare(1024, WeightKind::fp32, 4, std::numeric_limits<float>::infinity());
}

}  // namespace own_stage_test

// The moving average of weights.
#include "kernels/optimizer/average.hpp"
#include "gpu/operands.hpp"
#include <limits>

namespace average_test {

using namespace trainx::kernels;

namespace {

const std::vector<double> lr_table{1e-2};
constexpr std::int64_t applied_steps = 3;

/// Of all kinds of weights at once; `kind` says which are looked at.
struct Elements {
  std::vector<float> exact, mean;
  std::vector<Bf16> rounded;
  std::vector<std::uint16_t> low;
  explicit Elements(std::int64_t n)
      : exact(random_elements<float>(n, 1)), mean(random_elements<float>(n, 2)) {
    for (const float x : exact) {
      rounded.push_back(nearest_weight(x));
      low.push_back(low_bits(x));
    }
  }
};

template <class Exact, class Mean, class Rounded, class Low>
UpdateRange range_of(WeightKind kind, std::int64_t n, const Exact& exact, const Mean& mean,
                     const Rounded& rounded, const Low& low) {
  UpdateRange r{nullptr, const_cast<Bf16*>(rounded.data())};
  if (kind == WeightKind::fp32) r.parameter = const_cast<float*>(exact.data());
  if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
    r.master = const_cast<float*>(exact.data());
  if (kind == WeightKind::bf16_split) r.master = const_cast<std::uint16_t*>(low.data());
  r.states[0] = const_cast<float*>(mean.data());
  r.elements = n;
  return r;
}

void compare(std::int64_t n, WeightKind kind, double decay, std::size_t shift, double norm2) {
  INFO("elements " << n << " kind " << static_cast<int>(kind) << " decay " << decay << " shift "
                   << shift);
  Elements want(n);
  const Elements begun = want;
  const OnDevice<float> exact(want.exact, shift), mean(want.mean, shift);
  const OnDevice<Bf16> rounded(want.rounded, shift);
  const OnDevice<std::uint16_t> low(want.low, shift);
  const AverageSettings settings{decay, {128, 1}};
  const auto chunks = chunks_of({n});
  const auto count = static_cast<std::int64_t>(chunks.size());
  const double targets = 96;
  const UpdateRange on_host = range_of(kind, n, want.exact, want.mean, want.rounded, want.low);
  average_reference({&on_host, chunks.data(), count}, kind,
                    {&norm2, &targets, &applied_steps, lr_table.data(), 1}, settings);
  if (n > 0) CHECK((want.mean == begun.mean) == (!std::isfinite(norm2) || decay == 1));
  if (kind == WeightKind::fp32 && decay == 0 && std::isfinite(norm2))
    CHECK(same_bits(want.mean, want.exact));

  const OnDevice<UpdateRange> ranges(
      std::vector<UpdateRange>{range_of(kind, n, exact, mean, rounded, low)});
  const OnDevice<Chunk> device_chunks(chunks);
  const OnDevice<double> norm(std::vector<double>{norm2}), wanted(std::vector<double>{targets}),
      lr(lr_table);
  const OnDevice<std::int64_t> applied(std::vector<std::int64_t>{applied_steps});
  require_success(
      average({ranges.data(), device_chunks.data(), count}, kind,
              {norm.data(), wanted.data(), applied.data(), lr.data(), 1}, settings, nullptr),
      "average");
  CHECK(same_bits(mean.host(), want.mean));
  CHECK(same_bits(exact.host(), begun.exact));
  CHECK(same_bits(rounded.host(), begun.rounded));
  CHECK(same_bits(low.host(), begun.low));
}

}  // namespace

TEST_CASE("the average kernel gives the bits of its reference, and weights stay", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t n : {0, 1, 3, 4, 5, 1024, 4095, 8193, 300'003})
    for (const WeightKind kind :
         {WeightKind::fp32, WeightKind::bf16, WeightKind::bf16_with_master, WeightKind::bf16_split,
          WeightKind::fp16_with_master, WeightKind::bf16_stochastic})
      for (const double decay : {0.0, 0.3, 0.999, 1.0})
        for (const std::size_t shift : {0u, 1u}) compare(n, kind, decay, shift, 25);
  compare(5000, WeightKind::bf16_split, 0.9, 0, std::numeric_limits<double>::infinity());
  compare(5000, WeightKind::fp32, 0.9, 0, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace average_test

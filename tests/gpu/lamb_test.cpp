#include "gpu/update_case.hpp"
#include "kernels/optimizer/lamb.hpp"

namespace lamb_test {

using namespace trainx::kernels;

namespace {

void check(const std::vector<std::int64_t>& sizes, WeightKind kind, std::size_t shift, double norm2,
           bool zeros = false) {
  INFO("elements " << sizes[0] + sizes[1] << " kind " << static_cast<int>(kind) << " shift "
                   << shift << " norm2 " << norm2);
  UpdateCase c(sizes);
  c.norm2 = norm2;
  if (zeros) {
    c.exact.assign(c.exact.size(), 0.0f);
    c.rounded.assign(c.rounded.size(), Bf16{0});
    c.low.assign(c.low.size(), 0);
  }
  c.states = {
      states_of<float>(sizes,
                       [](std::size_t i) { return static_cast<float>((noise(i) - 0.5) * 0.02); }),
      states_of<float>(sizes, [](std::size_t i) { return static_cast<float>(noise(i) * 0.01); })};
  const LambSettings settings{0.9, 0.95, 1e-6, 0.1, {128, 1}};
  const auto chunks = chunks_of(sizes);
  const auto first = first_chunks(chunks, sizes.size());
  std::vector<double> partial(2 * chunks.size() + 1, std::numeric_limits<double>::quiet_NaN());
  std::vector<float> ratios(sizes.size(), std::numeric_limits<float>::quiet_NaN());
  const OnDevice<double> device_partial(partial);
  const OnDevice<float> device_ratios(ratios);
  const OnDevice<std::int64_t> device_first(first);
  const auto count = static_cast<std::int64_t>(sizes.size());
  const UpdateResult want =
      on_host(c, kind, [&](const UpdateTable& table, const UpdateScalars& scalars) {
        lamb_reference(table, kind, scalars, settings,
                       {partial.data(), ratios.data(), first.data(), count});
      });
  const auto kernel = [&](const UpdateTable& table, const UpdateScalars& scalars) {
    return lamb(table, kind, scalars, settings,
                {device_partial.data(), device_ratios.data(), device_first.data(), count}, nullptr);
  };
  for (int repeat = 0; repeat < (sizes[0] > 100'000 ? 10 : 1); ++repeat)
    check_same(on_device(c, kind, shift, kernel), want);
  if (std::isfinite(norm2) && !chunks.empty()) CHECK(same_bits(device_ratios.host(), ratios));
}

}  // namespace

TEST_CASE(
    "the lamb kernels give the bits of their reference for all sizes, kinds and alignments, ten "
    "times over",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const auto& sizes : update_sizes())
    for (const WeightKind kind : all_weight_kinds)
      for (const std::size_t shift : {0u, 1u}) check(sizes, kind, shift, 25);
}

TEST_CASE("lamb: weights of zero have a ratio of 1, and a norm that is not finite touches nothing",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  check({500, 5000}, WeightKind::bf16_split, 0, 25, true);
  for (const double norm2 :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check({500, 5000}, WeightKind::bf16_split, 0, norm2);
}

}  // namespace lamb_test

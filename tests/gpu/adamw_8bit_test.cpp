#include "gpu/update_case.hpp"
#include "kernels/optimizer/adamw_8bit.hpp"
#include "kernels/optimizer/dynamic_map.hpp"

namespace adamw_8bit_test {

using namespace trainx::kernels;

namespace {

// Tensors of 4096 elements and more have bytes, as a recipe's default has it; `exact`: none has.
UpdateCase case_of(const std::vector<std::int64_t>& sizes, bool exact) {
  UpdateCase c(sizes);
  c.states.resize(6);
  for (const std::int64_t elements : sizes) {
    const auto n = static_cast<std::size_t>(elements),
               blocks = (n + quantised_block - 1) / quantised_block;
    // lower than a recipe's default, so that odd sizes take part
    const bool bytes = !exact && n >= 300;
    const auto state = [&](bool has, const StateBytes& s) {
      return has ? s : StateBytes{s.entry, {}};
    };
    c.states[0].push_back(state(!bytes, StateBytes::of<float>(n, [](std::size_t i) {
      return static_cast<float>((noise(i) - 0.5) * 0.02);
    })));
    c.states[1].push_back(state(!bytes, StateBytes::of<float>(n, [](std::size_t i) {
      return static_cast<float>(noise(i) * 0.01);
    })));
    c.states[2].push_back(state(bytes, StateBytes::of<std::uint8_t>(n, [](std::size_t i) {
                                  return static_cast<std::uint8_t>(i * 37);
                                })));
    c.states[3].push_back(state(bytes, StateBytes::of<float>(blocks, [](std::size_t i) {
                                  return i % 5 == 4 ? 0.0f : static_cast<float>(noise(i) * 0.02);
                                })));
    c.states[4].push_back(state(bytes, StateBytes::of<std::uint8_t>(n, [](std::size_t i) {
                                  return static_cast<std::uint8_t>(i * 101);
                                })));
    c.states[5].push_back(state(bytes, StateBytes::of<float>(blocks, [](std::size_t i) {
                                  return i % 5 == 4 ? 0.0f : static_cast<float>(noise(i) * 0.01);
                                })));
  }
  return c;
}

}  // namespace

TEST_CASE(
    "the adamw_8bit kernel gives the bits of its reference for all sizes, kinds and alignments",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const OnDevice<DynamicCodes> codes(std::vector{dynamic_codes()});
  for (const auto& sizes : update_sizes())
    for (const WeightKind kind : all_weight_kinds)
      for (const bool exact : {false, true}) {
        UpdateCase c = case_of(sizes, exact);
        const AdamW8bitSettings settings{{0.9, 0.95, 1e-8, 0.1, {128, 1}}};
        const auto reference = [&](const UpdateTable& table, const UpdateScalars& scalars) {
          adamw_8bit_reference(table, kind, scalars, settings, &dynamic_codes());
        };
        const auto kernel = [&](const UpdateTable& table, const UpdateScalars& scalars) {
          return adamw_8bit(table, kind, scalars, settings, codes.data(), nullptr);
        };
        const UpdateResult want = on_host(c, kind, reference);
        for (const std::size_t shift : {0u, 1u}) {
          INFO("elements " << sizes[0] + sizes[1] << " kind " << static_cast<int>(kind) << " exact "
                           << exact << " shift " << shift);
          check_same(on_device(c, kind, shift, kernel), want);
        }
        if (sizes[0] > 100'000)
          for (int repeat = 0; repeat < 10; ++repeat)
            check_same(on_device(c, kind, 0, kernel), want);
        // blocks whose moments are all zero stay so
        c.gradient.assign(c.gradient.size(), 0.0f);
        check_same(on_device(c, kind, 0, kernel), on_host(c, kind, reference));
        for (const double norm2 :
             {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
          c.norm2 = norm2;
          check_same(on_device(c, kind, 0, kernel), on_host(c, kind, [](const auto&...) {}));
        }
      }
}

}  // namespace adamw_8bit_test

// Weights, gradients and states of any type on the host and on the device, updated on both and
// compared bit for bit.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include "gpu/device.hpp"
#include "kernels/bits.hpp"
#include "kernels/optimizer/update.hpp"

namespace trainx::kernels {

/// Bytes of one state: `make(i)` of each entry as it begins.
struct StateBytes {
  std::size_t entry = 0;  // bytes
  std::vector<unsigned char> bytes;
  template <class T, class Make>
  static StateBytes of(std::size_t entries, Make make) {
    StateBytes s{sizeof(T), std::vector<unsigned char>(entries * sizeof(T))};
    for (std::size_t i = 0; i < entries; ++i) {
      const T x = make(i);
      std::memcpy(&s.bytes[i * sizeof(T)], &x, sizeof(T));
    }
    return s;
  }
};

struct UpdateCase {
  std::vector<float> gradient, exact;
  std::vector<Bf16> rounded;
  std::vector<std::uint16_t> low;
  std::vector<std::int64_t> tensors;  // elements of each; every second one decays
  /// By state, by tensor; empty where the tensor has none.
  std::vector<std::vector<StateBytes>> states;
  double norm2 = 25, count = 96;

  explicit UpdateCase(std::vector<std::int64_t> sizes) : tensors(std::move(sizes)) {
    std::mt19937 random(17);
    std::normal_distribution<float> normal(0, 1);
    std::int64_t n = 0;
    for (const std::int64_t t : tensors) n += t;
    for (std::int64_t i = 0; i < n; ++i) {
      gradient.push_back(normal(random) * 0.1f);
      exact.push_back(normal(random));
      rounded.push_back(nearest_weight(exact.back()));
      low.push_back(low_bits(exact.back()));
    }
  }
};

inline const std::vector<double> update_lr_table{1e-2, 2e-2};
inline constexpr std::int64_t update_applied_steps = 1;

struct UpdateResult {
  std::vector<float> exact;
  std::vector<Bf16> rounded;
  std::vector<std::uint16_t> low;
  std::vector<std::vector<std::vector<unsigned char>>> states;
};

/// `addresses(state, tensor)`: of its first entry.
inline std::vector<UpdateRange> ranges_of(
    const UpdateCase& c, WeightKind kind, const float* gradient, float* exact, Bf16* rounded,
    std::uint16_t* low, const std::function<void*(std::size_t, std::size_t)>& addresses) {
  std::vector<UpdateRange> ranges;
  std::int64_t at = 0;
  for (std::size_t t = 0; t < c.tensors.size(); ++t) {
    UpdateRange r{gradient + at, rounded + at, nullptr};
    if (kind == WeightKind::fp32) r.parameter = exact + at;
    if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
      r.master = exact + at;
    if (kind == WeightKind::bf16_split) r.master = low + at;
    for (std::size_t s = 0; s < c.states.size(); ++s) r.states[s] = addresses(s, t);
    r.elements = c.tensors[t];
    r.decays = t % 2 == 0;
    r.rounding = {42, static_cast<std::int64_t>(t), at};
    ranges.push_back(r);
    at += c.tensors[t];
  }
  return ranges;
}

/// `update(table, scalars)` on the host.
template <class Update>
UpdateResult on_host(const UpdateCase& c, WeightKind kind, const Update& update) {
  UpdateResult out{c.exact, c.rounded, c.low, {}};
  for (const auto& state : c.states) {
    auto& of_state = out.states.emplace_back();
    for (const StateBytes& s : state) of_state.push_back(s.bytes);
  }
  std::vector<float> gradient = c.gradient;
  const auto ranges = ranges_of(c, kind, gradient.data(), out.exact.data(), out.rounded.data(),
                                out.low.data(), [&](std::size_t s, std::size_t t) -> void* {
                                  return out.states[s][t].empty() ? nullptr
                                                                  : out.states[s][t].data();
                                });
  const auto chunks = chunks_of(c.tensors);
  update(UpdateTable{ranges.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())},
         UpdateScalars{&c.norm2, &c.count, &update_applied_steps, update_lr_table.data(), 2});
  return out;
}

/// The same on the device, `shift` elements past aligned addresses.
template <class Update>
UpdateResult on_device(const UpdateCase& c, WeightKind kind, std::size_t shift,
                       const Update& update) {
  const OnDevice<float> gradient(c.gradient, shift), exact(c.exact, shift);
  const OnDevice<Bf16> rounded(c.rounded, shift);
  const OnDevice<std::uint16_t> low(c.low, shift);
  std::vector<std::vector<OnDevice<unsigned char>>> states;
  for (const auto& state : c.states) {
    auto& of_state = states.emplace_back();
    for (const StateBytes& s : state) of_state.emplace_back(s.bytes, shift * s.entry);
  }
  const OnDevice<UpdateRange> ranges(
      ranges_of(c, kind, gradient.data(), exact.data(), rounded.data(), low.data(),
                [&](std::size_t s, std::size_t t) -> void* {
                  return c.states[s][t].bytes.empty() ? nullptr : states[s][t].data();
                }));
  const auto host_chunks = chunks_of(c.tensors);
  const OnDevice<Chunk> chunks(host_chunks);
  const OnDevice<double> norm(std::vector<double>{c.norm2}), targets(std::vector<double>{c.count}),
      lr(update_lr_table);
  const OnDevice<std::int64_t> applied(std::vector<std::int64_t>{update_applied_steps});
  require_success(update(UpdateTable{ranges.data(), chunks.data(),
                                     static_cast<std::int64_t>(host_chunks.size())},
                         UpdateScalars{norm.data(), targets.data(), applied.data(), lr.data(), 2}),
                  "update");
  UpdateResult out{exact.host(), rounded.host(), low.host(), {}};
  for (const auto& state : states) {
    auto& of_state = out.states.emplace_back();
    for (const auto& s : state) of_state.push_back(s.host());
  }
  return out;
}

inline void check_same(const UpdateResult& got, const UpdateResult& want) {
  CHECK(same_bits(got.exact, want.exact));
  CHECK(same_bits(got.rounded, want.rounded));
  CHECK(same_bits(got.low, want.low));
  REQUIRE(got.states.size() == want.states.size());
  for (std::size_t s = 0; s < want.states.size(); ++s)
    for (std::size_t t = 0; t < want.states[s].size(); ++t)
      CHECK(same_bits(got.states[s][t], want.states[s][t]));
}

inline constexpr WeightKind all_weight_kinds[] = {WeightKind::fp32,
                                                  WeightKind::bf16,
                                                  WeightKind::bf16_with_master,
                                                  WeightKind::bf16_split,
                                                  WeightKind::fp16_with_master,
                                                  WeightKind::bf16_stochastic};
inline std::vector<std::vector<std::int64_t>> update_sizes() {
  std::vector<std::vector<std::int64_t>> sizes;
  for (const std::int64_t n : {0, 1, 3, 4, 5, 255, 256, 257, 1024, 4095, 4096, 8193, 300'003})
    sizes.push_back({n / 2, n - n / 2});
  return sizes;
}
/// A state for each tensor: `entries(n)` of type T of a tensor of n elements.
template <class T, class Make>
std::vector<StateBytes> states_of(const std::vector<std::int64_t>& tensors, Make make) {
  std::vector<StateBytes> out;
  for (const std::int64_t n : tensors)
    out.push_back(StateBytes::of<T>(static_cast<std::size_t>(n), make));
  return out;
}
// in [0, 1)
inline double noise(std::size_t i) { return static_cast<double>((i * 2654435761u) % 1000) / 1000; }

}  // namespace trainx::kernels

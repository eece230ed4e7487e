#include "core/error.hpp"
#include "model/model.hpp"
#include "tensor/large_memory.hpp"
#include "tensor/random_key.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace trainx::model {

using program::Initializer;
using program::ParameterSpec;

namespace {

/// FNV-1a of the name, mixed with the seed (the finalizer of MurmurHash3): a Philox key for each
/// tensor.
std::uint64_t key_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325 ^ seed * 0x9e3779b97f4a7c15;
  for (unsigned char byte : name) h = (h ^ byte) * 0x100000001b3;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

/// Two normal numbers from two words (Box & Muller 1958).
void normal_pair(std::uint32_t a, std::uint32_t b, double* out) {
  const double radius = std::sqrt(-2 * std::log((a + 1.0) / 4294967296.0)),
               angle = 2 * std::numbers::pi * b / 4294967296.0;
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

void fill_normal(std::uint64_t key, double deviation, std::int64_t elements, float* out) {
  tensor::parallel_for(0, (elements + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto words = tensor::philox(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
          {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
      double normal[4];
      normal_pair(words[0], words[1], normal);
      normal_pair(words[2], words[3], normal + 2);
      for (std::int64_t j = 0; j < std::min<std::int64_t>(4, elements - 4 * block); ++j)
        out[4 * block + j] = static_cast<float>(deviation * normal[j]);
    }
  });
}

/// From -bound to bound.
void fill_uniform(std::uint64_t key, double bound, std::int64_t elements, float* out) {
  tensor::parallel_for(0, (elements + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto words = tensor::philox(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
          {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
      for (std::int64_t j = 0; j < std::min<std::int64_t>(4, elements - 4 * block); ++j)
        out[4 * block + j] = static_cast<float>(bound * ((words[j] + 0.5) / 2147483648.0 - 1));
    }
  });
}

}  // namespace

void normal_numbers(std::uint64_t seed, std::string_view name, std::span<float> out) {
  fill_normal(key_of(seed, name), 1, std::ssize(out), out.data());
}

void initialize_parameters(const program::GroupSpec& group, std::uint64_t seed, float* exact) {
  tensor::set_zero(reinterpret_cast<std::byte*>(exact),
                   static_cast<std::size_t>(group.elements) * sizeof(float));
  for (const ParameterSpec& p : group.parameters) {
    float* out = exact + p.offset;
    if (p.initializer == Initializer::ones) std::fill_n(out, p.elements(), 1.0f);
    if (p.initializer == Initializer::uniform)
      fill_uniform(key_of(seed, p.name), p.bound, p.elements(), out);
    if (p.initializer != Initializer::normal) continue;
    // Padding is of rows, at the end, so the elements that are saved come first.
    std::int64_t saved = 1;
    for (std::int64_t d : p.saved_dims) saved *= d;
    fill_normal(key_of(seed, p.name), p.standard_deviation, saved, out);
    if (p.zero_row != program::none)
      std::fill_n(out + p.zero_row * p.dims.at(1), p.dims.at(1), 0.0f);
  }
}

}  // namespace trainx::model

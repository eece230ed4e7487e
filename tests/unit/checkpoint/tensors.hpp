// Tensors with known bytes, for tests of what is written and read.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include <cstdint>
#include <cstring>
#include <stdexcept>

inline trainx::checkpoint::TensorSource tensor_of(const std::string& name, trainx::DType dtype,
                                                  std::vector<std::int64_t> dims,
                                                  std::vector<std::byte> bytes) {
  return {name, dtype, std::move(dims), [bytes = std::move(bytes)](std::span<std::byte> out) {
            if (out.size() != bytes.size())
              throw std::logic_error("a tensor of another size is asked for");
            if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
          }};
}

inline std::vector<std::byte> bytes_from(std::int64_t count, unsigned seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((seed * 131u + i * 2654435761u) >> 11);
  return bytes;
}

/// A small checkpoint whose every file depends on `seed`.
inline trainx::checkpoint::Contents contents_of(unsigned seed, std::int64_t elements = 1000) {
  using trainx::DType;
  return {
      {{"model.safetensors",
        {tensor_of("w", DType::f32, {elements}, bytes_from(4 * elements, seed))}},
       {"optimizer.safetensors",
        {tensor_of("m", DType::f32, {elements}, bytes_from(4 * elements, seed + 1))}}},
      {{"config.json", "{\"seed\": " + std::to_string(seed) + "}"}, {"trainer_state.json", "{}"}}};
}

#pragma once
#include "core/dtype.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::checkpoint {

/// Longest header that the format allows.
constexpr std::uint64_t header_limit_bytes = 100'000'000;

/// What a safetensors header says; offsets count from the end of the header.
struct SafetensorsHeader {
  struct Tensor {
    DType dtype = DType::f32;
    const UnreadType* unread = nullptr;  // its type instead, if trainx does not read the elements
    std::vector<std::int64_t> dims;
    std::int64_t begin = 0, end = 0;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// `text` starts at byte `file_offset` of `path` and describes `data_bytes` bytes that follow it.
/// Throws UserError 65 unless every byte of the data belongs to exactly one tensor of that size.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path,
                                           std::int64_t file_offset, std::int64_t data_bytes);

/// A tensor's name as a sentence shows it: quoted, escaped, not too long.
std::string in_quotes(const std::string& name);

}  // namespace trainx::checkpoint

#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace trainx::checkpoint {

constexpr const char* single_weights_name = "model.safetensors";
constexpr const char* weights_index_name = "model.safetensors.index.json";
/// "optimizer.safetensors" or its like, "optimizer.safetensors.index.json",
/// "optimizer-00002-of-00003.safetensors" (number counts from 1; one of one is the single file).
std::string single_file_name(const std::string& stem);
std::string index_name(const std::string& stem);
std::string shard_name(const std::string& stem, std::size_t number, std::size_t count);

/// The file of each tensor, as model.safetensors.index.json says: {"metadata": {"total_size":
/// bytes}, "weight_map": {tensor: file}}.
using WeightMap = std::map<std::string, std::string>;

/// Strict; `path` is for the sentence. Throws UserError 65: no JSON, another shape, a tensor twice,
/// a file that is not a plain name in the index's own folder.
WeightMap parse_weights_index(std::string_view text, const std::string& path);
std::string weights_index_text(const WeightMap& files, std::int64_t total_bytes);

}  // namespace trainx::checkpoint

// Files that gzip or zstd packed, read as what is inside.
#pragma once
#include "data/mapped_file.hpp"
#include <cstdint>
#include <string>

namespace trainx::data {

enum class Packing : std::uint8_t { none, gzip, zstd };

/// By the first bytes.
Packing packing_of(std::span<const std::byte> bytes);
/// A path without the ending of a packed file: corpus.jsonl of corpus.jsonl.gz.
std::string without_packing(const std::string& path);

/// A data file. What gzip or zstd packed is unpacked into a nameless file of $TMPDIR, or of
/// /var/tmp, which goes with the last mapping of it. Throws as MappedFile does, and UserError: 65 a
/// damaged archive, or one that is cut off; 74 there is no room to unpack it.
MappedFile open_unpacked(const std::string& path);

}  // namespace trainx::data

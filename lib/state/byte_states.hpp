// States of bytes (program::ByteCodes), whose scales are of blocks of the elements that a rank has.
#pragma once
#include "program/states.hpp"
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainx::state {

/// Of one rank, or of ranks whose shards follow one another: which elements of a tensor it has, of
/// each state_block of which there is a scale.
struct ByteBlocks {
  program::Slice slice;
  std::int64_t elements = 0;
  std::int64_t blocks() const;
  bool operator==(const ByteBlocks&) const = default;
};

/// The parts that ranks have of a tensor of a group in parts (program::part_of), by part; all of
/// them together are the tensor.
std::vector<ByteBlocks> blocks_of_parts(const program::GroupSpec& group,
                                        const program::ParameterSpec& tensor);

/// A file has the parts as i64 [parts, numbers]: the scales' blocks follow from them.
std::vector<std::int64_t> numbers_of(const std::vector<ByteBlocks>& parts);
/// What numbers_of made, of `rows` parts. Throws UserError 65 that names `where` if they are not
/// parts of a tensor of `elements`.
std::vector<ByteBlocks> parts_of_numbers(std::span<const std::int64_t> numbers, std::int64_t rows,
                                         std::int64_t elements, const std::string& where);

/// Bytes of a whole tensor in the order of its elements, and scales of its parts after one another.
struct SavedBytes {
  std::span<const std::byte> codes;
  std::span<const float> scales;
  std::vector<ByteBlocks> parts;
};
struct OwnBytes {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};
/// What `own` has of them. A block whose elements are of one block that was saved keeps its bytes
/// and its scale; of others the numbers are rounded once more, by the largest of them. Elements
/// from `real` on pad the tensor: they are zero.
OwnBytes bytes_of(const SavedBytes& saved, program::ByteCodes codes, const ByteBlocks& own,
                  std::int64_t real);

}  // namespace trainx::state

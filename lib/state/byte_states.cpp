#include "state/byte_states.hpp"
#include "core/error.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "kernels/optimizer/update.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::state {

using program::ByteCodes, program::Slice, program::state_block;

std::int64_t ByteBlocks::blocks() const { return (elements + state_block - 1) / state_block; }

std::vector<ByteBlocks> blocks_of_parts(const program::GroupSpec& group,
                                        const program::ParameterSpec& tensor) {
  std::vector<ByteBlocks> out;
  for (int part = 0; part < group.parts.count; ++part) {
    const program::GroupSpec own = program::part_of(group, part);
    const auto& p = *std::ranges::find(own.parameters, tensor.name, &program::ParameterSpec::name);
    out.push_back({p.slice, p.elements()});
  }
  return out;
}

namespace {

// In a row of numbers: the part's elements, its slice's first and columns and elements of a row,
// then the first and the number of elements of each run.
constexpr std::size_t before_runs = 4;

[[noreturn]] void refuse(const std::string& where) {
  throw UserError(ExitCode::bad_data, where + ": the parts are not those of its tensor");
}

/// Some elements that follow one another in the tensor and in a part of it.
struct Stretch {
  std::int64_t of_tensor = 0, count = 0;
  std::int64_t of_part = 0;
  std::int64_t first_block = 0;  // of the part, among all scales
};

/// Of all parts, ascending.
std::vector<Stretch> stretches_of(const std::vector<ByteBlocks>& parts) {
  std::vector<Stretch> out;
  std::int64_t first_block = 0;
  for (const ByteBlocks& part : parts) {
    part.slice.for_each_run(part.elements,
                            [&](std::int64_t tensor, std::int64_t own, std::int64_t count) {
                              out.push_back({tensor, count, own, first_block});
                            });
    first_block += part.blocks();
  }
  std::ranges::sort(out, {}, &Stretch::of_tensor);
  return out;
}

/// The blocks of one rank, which are made one after the other.
class Blocks {
 public:
  Blocks(const SavedBytes& saved, ByteCodes codes)
      : saved_(saved),
        is_signed_(codes == ByteCodes::of_signed),
        map_(kernels::dynamic_map(is_signed_)) {}

  /// The next element, which was saved as that one, in that block.
  void add(std::int64_t of_tensor, std::int64_t block) {
    const auto code =
        std::to_integer<std::uint8_t>(saved_.codes[static_cast<std::size_t>(of_tensor)]);
    is_of_several_ = is_of_several_ || (block_ != program::none && block != block_);
    block_ = block;
    push(code, kernels::product(map_[code], saved_.scales[static_cast<std::size_t>(block)]));
  }
  /// The next one pads the tensor.
  void add_zero() { push(code_of(0), 0); }
  OwnBytes take() {
    end_block();
    return std::move(out_);
  }

 private:
  void push(std::uint8_t code, float value) {
    out_.codes.push_back(code);
    values_.push_back(value);
    if (static_cast<std::int64_t>(values_.size()) == state_block) end_block();
  }
  std::uint8_t code_of(float x) const {
    const kernels::DynamicCodes& codes = kernels::dynamic_codes();
    return is_signed_ ? codes.of(x) : codes.of_square(x);
  }
  void end_block() {
    if (values_.empty()) return;
    float most = 0;
    for (const float x : values_) most = std::max(most, std::fabs(x));
    if (is_of_several_)
      for (std::size_t k = 0; k < values_.size(); ++k)
        out_.codes[out_.codes.size() - values_.size() + k] =
            code_of(most > 0 ? kernels::quotient(values_[k], most) : 0);
    else if (block_ != program::none)
      most = saved_.scales[static_cast<std::size_t>(block_)];
    out_.scales.push_back(most);
    values_.clear();
    block_ = program::none;
    is_of_several_ = false;
  }

  const SavedBytes& saved_;
  bool is_signed_;
  const float* map_;
  OwnBytes out_;
  // of the block that is not full
  std::vector<float> values_;
  std::int64_t block_ = program::none;
  bool is_of_several_ = false;
};

}  // namespace

std::vector<std::int64_t> numbers_of(const std::vector<ByteBlocks>& parts) {
  std::vector<std::int64_t> out;
  for (const auto& [slice, elements] : parts) {
    for (const std::int64_t n : {elements, slice.first, slice.columns, slice.row_elements})
      out.push_back(n);
    for (const Slice::Run& run : slice.runs)
      for (const std::int64_t n : {run.first, run.elements}) out.push_back(n);
  }
  return out;
}

std::vector<ByteBlocks> parts_of_numbers(std::span<const std::int64_t> numbers, std::int64_t rows,
                                         std::int64_t elements, const std::string& where) {
  const std::size_t each = rows > 0 ? numbers.size() / static_cast<std::size_t>(rows) : 0;
  if (each < before_runs || (each - before_runs) % 2 != 0) refuse(where);
  const auto is_of_tensor = [&](std::int64_t n) { return n >= 0 && n <= elements; };
  if (!std::ranges::all_of(numbers, is_of_tensor)) refuse(where);
  std::vector<ByteBlocks> out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const std::span<const std::int64_t> of_part = numbers.subspan(row * each, each);
    ByteBlocks& part = out.emplace_back(ByteBlocks{
        {.first = of_part[1], .columns = of_part[2], .row_elements = of_part[3]}, of_part[0]});
    for (std::size_t k = before_runs; k < each; k += 2)
      part.slice.runs.push_back({of_part[k], of_part[k + 1]});
    const Slice& slice = part.slice;
    std::int64_t of_runs = 0;
    for (const Slice::Run& run : slice.runs) of_runs += run.elements;
    if ((!slice.runs.empty() && of_runs != part.elements) ||
        (slice.columns == 0 && slice.row_elements != 0) ||
        (!slice.runs.empty() && (slice.first != 0 || slice.columns != 0)))
      refuse(where);
  }
  std::int64_t end = 0;  // of the elements that are some part's
  for (const Stretch& s : stretches_of(out)) {
    if (s.of_tensor != end) refuse(where);
    end += s.count;
  }
  if (end != elements) refuse(where);
  return out;
}

OwnBytes bytes_of(const SavedBytes& saved, ByteCodes codes, const ByteBlocks& own,
                  std::int64_t real) {
  const std::vector<Stretch> stretches = stretches_of(saved.parts);
  Blocks blocks(saved, codes);
  own.slice.for_each_run(own.elements, [&](std::int64_t tensor, std::int64_t, std::int64_t count) {
    const std::int64_t end = tensor + count, real_end = std::max(tensor, std::min(end, real));
    auto at = std::ranges::upper_bound(stretches, tensor, {}, &Stretch::of_tensor);
    for (std::int64_t e = tensor; e < real_end;) {
      const Stretch& s = *(at - 1);
      const std::int64_t last = std::min(real_end, s.of_tensor + s.count);
      for (; e < last; ++e)
        blocks.add(e, s.first_block + (s.of_part + e - s.of_tensor) / state_block);
      ++at;
    }
    for (std::int64_t e = real_end; e < end; ++e) blocks.add_zero();
  });
  return blocks.take();
}

}  // namespace trainx::state

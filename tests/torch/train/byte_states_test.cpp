// States of bytes go from one cut of a tensor to another.
#include "state/byte_states.hpp"
#include "core/error.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace byte_states_test {

using namespace trainx;
using namespace trainx::state;
using program::ByteCodes, program::GroupSpec, program::ParameterSpec, program::state_block;

namespace {

/// A group of one tensor in parts.
struct Cut {
  GroupSpec group;
  std::vector<ByteBlocks> parts;
  Cut(std::vector<std::int64_t> dims, int cut_dimension, std::vector<std::int64_t> sections,
      int count) {
    ParameterSpec p{.name = "t", .dims = std::move(dims)};
    p.cut_dimension = cut_dimension;
    p.sections = std::move(sections);
    p.saved_dims = p.dims;
    group.name = "g";
    group.elements = p.elements();
    group.parameters.push_back(p);
    group.parts = {program::axes::tensor, count};
    if (count > 1)
      parts = blocks_of_parts(group, p);
    else
      parts = {{{}, p.elements()}};
  }
};

struct Saved {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  std::vector<ByteBlocks> parts;
  SavedBytes get() const { return {codes, scales, parts}; }
};

/// What ranks with these parts save of a tensor of these numbers.
Saved saved_of(const std::vector<float>& numbers, ByteCodes kind,
               const std::vector<ByteBlocks>& parts) {
  Saved out{std::vector<std::byte>(numbers.size()), {}, parts};
  const auto& codes = kernels::dynamic_codes();
  for (const ByteBlocks& part : parts) {
    std::vector<std::size_t> own;
    part.slice.for_each_run(part.elements, [&](std::int64_t first, std::int64_t, std::int64_t n) {
      for (std::int64_t k = 0; k < n; ++k) own.push_back(static_cast<std::size_t>(first + k));
    });
    for (std::size_t begin = 0; begin < own.size(); begin += state_block) {
      const std::size_t end = std::min<std::size_t>(own.size(), begin + state_block);
      float most = 0;
      for (std::size_t k = begin; k < end; ++k) most = std::max(most, std::fabs(numbers[own[k]]));
      for (std::size_t k = begin; k < end; ++k) {
        const float x = most > 0 ? numbers[own[k]] / most : 0;
        out.codes[own[k]] =
            std::byte{kind == ByteCodes::of_signed ? codes.of(x) : codes.of_square(x)};
      }
      out.scales.push_back(most);
    }
  }
  return out;
}

/// What all of these parts load of it, as they save it again.
Saved loaded(const Saved& from, ByteCodes kind, const std::vector<ByteBlocks>& parts) {
  Saved out{std::vector<std::byte>(from.codes.size()), {}, parts};
  for (const ByteBlocks& part : parts) {
    const OwnBytes own = bytes_of(from.get(), kind, part, std::ssize(from.codes));
    REQUIRE(std::ssize(own.codes) == part.elements);
    REQUIRE(std::ssize(own.scales) == part.blocks());
    part.slice.for_each_run(part.elements,
                            [&](std::int64_t first, std::int64_t at, std::int64_t n) {
                              for (std::int64_t k = 0; k < n; ++k)
                                out.codes[static_cast<std::size_t>(first + k)] =
                                    std::byte{own.codes[static_cast<std::size_t>(at + k)]};
                            });
    out.scales.insert(out.scales.end(), own.scales.begin(), own.scales.end());
  }
  return out;
}

std::vector<float> numbers_in(const Saved& saved, ByteCodes kind) {
  std::vector<float> out(saved.codes.size());
  const float* const map = kernels::dynamic_map(kind == ByteCodes::of_signed);
  std::int64_t block = 0;
  for (const ByteBlocks& part : saved.parts) {
    part.slice.for_each_run(
        part.elements, [&](std::int64_t first, std::int64_t at, std::int64_t n) {
          for (std::int64_t k = 0; k < n; ++k) {
            const auto e = static_cast<std::size_t>(first + k);
            out[e] = map[std::to_integer<int>(saved.codes[e])] *
                     saved.scales[static_cast<std::size_t>(block + (at + k) / state_block)];
          }
        });
    block += part.blocks();
  }
  return out;
}

std::vector<float> drawn(std::int64_t elements, ByteCodes kind) {
  std::mt19937 random(static_cast<unsigned>(elements));
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> out(static_cast<std::size_t>(elements));
  for (float& x : out)
    x = kind == ByteCodes::of_signed ? normal(random) : std::pow(normal(random), 2.0f);
  return out;
}

struct Shape {
  std::vector<std::int64_t> dims;
  int cut_dimension;
  std::vector<std::int64_t> sections;
};
const std::vector<Shape> odd{{{24, 36}, 0, {}},           {{24, 60}, 1, {}},
                             {{2, 24, 30}, 1, {}},        {{2, 30, 24}, 2, {}},
                             {{72, 17}, 0, {48, 12, 12}}, {{3000}, 0, {}}};

}  // namespace

TEST_CASE("the same parts load the bits that were saved, others what is nearest to them") {
  for (const ByteCodes kind : {ByteCodes::of_signed, ByteCodes::of_unsigned})
    for (const Shape& shape : odd)
      for (const int from : {1, 2, 3, 4})
        for (const int to : {1, 2, 3, 4}) {
          const Cut a(shape.dims, shape.cut_dimension, shape.sections, from),
              b(shape.dims, shape.cut_dimension, shape.sections, to);
          CAPTURE(shape.dims.front(), shape.dims.back(), shape.cut_dimension, from, to);
          const Saved saved = saved_of(drawn(a.group.elements, kind), kind, a.parts),
                      got = loaded(saved, kind, b.parts);
          if (from == to) {
            CHECK((got.codes == saved.codes));
            CHECK(got.scales == saved.scales);
            continue;
          }
          // half of the map's widest step, of the largest number of a block
          const float step = kind == ByteCodes::of_signed ? 0.0072f : 0.0036f;
          const std::vector<float> before = numbers_in(saved, kind), after = numbers_in(got, kind);
          float most = 0;
          for (const float x : before) most = std::max(most, std::fabs(x));
          for (std::size_t k = 0; k < before.size(); ++k)
            if (!(std::fabs(before[k] - after[k]) <= step * most)) FAIL("element " << k);
          CHECK(before != after);
        }
}

TEST_CASE("blocks that lie whole in another one keep their bits") {
  const std::vector<Shape> whole{
      {{12, 256}, 0, {}}, {{5, 12 * 256}, 1, {}}, {{24, 512}, 0, {12, 12}}};
  for (const ByteCodes kind : {ByteCodes::of_signed, ByteCodes::of_unsigned})
    for (const Shape& shape : whole)
      for (const int from : {1, 2, 3, 4})
        for (const int to : {1, 2, 3, 4}) {
          const Cut a(shape.dims, shape.cut_dimension, shape.sections, from),
              b(shape.dims, shape.cut_dimension, shape.sections, to);
          const Saved saved = saved_of(drawn(a.group.elements, kind), kind, a.parts),
                      back = loaded(loaded(saved, kind, b.parts), kind, a.parts);
          CAPTURE(shape.dims.front(), from, to);
          CHECK((back.codes == saved.codes));
          CHECK(back.scales == saved.scales);
        }
}

TEST_CASE("what pads a vocabulary is zero, however it was saved") {
  for (const ByteCodes kind : {ByteCodes::of_signed, ByteCodes::of_unsigned}) {
    const Cut a({20, 30}, 0, {}, 2), b({32, 30}, 0, {}, 4);  // 18 rows are real
    Saved saved = saved_of(drawn(600, kind), kind, a.parts);
    for (const ByteBlocks& part : b.parts) {
      const OwnBytes own = bytes_of(saved.get(), kind, part, 18 * 30);
      const float* const map = kernels::dynamic_map(kind == ByteCodes::of_signed);
      part.slice.for_each_run(
          part.elements, [&](std::int64_t first, std::int64_t at, std::int64_t n) {
            for (std::int64_t k = 0; k < n; ++k)
              if (first + k >= 18 * 30)
                CHECK(map[own.codes[static_cast<std::size_t>(at + k)]] *
                          own.scales[static_cast<std::size_t>((at + k) / state_block)] ==
                      0);
          });
    }
  }
}

TEST_CASE("parts are what their numbers say, and numbers that are no parts are refused") {
  for (const Shape& shape : odd)
    for (const int count : {2, 3, 4}) {
      const Cut cut(shape.dims, shape.cut_dimension, shape.sections, count);
      const std::vector<std::int64_t> numbers = numbers_of(cut.parts);
      const auto read = [&](const std::vector<std::int64_t>& from, std::int64_t elements) {
        return parts_of_numbers(from, count, elements, "here");
      };
      CHECK((read(numbers, cut.group.elements) == cut.parts));
      CHECK_THROWS_AS(read(numbers, cut.group.elements + 1), UserError);
      CHECK_THROWS_AS(read({}, cut.group.elements), UserError);
      for (std::size_t k = 0; k < numbers.size(); ++k)
        for (const std::int64_t other : {std::int64_t{-1}, numbers[k] + 1, std::int64_t{1} << 60}) {
          std::vector<std::int64_t> changed = numbers;
          changed[k] = other;
          CAPTURE(k, other);
          CHECK_THROWS_AS(read(changed, cut.group.elements), UserError);
        }
    }
}

}  // namespace byte_states_test

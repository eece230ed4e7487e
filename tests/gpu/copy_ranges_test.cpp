#include "kernels/step/copy_ranges.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace copy_ranges_test {

using namespace trainx::kernels;

TEST_CASE("ranges of every length and alignment are copied, and nothing beside them", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::vector<std::int64_t> lengths{0,       1, 4,       15, 16, 28, 4096, 65'537,
                                          1 << 20, 7, 100'000, 8,  0,  3,  17,   5'000'001};
  REQUIRE(lengths.size() == most_copied_ranges);
  constexpr std::int64_t gap = 256;  // between them
  for (const std::int64_t from_shift : {0, 1})
    for (const std::int64_t to_shift : {0, 4}) {
      INFO("shifted by " << from_shift << " and " << to_shift);
      std::int64_t all = gap;
      for (const std::int64_t length : lengths) all += (length + gap - 1) / gap * gap + gap;
      const auto integers = random_integers(all, 256, 1);
      std::vector<std::uint8_t> source(integers.begin(), integers.end()),
          want(static_cast<std::size_t>(all), 0xee);
      const OnDevice<std::uint8_t> from(source), to(want);
      CopiedRanges ranges;
      std::int64_t at = gap;
      for (std::size_t k = 0; k < lengths.size(); ++k) {
        ranges[k] = {reinterpret_cast<const std::byte*>(from.data()) + at + from_shift,
                     reinterpret_cast<std::byte*>(to.data()) + at + to_shift, lengths[k]};
        std::copy_n(source.begin() + at + from_shift, lengths[k], want.begin() + at + to_shift);
        at += (lengths[k] + gap - 1) / gap * gap + gap;
      }
      require_success(copy_ranges(ranges, nullptr), "copy_ranges");
      CHECK(to.host() == want);
    }
}

}  // namespace copy_ranges_test

#include "kernels/quantize/transpose_fp8.hpp"
#include "gpu/operands.hpp"

namespace transpose_fp8_test {

using namespace trainx::kernels;

TEST_CASE("bytes are transposed for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  std::mt19937 random(7);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                      {16, 16},
                                      {128, 128},
                                      {96, 400},
                                      {129, 127},
                                      {33, 272},
                                      {768, 3072},
                                      {3, 1000}})
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
      CAPTURE(rows, columns, shift);
      std::vector<std::uint8_t> x(static_cast<std::size_t>(rows * columns));
      for (std::uint8_t& byte : x) byte = static_cast<std::uint8_t>(random());
      std::vector<std::uint8_t> want(x.size());
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          want[static_cast<std::size_t>(c * rows + r)] =
              x[static_cast<std::size_t>(r * columns + c)];
      const OnDevice<std::uint8_t> in(x, shift), out(std::vector<std::uint8_t>(x.size()), shift);
      require_success(transpose_fp8(out.data(), in.data(), rows, columns, nullptr), "transpose");
      CHECK(out.host() == want);
    }
}

}  // namespace transpose_fp8_test

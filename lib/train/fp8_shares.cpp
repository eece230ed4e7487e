#include "train/fp8_shares.hpp"
#include "core/error.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include <charconv>
#include <sstream>
#include <system_error>

namespace trainx::train {

std::optional<metrics::Fp8Shares> fp8_shares(const std::vector<double>& counts, bool delayed) {
  if (counts.empty()) return std::nullopt;
  static_assert(metrics::Fp8Shares::classes == operations::fp8_classes);
  metrics::Fp8Shares out;
  const std::size_t of_class = counts.size() / operations::fp8_classes,
                    row = kernels::fp8_counts + (delayed ? kernels::fp8_exponents : 0);
  for (std::size_t k = 0; k < operations::fp8_classes; ++k) {
    double sums[operations::fp8_count_kinds] = {};
    for (std::size_t first = 0; first < of_class; first += row)
      for (std::size_t i = 0; i < operations::fp8_count_kinds; ++i)
        sums[i] += counts[k * of_class + first + i];
    if (!(sums[kernels::fp8_elements] > 0)) continue;
    out.flushed[k] = sums[kernels::fp8_flushed] / sums[kernels::fp8_elements];
    out.saturated[k] = sums[kernels::fp8_saturated] / sums[kernels::fp8_elements];
  }
  return out;
}

std::string fp8_ranges_text(const std::vector<double>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (i % kernels::fp8_range_state > 0)
      text += (text.empty() ? "" : " ") + std::to_string(static_cast<int>(ranges[i]));
  return text;
}

std::vector<double> fp8_ranges_from(const std::string& text, const std::string& path) {
  const auto refuse = [&] {
    throw UserError(ExitCode::bad_data, path + ": fp8_ranges are not what trainx saved");
  };
  std::vector<double> ranges;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    int exponent = -1;
    const char* const end = word.data() + word.size();
    if (const auto [at, error] = std::from_chars(word.data(), end, exponent);
        error != std::errc() || at != end || exponent < 0 || exponent > kernels::fp8_exponents)
      refuse();
    if (ranges.size() % kernels::fp8_range_state == 0) ranges.push_back(0);
    ranges.push_back(exponent);
  }
  if (ranges.size() % kernels::fp8_range_state != 0) refuse();
  for (std::size_t i = 0; i < ranges.size(); i += kernels::fp8_range_state)
    kernels::set_fp8_range(ranges.data() + i);
  return ranges;
}

std::int64_t fp8_tensor_from(const std::string& text, const std::string& path) {
  std::int64_t tensor = -1;
  const char* const end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, tensor);
      error != std::errc() || at != end || tensor < 0)
    throw UserError(ExitCode::bad_data, path + ": fp8_saturation is not what trainx saved");
  return tensor;
}

}  // namespace trainx::train

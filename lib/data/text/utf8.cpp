#include "data/text/utf8.hpp"
#include <cstdint>

namespace trainx::data::text {
namespace {

/// Bytes of the sequence that begins with `lead` and what its second byte may be; length 0: no
/// sequence begins so.
struct Lead {
  std::size_t length;
  std::uint8_t second_low, second_high;
};

Lead lead_of(std::uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead >= 0xc2 && lead <= 0xdf) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead >= 0xe1 && lead <= 0xef) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

std::optional<std::size_t> find_malformed_utf8(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    const Lead lead = lead_of(at(i));
    if (lead.length == 0 || i + lead.length > bytes.size()) return i;
    for (std::size_t k = 1; k < lead.length; ++k) {
      const std::uint8_t low = k == 1 ? lead.second_low : 0x80,
                         high = k == 1 ? lead.second_high : 0xbf;
      if (at(i + k) < low || at(i + k) > high) return i;
    }
    i += lead.length;
  }
  return std::nullopt;
}

}  // namespace trainx::data::text

#include "core/process.hpp"
#include <unistd.h>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace trainx {

std::string executable_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : std::string();
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string signal_name(int signal) {
  const char* name = ::strsignal(signal);
  return name ? name : "unknown signal";
}

std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// Well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, surrogates or code points above
// U+10FFFF.
bool is_utf8(const std::string& text) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const std::size_t n = text.size();
  auto between = [&](std::size_t i, unsigned low, unsigned high) {
    return i < n && s[i] >= low && s[i] <= high;
  };
  for (std::size_t i = 0; i < n;) {
    const unsigned c = s[i++];
    if (c < 0x80) continue;
    std::size_t more = 0;
    unsigned low = 0x80, high = 0xBF;  // of the second byte
    if (c >= 0xC2 && c <= 0xDF)
      more = 1;
    else if (c >= 0xE0 && c <= 0xEF)
      more = 2, low = c == 0xE0 ? 0xA0 : low, high = c == 0xED ? 0x9F : high;
    else if (c >= 0xF0 && c <= 0xF4)
      more = 3, low = c == 0xF0 ? 0x90 : low, high = c == 0xF4 ? 0x8F : high;
    else
      return false;
    if (!between(i, low, high)) return false;
    for (std::size_t k = 1; k < more; ++k)
      if (!between(i + k, 0x80, 0xBF)) return false;
    i += more;
  }
  return true;
}

}  // namespace trainx

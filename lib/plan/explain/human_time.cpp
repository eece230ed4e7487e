#include "plan/explain/human_time.hpp"
#include "core/units.hpp"
#include <cstdio>

namespace trainx::plan {
namespace {

std::string three_digits(double x, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer,
                x < 9.995   ? "%.2f%s"
                : x < 99.95 ? "%.1f%s"
                            : "%.0f%s",
                x, unit);
  return buffer;
}

}  // namespace

std::string human_time(double seconds) {
  if (!(seconds >= 0) || !(seconds < 1e12)) return "?";
  if (seconds < 0.5e-6) return "0 ms";
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6, " us");
  if (seconds < 0.9995) return three_digits(seconds * 1e3, " ms");
  return three_digits(seconds, " s");
}

std::string human_amount(double amount) {
  return amount >= 0 && amount < 99.95 ? three_digits(amount, "") : human_count(amount);
}

std::string human_flops(double flops) {
  if (!(flops >= 0) || !(flops < 1e24)) return "? FLOP";
  const char* unit = " FLOP";
  for (const char* larger : {" kFLOP", " MFLOP", " GFLOP", " TFLOP", " PFLOP", " EFLOP"}) {
    if (flops < 999.5) break;
    flops /= 1000;
    unit = larger;
  }
  return three_digits(flops, unit);
}

}  // namespace trainx::plan

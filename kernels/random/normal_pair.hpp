// Normal numbers of random words, by products, sums, quotients and square roots that are rounded
// one by one: the bits are the same on every CPU and GPU, which those of a library's log and cos
// are not.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

struct NormalPair {
  double at[2];
};

/// The natural logarithm of m / 2^32 for whole m in [1, 2^32]; the error is below one unit in the
/// last place. m / 2^32 = 2^e (1 + g) with 1 + g in [sqrt(1/2), sqrt(2)), and with s = g / (2 + g)
///   log(1 + g) = 2 atanh(s) = g - (h - s (h + r)), h = g^2 / 2, r = sum of 2 s^2k / (2k + 1), k >
///   0.
/// |s| < 0.172, so that the series ends below 2^-56 of the whole with k = 11.
TRAINX_HOST_DEVICE double log_of_fraction(double m) {
  constexpr std::uint64_t one = 0x3ff0000000000000, root_of_half = 0x3fe6a09e667f3bcd;
  // log(2), the upper part with zeros at the end: its products with e are exact
  constexpr double log_2_upper = 0x1.62e42feep-1, log_2_lower = 0x1.a39ef35793c76p-33;
  const std::uint64_t shifted = bits_of(m) - root_of_half;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double g =
      sum(double_of((shifted & 0x000fffffffffffff) + root_of_half), -double_of(one));  // exact
  const auto e = static_cast<double>(exponent - 32);
  const double s = quotient(g, sum(2.0, g)), z = product(s, s), h = product(0.5, product(g, g));
  double r = 2.0 / 23;
  r = sum(product(r, z), 2.0 / 21);
  r = sum(product(r, z), 2.0 / 19);
  r = sum(product(r, z), 2.0 / 17);
  r = sum(product(r, z), 2.0 / 15);
  r = sum(product(r, z), 2.0 / 13);
  r = sum(product(r, z), 2.0 / 11);
  r = sum(product(r, z), 2.0 / 9);
  r = sum(product(r, z), 2.0 / 7);
  r = sum(product(r, z), 2.0 / 5);
  r = sum(product(r, z), 2.0 / 3);
  r = product(r, z);
  const double small = sum(product(s, sum(h, r)), product(e, log_2_lower));
  return sum(product(e, log_2_upper), -sum(sum(h, -small), -g));
}

/// radius * cos(angle) and radius * sin(angle), angle = 2 pi b / 2^32; the error of cos and sin is
/// below one unit in the last place of the angle as a double. The angle is k quarter turns and a
/// rest of at most an eighth turn, x + y with y below half a unit in the last place of x, where the
/// series of Taylor end below 2^-57 of the whole.
TRAINX_HOST_DEVICE NormalPair on_circle(double radius, std::uint32_t b) {
  // pi / 2, the upper part with zeros at the end: its products with k are exact
  constexpr double quarter_upper = 0x1.921fb54442d18p0, quarter_lower = 0x1.1a62633145c07p-54;
  const double angle = product(product(4 * quarter_upper, static_cast<double>(b)), 0x1p-32);
  const auto turns = static_cast<std::uint32_t>((std::uint64_t{b} + (1u << 29)) >> 30);
  const auto k = static_cast<double>(turns);
  const double rest = sum(angle, -product(k, quarter_upper)), lower = product(k, quarter_lower);
  const double x = sum(rest, -lower), y = sum(sum(rest, -x), -lower);
  const double z = product(x, x), half = product(0.5, z);

  double odd = 1.0 / 355687428096000;  // 17!
  odd = sum(product(odd, z), -1.0 / 1307674368000);
  odd = sum(product(odd, z), 1.0 / 6227020800);
  odd = sum(product(odd, z), -1.0 / 39916800);
  odd = sum(product(odd, z), 1.0 / 362880);
  odd = sum(product(odd, z), -1.0 / 5040);
  odd = sum(product(odd, z), 1.0 / 120);
  odd = sum(product(odd, z), -1.0 / 6);
  const double sine = sum(x, sum(product(product(x, z), odd), product(y, sum(1.0, -half))));

  double even = -1.0 / 6402373705728000;  // 18!
  even = sum(product(even, z), 1.0 / 20922789888000);
  even = sum(product(even, z), -1.0 / 87178291200);
  even = sum(product(even, z), 1.0 / 479001600);
  even = sum(product(even, z), -1.0 / 3628800);
  even = sum(product(even, z), 1.0 / 40320);
  even = sum(product(even, z), -1.0 / 720);
  even = sum(product(even, z), 1.0 / 24);
  const double near = sum(1.0, -half), taken = sum(sum(1.0, -near), -half);
  const double cosine = sum(near, sum(taken, sum(product(product(z, z), even), -product(x, y))));

  const bool odd_turns = (turns & 1) != 0;
  const double c = odd_turns ? sine : cosine, s = odd_turns ? cosine : sine;
  return {{product(radius, ((turns + 1) & 2) != 0 ? -c : c),
           product(radius, (turns & 2) != 0 ? -s : s)}};
}

/// Two standard normal numbers of two words (Box & Muller 1958, "A note on the generation of random
/// normal deviates").
TRAINX_HOST_DEVICE NormalPair normal_pair(std::uint32_t a, std::uint32_t b) {
  return on_circle(square_root(product(-2.0, log_of_fraction(sum(static_cast<double>(a), 1.0)))),
                   b);
}

}  // namespace trainx::kernels

// What printed programs have in common, for tests that show what a pass adds to it.
#pragma once
#include "support/toy/text.hpp"

namespace toy {

/// A micro-step of chain(1, true), one space between words: later ones add to what the first
/// overwrites.
inline std::string printed_micro_step(int micro) {
  const std::string m = "m" + std::to_string(micro) + " ", first = micro == 0 ? "= " : "+ ",
                    scalar = micro == 0 ? "" : "+ ";
  return m + "fetch_batch step > x target\n" + m + "forward embed x w.tied > h0\n" + m +
         "forward b1 h0 w.b1 > h1 b1.u b1.z\n" + m + "loss head h1 w.tied target > dh1 " + first +
         "g.tied " + scalar + "loss_sum " + scalar + "target_count\n" + m +
         "backward b1 b1.u b1.z dh1 w.b1 > dh0 " + first + "g.b1\n" + m +
         "backward embed x dh0 > + g.tied\n";
}

}  // namespace toy

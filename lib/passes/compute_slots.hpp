// The blocks of a program, one after the other.
#pragma once
#include "program/program.hpp"
#include <cstdint>
#include <utility>

namespace trainx::passes {

/// Neighbouring instructions of the same block are one turn. What is no block's belongs to the turn
/// before it; or what is of a group of parameters (an update) is a turn of its own, made on the
/// device or anywhere.
struct ComputeSlots {
  enum class Of : std::uint8_t { blocks, blocks_and_parameters, blocks_and_parameters_anywhere };
  std::vector<int> of;     // by position in steady
  std::vector<int> begin;  // by turn: its first position

  explicit ComputeSlots(const std::vector<program::Instruction>& steady, Of what = Of::blocks) {
    std::pair<bool, int> whose{false, program::none};  // of a group of parameters?
    for (std::size_t k = 0; k < steady.size(); ++k) {
      const program::Instruction& i = steady[k];
      const bool of_parameters = what != Of::blocks && is_of_parameters(i),
                 is_here =
                     i.lane == program::Lane::compute ||
                     (what == Of::blocks_and_parameters_anywhere && i.lane == program::Lane::host);
      const bool counts = (is_of_block(i) || of_parameters) && is_here;
      const std::pair here{of_parameters, of_parameters ? i.group : i.block};
      if (begin.empty() || (counts && whose != here)) begin.push_back(static_cast<int>(k));
      if (counts) whose = here;
      of.push_back(static_cast<int>(begin.size()) - 1);
    }
  }
};

}  // namespace trainx::passes

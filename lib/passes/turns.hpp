// The blocks of a program, one after the other.
#pragma once
#include "program/program.hpp"

namespace trainx::passes {

/// Neighbouring instructions of the same block are one turn. What is no block's belongs to the turn before it.
struct Turns {
  std::vector<int> of;                  // by position in steady
  std::vector<int> begin;               // by turn: its first position

  explicit Turns(const std::vector<program::Instruction>& steady) {
    int block = program::none;
    for (std::size_t k = 0; k < steady.size(); ++k) {
      const program::Instruction& i = steady[k];
      const bool of_block = is_of_block(i) && i.lane == program::Lane::compute;
      if (begin.empty() || (of_block && i.block != block)) begin.push_back(static_cast<int>(k));
      if (of_block) block = i.block;
      of.push_back(static_cast<int>(begin.size()) - 1);
    }
  }
};

}  // namespace trainx::passes

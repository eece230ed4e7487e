// What differs between transformers' TrainingArguments and the tools that extend them.
#pragma once
#include "imports/readers.hpp"
#include "imports/unmapped.hpp"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::imports {

struct ArgumentDialect {
  std::string name, default_of;              // "TRL", "default of TRL"
  std::string learning_rate, logging_steps;  // their defaults
  bool bf16 = false, recomputes = false;     // by default
  std::string_view recomputes_not;           // a switch that turns that off
  std::vector<std::string_view> length_keys;
  std::string length;  // tokens of a sample by default; empty: as the model has positions
  std::span<const Unmapped> unmapped;
  void (*read_own)(Settings&) = nullptr;  // its adapter, and what else it adds
};

const ArgumentDialect& dialect_of(ArgumentsOf whose);

/// Held-out data of that size at `key`: a share of the samples below 1, else their number.
void map_held_out(Settings& settings, std::string_view key);

}  // namespace trainx::imports

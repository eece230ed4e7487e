// What two runs are compared by.
#pragma once
#include "equality/results.hpp"
#include <optional>
#include <string>

namespace trainx::equality {

/// As cases write it:
///   KEY          all values of a key of metrics.jsonl: loss, grad_norm, eval_loss, ...
///   KEY[A:B]     those from A to before B; a negative number counts from the end
///   model, optimizer          tensors of the newest checkpoint
///   model/PREFIX              those whose names begin so; * stands for any text
///   state.KEY    a value of its trainer_state.json
///   checkpoints  every checkpoint: its tensors and config.json, and which one is the best
struct Quantity {
  enum class Kind { metric, tensors, state };
  Kind kind = Kind::metric;
  std::string text;          // as written
  std::string name, prefix;  // key or file; of tensors, a pattern of fnmatch
  std::optional<std::int64_t> from, to;
  auto operator<=>(const Quantity& other) const { return text <=> other.text; }
  bool operator==(const Quantity& other) const { return text == other.text; }
};

/// Throws std::invalid_argument.
Quantity quantity_of(const std::string& text);

/// Whether a run has any of it.
bool has(const Quantity& quantity, const Results& results);

/// A sentence where the two cannot be compared: a run has none of it, they have other names or
/// lengths, or a number is not finite. Empty where they can.
std::string unlike(const Quantity& quantity, const Results& a, const Results& b);

/// A sentence that says where the two are not equal to the bit; empty where they are. They are not
/// if a run has none of it, or a number is not finite.
std::string unequal(const Quantity& quantity, const Results& a, const Results& b);

/// Numbers: the largest relative difference of an element. Tensors: the largest difference of an
/// element over the largest magnitude of its tensor. NaN where the two cannot be compared. Throws
/// std::invalid_argument for text.
double largest_difference(const Quantity& quantity, const Results& a, const Results& b);

/// Of numbers: the largest difference over the range of b's. NaN where they cannot be compared.
double largest_share(const Quantity& quantity, const Results& a, const Results& b);

/// The values of a key of metrics.jsonl; empty if there are none. Throws std::invalid_argument for
/// other quantities, as largest_share does.
std::vector<double> numbers_of(const Quantity& quantity, const Results& results);

}  // namespace trainx::equality

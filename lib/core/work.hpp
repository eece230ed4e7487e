#pragma once
#include <cstdint>
#include <string_view>

namespace trainx {

/// Kinds of work that a step's time is told apart by; wait: for what another lane does.
enum class Work : std::uint8_t {
  matrix_product,
  attention,
  norm,
  activation,
  loss,
  embedding,
  sum,
  dropout,
  optimizer,
  copy,
  communication,
  scalar,
  wait,
  other
};

constexpr std::string_view name_of(Work work) {
  constexpr std::string_view names[] = {
      "matrix products", "attention", "norm",   "activation",    "loss",    "embedding", "sums",
      "dropout",         "optimizer", "copies", "communication", "scalars", "waits",     "other"};
  return names[static_cast<std::size_t>(work)];
}

}  // namespace trainx

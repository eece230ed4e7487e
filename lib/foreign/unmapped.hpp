// Settings of other tools that trainx has no key for, with the reason.
#pragma once
#include "foreign/settings.hpp"
#include <span>

namespace trainx::foreign {

struct Unmapped {
  std::string_view key;                 // dotted; a '*' at its end stands for any ending
  std::string_view defaults;            // as is_default takes them: no line is worth these
  std::string_view why;
};

/// The first whose key fits.
const Unmapped* find_unmapped(std::span<const Unmapped> table, std::string_view key);

/// Lists what nobody took of the settings: with the table's reason, or as unknown; maps without an entry of their own key by key.
void leave_rest(Settings& settings, std::span<const Unmapped> table, std::string_view tool);

std::span<const Unmapped> training_arguments_unmapped();
std::span<const Unmapped> deepspeed_unmapped();
std::span<const Unmapped> accelerate_unmapped();

}  // namespace trainx::foreign

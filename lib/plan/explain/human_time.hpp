// Times and work for people: three digits, whatever the size, so that they can be compared.
#pragma once
#include <string>

namespace trainx::plan {

/// "8.63 ms", "302 ms", "75.1 s".
std::string human_time(double seconds);
/// Of hours or money: "0.07", "9.50", "63.6k".
std::string human_amount(double amount);
/// "29.8 PFLOP".
std::string human_flops(double flops);

}  // namespace trainx::plan

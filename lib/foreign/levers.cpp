// What more than one tool spells in its own way: precision, ZeRO, offload.
#include "foreign/readers.hpp"
#include "foreign/registry.hpp"

namespace trainx::foreign {

void map_precision(Settings& settings, const std::string& compute, std::string_view key, std::string_view defaults) {
  if (takes_word("precision.compute", compute)) return settings.set("precision.compute", compute, key, defaults);
  settings.set("precision.compute", "bf16", key, defaults);
  settings.leave(key, "trainx does not compute in " + compute + ": bf16 in its place, which is as fast and needs no loss scale");
}

void map_zero_stage(Settings& settings, std::string_view key) {
  const std::int64_t stage = settings.whole(key).value_or(0);
  if (stage == 0) return;
  if (stage < 0 || stage > 3) settings.refuse(key, "must be 0, 1, 2 or 3, not " + std::to_string(stage));
  settings.set("parallel.mode", "zero" + std::to_string(stage), key);
}

bool has_stage_3(Settings& settings) {
  const Value* mode = settings.draft().find("parallel.mode");
  return mode && mode->text == "zero3";
}

void map_offload(Settings& settings, std::string_view key, const std::string& recipe_key) {
  const std::string device = settings.text(key).value_or("none");
  if (device == "none") return;
  if (recipe_key == "memory.parameter_offload" && !has_stage_3(settings)) return settings.leave(key, "acts with stage 3 alone");
  if (device == "cpu") return settings.set(recipe_key, device, key);
  settings.leave(key, "trainx has no disk for it: " + recipe_key + ": cpu keeps it in host memory");
}

void map_world(Settings& settings, std::string_view key) {
  if (const auto processes = settings.whole(key)) {
    if (*processes < 1 || *processes > 1 << 20) settings.refuse(key, "must be from 1 to 1048576, not " + std::to_string(*processes));
    settings.set("world", std::to_string(*processes), key);
  }
}

}  // namespace trainx::foreign

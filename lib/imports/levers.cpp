// What more than one tool spells in its own way: precision, ZeRO, offload.
#include "core/number.hpp"
#include "imports/readers.hpp"
#include "imports/registry.hpp"
#include "recipe/value.hpp"

namespace trainx::imports {

void map_precision(Settings& settings, const std::string& compute, std::string_view key,
                   std::string_view defaults) {
  if (takes_word("precision.compute", compute))
    return settings.set("precision.compute", compute, key, defaults);
  settings.set("precision.compute", "bf16", key, defaults);
  settings.leave(key, "this trainx does not compute in " + compute + "; the recipe says bf16");
}

void map_zero_stage(Settings& settings, std::string_view key) {
  const std::int64_t stage = settings.whole(key).value_or(0);
  if (stage == 0) return;
  if (stage < 0 || stage > 3)
    settings.refuse(key, "must be 0, 1, 2 or 3, not " + std::to_string(stage));
  settings.set("parallel.mode", "zero" + std::to_string(stage), key);
}

bool has_stage_3(Settings& settings) {
  const Value* mode = settings.draft().find("parallel.mode");
  return mode && mode->text == "zero3";
}

void map_offload(Settings& settings, std::string_view key, std::string_view folder_key,
                 const std::string& recipe_key) {
  const std::string device = settings.text(key).value_or("none");
  if (device == "none") return;
  const bool of_weights = recipe_key == "memory.parameter_offload";
  if (of_weights && !has_stage_3(settings))
    return settings.leave(key, "has an effect in stage 3 only");
  const std::string where = of_weights ? recipe_key : recipe_key + ".where",
                    folder_of_disk = "memory.optimizer_offload.folder";
  const std::string ours = device == "nvme" ? "disk" : device;
  if (!takes_word(where, ours))
    return settings.leave(
        key, where + " is one of " + (of_weights ? "cpu and disk" : "cpu, disk and cpu+disk"));
  settings.set(where, ours, key);
  const auto folder = settings.text(folder_key);
  if (ours != "disk" || !folder) return;
  const std::string text = recipe::write_value(*folder);
  if (const Value* other = settings.draft().find(folder_of_disk); other && other->text != text)
    settings.leave(folder_key, "weights and optimizer states share one file, in " + other->text);
  else
    settings.set(folder_of_disk, text, folder_key);
}

void map_offload_ratio(Settings& settings, std::string_view key) {
  const double ratio = settings.number(key).value_or(1);
  if (ratio < 0 || ratio > 1) settings.refuse(key, "must be from 0 to 1, not " + shortest(ratio));
  if (ratio == 0)
    settings.leave(key, "0 offloads nothing: write memory.optimizer_offload.where: none");
  else if (ratio < 1)
    settings.set("memory.optimizer_offload.share", shortest(1 - ratio), key);
}

void map_betas(Settings& settings, std::string_view key) {
  const yaml::Node* betas = settings.take(key);
  if (!betas) return;
  const bool is_pair = betas->kind == yaml::Node::Kind::sequence && betas->items.size() == 2;
  if (is_pair && plain_text(betas->items[0]) == "auto") return;
  const auto first = is_pair ? parse_decimal(plain_text(betas->items[0])) : std::nullopt;
  const auto second = is_pair ? parse_decimal(plain_text(betas->items[1])) : std::nullopt;
  if (!first || !second) settings.refuse(key, "must be a list of two numbers");
  settings.set("optimizer.options.beta1", shortest(*first), key);
  settings.set("optimizer.options.beta2", shortest(*second), key);
}

void map_world(Settings& settings, std::string_view key) {
  if (const auto processes = settings.whole(key)) {
    if (*processes < 1 || *processes > 1 << 20)
      settings.refuse(key, "must be from 1 to 1048576, not " + std::to_string(*processes));
    settings.set("world", std::to_string(*processes), key);
  }
}

}  // namespace trainx::imports

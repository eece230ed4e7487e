// Encoders whose layers look nearby or everywhere, with a table of rotary positions for each kind.
#include "architectures/families/encoder_family.hpp"
#include <string>

namespace trainx::architectures {
namespace {

using nlohmann::json;

const char* const kinds[] = {"sliding_attention", "full_attention"};

/// Which layers look everywhere: by name, or every so many.
void layer_types(ConfigKeys& keys, BertDims& d) {
  const ConfigReader* file = keys.file();
  if (!file) {
    json names = json::array();
    for (std::int64_t i = 0; i < d.num_layers; ++i) names.push_back(kinds[d.looks_everywhere(i)]);
    return keys.write("layer_types", names);
  }
  d.global_every = file->dimension("global_attn_every_n_layers", 3);
  if (const json* window = file->find("sliding_window"))  // which transformers prefers to the other
    file->fail("sliding_window is " + shown(*window) + ", which trainx does not compute; write " +
               "local_attention, which is twice as wide, instead");
  const json* names = file->find("layer_types");
  if (!names) return;
  if (!names->is_array() || std::ssize(*names) != d.num_layers)
    file->fail("layer_types must be a list of num_hidden_layers names");
  for (const json& name : *names) {
    if (name != kinds[0] && name != kinds[1])
      file->fail("layer_types has " + shown(name) +
                 "; a layer is sliding_attention or full_attention");
    d.global_layers.push_back(name == kinds[1]);
  }
  bool regular = true;
  for (std::int64_t i = 0; i < d.num_layers; ++i)
    regular &= d.looks_everywhere(i) == (i % d.global_every == 0);
  if (regular) d.global_layers.clear();
}

Rope rope_of(const ConfigReader& file, const char* kind, const char* old_key, double theta,
             std::int64_t max_positions) {
  const Rope rope =
      read_rope(file, kind, max_positions,
                {.theta = theta, .theta_key = old_key, .scaling_of_all_layers = true});
  if (rope.kind != Rope::Kind::plain || rope.rotated != 1)
    file.fail(
        "rope_parameters, or rope_scaling, is of another rope_type than default; trainx computes "
        "no other for a modernbert");
  return {.theta = rope.theta};
}

void ropes(ConfigKeys& keys, BertDims& d) {
  if (const ConfigReader* file = keys.file()) {
    d.local_rope = rope_of(*file, kinds[0], "local_rope_theta", 10000, d.max_positions);
    d.global_rope = rope_of(*file, kinds[1], "global_rope_theta", 160000, d.max_positions);
    return;
  }
  json both;
  for (const auto& [kind, rope] : {std::pair{kinds[0], &d.local_rope}, {kinds[1], &d.global_rope}})
    both[kind] = {{"rope_type", "default"}, {"rope_theta", rope->theta}};
  keys.write("rope_parameters", both);
}

}  // namespace

void layers_of_both_kinds(ConfigKeys& keys, BertDims& d) {
  layer_types(keys, d);
  ropes(keys, d);
}

}  // namespace trainx::architectures

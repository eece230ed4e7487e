// Rotary position embedding as config.json describes it, in both spellings: rope_parameters, and
// rope_theta beside rope_scaling.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::architectures {

class ConfigReader;

/// How the turning of pairs depends on positions (formulas: rope.cpp).
struct Rope {
  enum class Kind : std::uint8_t { plain, linear, dynamic, yarn, longrope, llama3, alpha };
  Kind kind = Kind::plain;
  double theta = 10000;
  double rotated = 1;  // part of a head that turns, from its first element on
  double factor = 1;   // by which the model was stretched
  double low_frequency = 1, high_frequency = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;          // yarn
  bool truncates = true;                         // yarn: its range is of whole dimensions
  double attention_factor = 0;                   // yarn, longrope; 0: by formula
  double mscale = 0, mscale_all = 0;             // yarn
  std::int64_t original_positions = 0, max_positions = 0;
  std::vector<double> short_factors, long_factors;  // longrope
  bool operator==(const Rope&) const = default;
};

struct RopeTable {
  std::vector<float> frequencies;
  double factor = 1;  // of cos and sin
};
/// Of rows of `length` tokens.
RopeTable rope_table(const Rope& rope, std::int64_t head_size, std::int64_t length);

/// By how much scores grow where a context was stretched by `factor` (yarn); 1: they do not.
double stretch_of_scores(double factor, double mscale);

/// What is not in the file.
struct RopeDefaults {
  double theta = 10000, rotated = 1;
  // Keys beside the settings; null: there is none.
  const char *theta_key = "rope_theta", *rotated_key = "partial_rotary_factor";
  bool turns_parts = false;  // else partial_rotary_factor means nothing to plain positions
  bool scaling_of_all_layers = false;  // else rope_scaling is of layers without a window
  std::int64_t head_size = 0;          // elements that turn; 0: of a head
  bool takes_alpha = false;            // dynamic with `alpha` stretches theta once
  bool whole_pairs = false;            // an odd number of elements cannot turn
  // Where the file's own original_max_position_embeddings is absent it has this value, whatever
  // the settings say; 0: the settings' counts.
  std::int64_t original_positions = 0;
};
/// Of `layer_type` where rope_parameters has one of each, "": of all layers. UserError 65 for a
/// kind or a value that trainx does not compute.
Rope read_rope(const ConfigReader& file, const std::string& layer_type, std::int64_t max_positions,
               const RopeDefaults& defaults);

}  // namespace trainx::architectures

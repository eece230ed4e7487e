#include "architectures/rope.hpp"
#include "architectures/config_reader.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainx::architectures {

using nlohmann::json;

double stretch_of_scores(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

namespace {

/// 1 / base^(2 i / dim) as fp32 has it. An odd part of a head is rounded up.
std::vector<float> plain_frequencies(double base, std::int64_t dim) {
  std::vector<float> f;
  for (std::int64_t i = 0; i < dim; i += 2)
    f.push_back(
        1.0f / std::pow(static_cast<float>(base), static_cast<float>(i) / static_cast<float>(dim)));
  return f;
}

/// YaRN (Peng et al. 2023, arXiv:2309.00071): slow pairs are stretched, fast ones stay.
RopeTable yarn(const Rope& r, std::int64_t dim) {
  const auto positions = static_cast<double>(r.original_positions);
  const auto dimension_of = [&](double rotations) {
    return static_cast<double>(dim) * std::log(positions / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(r.theta));
  };
  double low = dimension_of(r.beta_fast), high = dimension_of(r.beta_slow);
  if (r.truncates) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;
  RopeTable t{plain_frequencies(r.theta, dim)};
  for (std::size_t i = 0; i < t.frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0),
                 f = t.frequencies[i];
    t.frequencies[i] = static_cast<float>(f / r.factor * ramp + f * (1 - ramp));
  }
  t.factor = r.attention_factor > 0 ? r.attention_factor
             : r.mscale > 0 && r.mscale_all > 0
                 ? stretch_of_scores(r.factor, r.mscale) / stretch_of_scores(r.factor, r.mscale_all)
                 : stretch_of_scores(r.factor, 1);
  return t;
}

/// LongRoPE (Ding et al. 2024, arXiv:2402.13753): a factor of its own for each pair, by length.
RopeTable longrope(const Rope& r, std::int64_t dim, std::int64_t length) {
  RopeTable t{plain_frequencies(r.theta, dim)};
  const std::vector<double>& by = length > r.original_positions ? r.long_factors : r.short_factors;
  for (std::size_t i = 0; i < t.frequencies.size(); ++i)
    t.frequencies[i] = static_cast<float>(t.frequencies[i] / by.at(i));
  t.factor =
      r.attention_factor > 0 ? r.attention_factor
      : r.factor <= 1
          ? 1
          : std::sqrt(1 + std::log(r.factor) / std::log(static_cast<double>(r.original_positions)));
  return t;
}

/// Llama 3.1: wavelengths beyond the original context are stretched, short ones stay.
RopeTable llama3(const Rope& r, std::int64_t dim) {
  RopeTable t{plain_frequencies(r.theta, dim)};
  const auto context = static_cast<double>(r.original_positions);
  for (float& f : t.frequencies) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength < context / r.high_frequency) continue;
    if (wavelength > context / r.low_frequency) {
      f = static_cast<float>(f / r.factor);
      continue;
    }
    const double smooth = (context / wavelength - r.low_frequency) /
                          (r.high_frequency - r.low_frequency);
    f = static_cast<float>((1 - smooth) * f / r.factor + smooth * f);
  }
  return t;
}

/// The objects that have the settings, the one that counts first. As transformers takes them:
/// rope_scaling, the old spelling, replaces rope_parameters, or settings of one kind of layer.
class RopeReader {
 public:
  RopeReader(const ConfigReader& file, const std::string& layer_type, bool scales_all)
      : file_(file) {
    const json *scaling = object("rope_scaling"), *parameters = object("rope_parameters");
    reads_type_ = layer_type.empty() || parameters;
    const bool scales = scaling && !scaling->empty();
    if (scales && (layer_type.empty() || layer_type == "full_attention" || scales_all))
      places_.emplace_back(scaling, "rope_scaling");
    if (!parameters || (layer_type.empty() && scales)) return;
    if (layer_type.empty()) {
      places_.emplace_back(parameters, "rope_parameters");
    } else if (const auto own = parameters->find(layer_type); own != parameters->end()) {
      const std::string where = "rope_parameters." + layer_type;
      if (!own->is_null() && !own->is_object()) file.fail(where + " must be an object");
      if (own->is_object()) places_.emplace_back(&*own, where);
    }
  }

  const json* find(const std::string& key) const {
    for (const auto& [place, where] : places_)
      if (const auto at = place->find(key); at != place->end() && !at->is_null()) return &*at;
    return nullptr;
  }
  std::string named(const std::string& key) const {
    for (const auto& [place, where] : places_)
      if (place->contains(key)) return where + "." + key;
    return (places_.empty() ? "rope_parameters" : places_.front().second) + "." + key;
  }
  double number(const std::string& key, double otherwise) const {
    const json* j = find(key);
    if (!j) return otherwise;
    if (!j->is_number() || !(j->get<double>() > 0) || !std::isfinite(j->get<double>()))
      file_.fail(named(key) + " is " + shown(*j) + "; it must be a number above 0");
    return j->get<double>();
  }
  double required(const std::string& key) const {
    if (!find(key)) file_.fail(named(key) + " is missing");
    return number(key, 1);
  }
  std::int64_t whole(const std::string& key, std::int64_t otherwise) const {
    const json* j = find(key);
    if (!j) return otherwise;
    constexpr double most = std::int64_t{1} << 31;
    if (const double v = number(key, 1); v > most || v != std::floor(v))
      file_.fail(named(key) + " is " + shown(*j) + "; it must be a whole number of at least 1");
    return static_cast<std::int64_t>(number(key, 1));
  }
  double part(const std::string& key, double otherwise) const {
    const double v = number(key, otherwise);
    if (v > 1)
      file_.fail(named(key) + " is " + shown(*find(key)) +
                 "; it must be a number above 0 and at most 1");
    return v;
  }
  bool flag(const std::string& key, bool otherwise) const {
    const json* j = find(key);
    if (j && !j->is_boolean())
      file_.fail(named(key) + " is " + shown(*j) + "; it must be true or false");
    return j ? j->get<bool>() : otherwise;
  }
  std::vector<double> numbers(const std::string& key, std::size_t count) const {
    const json* j = find(key);
    std::vector<double> out;
    if (j && j->is_array())
      for (const json& v : *j)
        if (v.is_number() && v.get<double>() > 0) out.push_back(v.get<double>());
    if (out.size() != count)
      file_.fail(named(key) + " must be a list of " + std::to_string(count) + " numbers");
    return out;
  }
  Rope::Kind kind() const {
    const json* j = find("rope_type");
    if (!j && reads_type_) j = find("type");
    if (!j) return Rope::Kind::plain;
    using enum Rope::Kind;
    const std::pair<const char*, Rope::Kind> known[] = {
        {"default", plain},     {"linear", linear}, {"dynamic", dynamic}, {"yarn", yarn},
        {"longrope", longrope}, {"su", longrope},   {"llama3", llama3}};
    for (const auto& [name, kind] : known)
      if (*j == name) return kind;
    file_.fail(named("rope_type") + " is " + shown(*j) +
               ", which trainx does not compute; only default, linear, dynamic, yarn, longrope or "
               "llama3");
  }
  /// Settings of rotations that trainx does not compute. transformers reads no others besides those
  /// that read_rope asks for.
  void refuse_switches() const {
    for (const char* key : {"mrope_section", "mrope_interleaved", "llama_4_scaling_beta"})
      if (const json* value = find(key); value && !is_off(*value))
        file_.fail(named(key) + " is " + shown(*value) + ", which trainx does not compute");
  }

 private:
  const json* object(const char* key) const {
    const json* found = file_.find(key);
    if (found && !found->is_object())
      file_.fail(key + (" is " + shown(*found)) + "; it must be an object");
    return found;
  }

  const ConfigReader& file_;
  std::vector<std::pair<const json*, std::string>> places_;
  bool reads_type_ = true;  // the oldest spelling of rope_type
};

}  // namespace

RopeTable rope_table(const Rope& r, std::int64_t head_size, std::int64_t length) {
  const auto dim = static_cast<std::int64_t>(static_cast<double>(head_size) * r.rotated);
  switch (r.kind) {
    case Rope::Kind::plain: return {plain_frequencies(r.theta, dim)};
    case Rope::Kind::linear: {
      RopeTable t{plain_frequencies(r.theta, dim)};
      for (float& f : t.frequencies) f = static_cast<float>(f / r.factor);
      return t;
    }
    case Rope::Kind::dynamic: {
      const auto most = static_cast<double>(r.max_positions),
                 long_by = std::max(static_cast<double>(length), most) / most,
                 d = static_cast<double>(dim);
      const double base = r.theta * std::pow(r.factor * long_by - (r.factor - 1), d / (d - 2));
      return {plain_frequencies(base, dim)};
    }
    case Rope::Kind::yarn: return yarn(r, dim);
    case Rope::Kind::longrope: return longrope(r, dim, length);
    case Rope::Kind::llama3: return llama3(r, dim);
    case Rope::Kind::alpha: {
      const auto d = static_cast<double>(dim);
      return {plain_frequencies(r.theta * std::pow(r.factor, d / (d - 2)), dim)};
    }
  }
  return {};
}

Rope read_rope(const ConfigReader& file, const std::string& layer_type, std::int64_t max_positions,
               const RopeDefaults& defaults) {
  const RopeReader in(file, layer_type, defaults.scaling_of_all_layers);
  in.refuse_switches();
  for (const char* usual : {"rope_theta", "partial_rotary_factor"}) file.find(usual);
  Rope r{.kind = in.kind(), .max_positions = max_positions};
  const double theta = defaults.theta_key
                           ? file.number(defaults.theta_key, defaults.theta, positive())
                           : defaults.theta;
  r.theta = in.number("rope_theta", theta);
  if (defaults.turns_parts)
    r.rotated = in.part("partial_rotary_factor",
                        file.number(defaults.rotated_key, defaults.rotated, unit_interval()));
  else if (r.kind != Rope::Kind::plain)  // whose frequencies would be of a part, and not the heads
    for (const json* part : {in.find("partial_rotary_factor"), file.find("partial_rotary_factor")})
      if (part && *part != 1)
        file.fail("partial_rotary_factor is " + shown(*part) +
                  ", which this model_type knows for rope_type default alone; remove it");
  // beside the settings it counts before one of them
  const char* const original = "original_max_position_embeddings";
  r.original_positions = file.find(original)               ? file.dimension(original)
                         : defaults.original_positions > 0 ? defaults.original_positions
                                                           : in.whole(original, max_positions);
  const bool by_lengths = r.kind == Rope::Kind::yarn || r.kind == Rope::Kind::longrope;
  if (by_lengths)
    r.factor = in.number(
        "factor", static_cast<double>(max_positions) / static_cast<double>(r.original_positions));
  else if (const json* alpha = in.find("alpha");
           defaults.takes_alpha && r.kind == Rope::Kind::dynamic && alpha && *alpha != 0)
    r.kind = Rope::Kind::alpha, r.factor = in.number("alpha", 1);
  else if (r.kind != Rope::Kind::plain)
    r.factor = in.required("factor");
  if (r.kind == Rope::Kind::llama3) {
    r.low_frequency = in.required("low_freq_factor");
    r.high_frequency = in.required("high_freq_factor");
  }
  r.beta_fast = in.number("beta_fast", 32);
  r.beta_slow = in.number("beta_slow", 1);
  r.attention_factor = in.number("attention_factor", 0);
  r.mscale = in.number("mscale", 0);
  r.mscale_all = in.number("mscale_all_dim", 0);
  r.truncates = in.flag("truncate", true);
  if (r.kind == Rope::Kind::longrope) {
    const auto head = static_cast<double>(
        defaults.head_size > 0
            ? defaults.head_size
            : file.dimension("head_dim", file.dimension("hidden_size") /
                                             file.dimension("num_attention_heads")));
    const auto pairs = (static_cast<std::size_t>(head * r.rotated) + 1) / 2;
    r.short_factors = in.numbers("short_factor", pairs);
    r.long_factors = in.numbers("long_factor", pairs);
  }
  return r;
}

}  // namespace trainx::architectures

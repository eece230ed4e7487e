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

/// The object that has the settings, and the old spelling beside it.
class RopeReader {
 public:
  RopeReader(const ConfigReader& file, const std::string& layer_type) : file_(file) {
    const json* parameters = file.find("rope_parameters");
    const json* scaling = file.find("rope_scaling");
    found_ = parameters ? parameters : scaling;
    where_ = parameters ? "rope_parameters" : "rope_scaling";
    if (found_ && !found_->is_object())
      file.fail(where_ + " is " + shown(*found_) + "; it must be an object");
    if (found_ && !layer_type.empty() && found_->contains(layer_type)) {
      found_ = &found_->at(layer_type);
      where_ += "." + layer_type;
      if (!found_->is_object()) file.fail(where_ + " must be an object");
    }
  }

  const json* find(const std::string& key) const {
    if (!found_) return nullptr;
    const auto at = found_->find(key);
    return at == found_->end() || at->is_null() ? nullptr : &*at;
  }
  double number(const std::string& key, double otherwise) const {
    const json* j = find(key);
    if (!j) return otherwise;
    if (!j->is_number() || !(j->get<double>() > 0) || !std::isfinite(j->get<double>()))
      file_.fail(where_ + "." + key + " is " + shown(*j) + "; it must be a number above 0");
    return j->get<double>();
  }
  double required(const std::string& key) const {
    if (!find(key)) file_.fail(where_ + "." + key + " is missing");
    return number(key, 1);
  }
  std::int64_t whole(const std::string& key, std::int64_t otherwise) const {
    const json* j = find(key);
    if (!j) return otherwise;
    constexpr double most = std::int64_t{1} << 31;
    if (const double v = number(key, 1); v > most || v != std::floor(v))
      file_.fail(where_ + "." + key + " is " + shown(*j) +
                 "; it must be a whole number of at least 1");
    return static_cast<std::int64_t>(number(key, 1));
  }
  double part(const std::string& key, double otherwise) const {
    const double v = number(key, otherwise);
    if (v > 1)
      file_.fail(where_ + "." + key + " is " + shown(*find(key)) +
                 "; it must be a number above 0 and at most 1");
    return v;
  }
  bool flag(const std::string& key, bool otherwise) const {
    const json* j = find(key);
    if (j && !j->is_boolean())
      file_.fail(where_ + "." + key + " is " + shown(*j) + "; it must be true or false");
    return j ? j->get<bool>() : otherwise;
  }
  std::vector<double> numbers(const std::string& key, std::size_t count) const {
    const json* j = find(key);
    std::vector<double> out;
    if (j && j->is_array())
      for (const json& v : *j)
        if (v.is_number() && v.get<double>() > 0) out.push_back(v.get<double>());
    if (out.size() != count)
      file_.fail(where_ + "." + key + " must be a list of " + std::to_string(count) + " numbers");
    return out;
  }
  Rope::Kind kind() const {
    const json* j = find("rope_type");
    if (!j) j = find("type");
    if (!j) return Rope::Kind::plain;
    using enum Rope::Kind;
    const std::pair<const char*, Rope::Kind> known[] = {
        {"default", plain},     {"linear", linear}, {"dynamic", dynamic}, {"yarn", yarn},
        {"longrope", longrope}, {"su", longrope},   {"llama3", llama3}};
    for (const auto& [name, kind] : known)
      if (*j == name) return kind;
    file_.fail(where_ + ".rope_type is " + shown(*j) +
               ", which trainx does not compute; only default, linear, dynamic, yarn, longrope or "
               "llama3");
  }
  /// Settings of rotations that trainx does not compute. transformers reads no others besides those
  /// that read_rope asks for.
  void refuse_switches() const {
    for (const char* key : {"mrope_section", "mrope_interleaved", "llama_4_scaling_beta"})
      if (const json* value = find(key); value && !is_off(*value))
        file_.fail(where_ + "." + key + " is " + shown(*value) + ", which trainx does not compute");
  }

 private:
  const ConfigReader& file_;
  const json* found_ = nullptr;
  std::string where_;
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
  const RopeReader in(file, layer_type);
  in.refuse_switches();
  Rope r{.kind = in.kind(), .max_positions = max_positions};
  r.theta = in.number("rope_theta", file.number("rope_theta", defaults.theta, positive()));
  r.rotated = in.part("partial_rotary_factor",
                      file.number(defaults.rotated_key, defaults.rotated, unit_interval()));
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

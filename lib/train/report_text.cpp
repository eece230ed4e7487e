#include "train/report_text.hpp"
#include <nlohmann/json.hpp>
#include <bit>
#include <cstdint>

namespace trainx::train {
namespace {

using nlohmann::json;

// As bits: JSON has no NaN.
std::int64_t bits(double x) { return std::bit_cast<std::int64_t>(x); }
double number(const json& j) { return std::bit_cast<double>(j.get<std::int64_t>()); }

json bits(const std::map<std::string, double>& metrics) {
  json j = json::object();
  for (const auto& [name, value] : metrics) j[name] = bits(value);
  return j;
}

std::map<std::string, double> metrics_from(const json& j) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : j.items()) out[name] = number(value);
  return out;
}

}  // namespace

std::string to_text(const StepReport& r) {
  return json{{"step", r.step},
              {"loss", bits(r.loss)},
              {"grad_norm", bits(r.grad_norm)},
              {"lr", bits(r.lr)},
              {"loss_scale", bits(r.loss_scale)},
              {"tokens", r.tokens},
              {"seconds", bits(r.seconds)},
              {"metrics", bits(r.metrics)}}
      .dump();
}

StepReport step_report_from(const std::string& text) {
  const json j = json::parse(text);
  return {j.at("step"),
          number(j.at("loss")),
          number(j.at("grad_norm")),
          number(j.at("lr")),
          number(j.at("loss_scale")),
          j.at("tokens"),
          number(j.at("seconds")),
          metrics_from(j.at("metrics"))};
}

std::string to_text(const EvaluationReport& r) {
  return json{{"step", r.step},
              {"loss", bits(r.loss)},
              {"targets", r.targets},
              {"metrics", bits(r.metrics)}}
      .dump();
}

EvaluationReport evaluation_report_from(const std::string& text) {
  const json j = json::parse(text);
  return {j.at("step"), number(j.at("loss")), j.at("targets"), metrics_from(j.at("metrics"))};
}

}  // namespace trainx::train

#include "options/own_json.hpp"
#include "options/field_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::options {

using nlohmann::json;

namespace {

template <class Own>
json head_of(const Own& o) {
  return {{"name", o.name}, {"summary", o.summary}, {"fields", fields_to_json(o.fields)}};
}
template <class Own>
Own own_from_json(const json& j) {
  Own o;
  j.at("name").get_to(o.name);
  j.at("summary").get_to(o.summary);
  o.fields = fields_from_json(j.at("fields"));
  return o;
}

}  // namespace

json to_json(const OwnOptimizerOptions& o) {
  json described = head_of(o);
  json& states = described["states"] = json::array();
  for (const program::StateSpec& s : o.kept)
    states.push_back({{"name", s.name}, {"initial", s.initial}});
  described["on_tensors"] = o.on_tensors;
  return described;
}
json to_json(const OwnSchedule& o) { return head_of(o); }
json to_json(const OwnDataOptions& o) { return head_of(o); }

OwnOptimizerOptions own_optimizer_from_json(const json& j) {
  auto o = own_from_json<OwnOptimizerOptions>(j);
  for (const json& s : j.at("states"))
    o.kept.push_back({s.at("name").get<std::string>(), DType::f32, s.at("initial").get<double>()});
  j.at("on_tensors").get_to(o.on_tensors);
  return o;
}
OwnSchedule own_schedule_from_json(const json& j) { return own_from_json<OwnSchedule>(j); }
OwnDataOptions own_data_from_json(const json& j) { return own_from_json<OwnDataOptions>(j); }

}  // namespace trainx::options

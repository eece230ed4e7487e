#include "corpus/chat/learned_message.hpp"
#include "core/error.hpp"
#include "yaml/problems.hpp"

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse_message(const std::string& what) {
  throw UserError(ExitCode::bad_data, what);
}

std::optional<bool> flag_of(const ordered_json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (number == 0) return false;
  if (number == 1) return true;
  return std::nullopt;
}

}  // namespace

std::optional<bool> says_learned(const ordered_json& message, const std::string& place) {
  constexpr const char* says[] = {"weight", "loss",     "loss_mask", "loss_scale",
                                  "train",  "training", "trainable", "masked"};
  constexpr const char* parts[] = {"train_detail", "training_detail", "mask", "loss_weight"};
  for (const char* name : parts)
    if (message.contains(name) && !message[name].is_null())
      refuse_message(
          place + " has " + name +
          ", which trainx does not read: say with \"weight\": 0 that a turn of the assistant is "
          "not learned");
  std::optional<bool> learned;
  const char* first = "";
  for (const char* name : says) {
    const auto found = message.find(name);
    if (found == message.end() || found->is_null()) continue;
    std::optional<bool> flag = flag_of(*found);
    if (!flag)
      refuse_message(place + "." + name + " is " + yaml::excerpt(found->dump()) +
                     ": a turn is learned or not, give 1 or 0");
    if (std::string_view(name) == "masked") flag = !*flag;
    if (learned && *learned != *flag)
      refuse_message(
          place + " has " + first + " and " + name +
          ", of which one says that it is learned and the other that it is not: leave one out");
    if (!learned) first = name;
    learned = flag;
  }
  return learned;
}

}  // namespace trainx::corpus

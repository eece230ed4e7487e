#include "options/model/custom.hpp"
#include "options/described.hpp"
#include "options/model/exported.hpp"
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace trainx::options {

const OptionField* CustomOptions::find(std::string_view key) const {
  const auto found = std::ranges::find(fields, key, &OptionField::key);
  return found == fields.end() ? nullptr : &*found;
}
OptionField* CustomOptions::find(std::string_view key) {
  return const_cast<OptionField*>(std::as_const(*this).find(key));
}

namespace {

std::vector<CustomOptions>& models() {
  static std::vector<CustomOptions> all{exported_options()};
  return all;
}

std::string check_field(const OptionField& f) {
  if (f.key == "vocab_size" || f.key == "max_positions" || f.key == "num_labels")
    if (!std::holds_alternative<std::int64_t>(f.value))
      return "has an option '" + f.key + "' that is no std::int64_t";
  if (f.key != "task") return {};
  const auto known = [](const std::string& word) {
    return std::ranges::any_of(
        std::initializer_list<Task>{Task::causal_lm, Task::masked_lm, Task::classification},
        [&](Task task) { return name_of(task) == word; });
  };
  const auto* choice = std::get_if<Choice>(&f.value);
  const auto* word = std::get_if<std::string>(&f.value);
  if (choice ? !std::ranges::all_of(choice->words, known) : !word || !known(*word))
    return "has an option 'task' of other values than causal_lm, masked_lm and classification";
  return {};
}

}  // namespace

const std::vector<CustomOptions>& described_models() { return models(); }
void set_described_models(std::vector<CustomOptions> described) {
  models() = {exported_options()};
  std::ranges::move(described, std::back_inserter(models()));
}

std::string check_description(const std::vector<CustomOptions>& described,
                              const std::vector<std::string>& taken) {
  return check_all_described("model", described, taken, {}, [](const CustomOptions& m) {
    std::string problem;
    for (const OptionField& f : m.fields)
      if (problem.empty()) problem = check_field(f);
    return problem;
  });
}

Task task(const CustomOptions& o) {
  const OptionField* f = o.find("task");
  if (!f) return Task::causal_lm;
  const auto* choice = std::get_if<Choice>(&f->value);
  const std::string& word = choice ? choice->word : std::get<std::string>(f->value);
  for (const auto& [value, name] : enum_names(Task{}))
    if (name == word) return value;
  return Task::causal_lm;
}

}  // namespace trainx::options

#include "facts/cache.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainx::facts {

using nlohmann::json;

std::string cache_folder() {
  if (const std::string folder = environment_variable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/trainx";
  const std::string home = environment_variable("HOME");
  return home.empty() ? std::string() : home + "/.cache/trainx";
}

std::string remembered_answer(const std::string& name, const std::string& state,
                              const std::string& question,
                              const std::function<std::string()>& find) {
  constexpr std::size_t most_answers = 64;
  const std::string folder = cache_folder();
  if (folder.empty()) return find();
  const std::string path = folder + "/" + name;
  std::ifstream in(path, std::ios::binary);
  json kept = json::parse(std::string{std::istreambuf_iterator<char>(in), {}}, nullptr, false);
  if (!kept.is_object() || kept.value("state", json()) != state || !kept["answers"].is_object())
    kept = {{"state", state}, {"answers", json::object()}};
  json& answers = kept["answers"];
  if (const auto found = answers.find(question); found != answers.end() && found->is_string())
    return found->get<std::string>();
  const std::string answer = find();
  if (answers.size() >= most_answers) answers.clear();
  answers[question] = answer;
  try {
    make_folders(folder);
    write_file_atomic(path, kept.dump(-1, ' ', false, json::error_handler_t::replace));
  } catch (const UserError&) {
    return answer;  // nowhere to keep it: asked again next time
  }
  return answer;
}

}  // namespace trainx::facts

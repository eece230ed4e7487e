#include "train/run_folder.hpp"
#include "core/error.hpp"
#include "core/partial_name.hpp"
#include "recipe/resolved.hpp"
#include <algorithm>
#include <filesystem>
#include <variant>

namespace trainx::train {
namespace {

namespace fs = std::filesystem;

bool holds_lock_alone(const std::string& folder) {
  std::error_code unreadable;
  return std::ranges::all_of(
      fs::directory_iterator(folder, unreadable),
      [](const fs::directory_entry& entry) { return entry.path().filename() == ".lock"; });
}

struct Difference {
  std::string key, text;
};

/// What the run was begun with. Older versions wrote no dropout of attention, and had none.
recipe::Recipe begun_with(const std::string& resolved_path) {
  recipe::Recipe begun = recipe::read_resolved(resolved_path).recipe;
  std::visit(
      [](auto& o) {
        if constexpr (requires { o.attention_dropout.is_auto(); })
          if (o.attention_dropout.is_auto()) o.attention_dropout.value = 0;
      },
      begun.model.options);
  return begun;
}

std::vector<Difference> compare(const std::string& resolved_path, const recipe::Recipe& recipe) {
  std::vector<Difference> out;
  if (!std::filesystem::exists(resolved_path)) return out;
  const auto before = recipe::flatten(begun_with(resolved_path));
  std::map<std::string, std::string> old(before.begin(), before.end());
  for (const auto& [key, value] : recipe::flatten(recipe)) {
    const auto found = old.find(key);
    if (found == old.end())
      out.push_back({key, key + ": (not there) -> " + value});
    else if (found->second != value)
      out.push_back({key, key + ": " + found->second + " -> " + value});
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [key, value] : old) out.push_back({key, key + ": " + value + " -> (not there)"});
  return out;
}

// What a run's numbers follow from. Its length, its schedule, how the global batch is cut, where it
// saves and what it logs may change.
bool makes_another_run(const std::string& key) {
  if (key == "run.seed") return true;
  if (key == "batch.micro_batch_size" || key == "batch.grad_accum_steps" ||
      key == "precision.reduce")
    return false;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"model.", "data.", "batch.", "precision.", "optimizer."},
      [&](const char* section) { return key.starts_with(section); });
}

}  // namespace

RunFolder::RunFolder(std::string path)
    : path_(std::move(path)), made_here_(!fs::exists(path_)), lock_(path_) {
  remove_partial_files(path_);
}

RunFolder::~RunFolder() {
  std::error_code ignored;  // e.g. a file that came meanwhile: then the folder stays
  if (!made_here_ || !holds_lock_alone(path_)) return;
  fs::remove(path_ + "/.lock", ignored);
  fs::remove(path_, ignored);
}

void RunFolder::write(const std::string& name, std::string text) {
  write_file_atomic(file(name), text);
  written_[name] = std::move(text);
}

void RunFolder::make_again() {
  lock_.emplace(path_);
  for (const auto& [name, text] : written_) write_file_atomic(file(name), text);
}

void RunFolder::clear() {
  if (holds_lock_alone(path_)) return;
  if (!fs::exists(file("resolved.yaml")) && !fs::exists(file("run.json")))
    throw UserError(ExitCode::cannot_create,
                    "--overwrite: " + path_ +
                        " is not a run's folder (it has neither run.json nor resolved.yaml); "
                        "remove it yourself, or give run.name another value");
  std::error_code error;
  // What makes it a run's folder goes last, so that a second try may go on with what a first one
  // left.
  for (const bool last : {false, true})
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name == ".lock" || (name == "run.json" || name == "resolved.yaml") != last) continue;
      if (fs::remove_all(entry.path(), error); error)
        throw UserError(ExitCode::cannot_create, "--overwrite: " + entry.path().string() +
                                                     " cannot be removed: " + error.message());
    }
}

std::vector<std::string> RunFolder::differences(const recipe::Recipe& recipe) const {
  std::vector<std::string> out;
  for (auto& d : compare(file("resolved.yaml"), recipe)) out.push_back(std::move(d.text));
  return out;
}

void RunFolder::require_same_run(const recipe::Recipe& recipe) const {
  std::string list;
  for (const auto& d : compare(file("resolved.yaml"), recipe))
    if (makes_another_run(d.key)) list += "\n  " + d.text;
  if (!list.empty())
    throw UserError(ExitCode::invalid_recipe,
                    path_ +
                        ": the recipe differs from the run's; train it with `--fork NAME` to begin "
                        "a new run from its last checkpoint, or give run.name another value:" +
                        list);
}

}  // namespace trainx::train

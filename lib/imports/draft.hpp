// What is known of a recipe while other tools' files are read: values with where they come from,
// and what could not be mapped.
#pragma once
#include "yaml/node.hpp"
#include <cstdint>
#include <map>
#include <optional>

namespace trainx::imports {

/// Said: in a file. Assumed: what the tool does where its file is silent, or says what it would do
/// anyway; anything said holds against it.
enum class Weight : std::uint8_t { assumed, said };

struct Value {
  std::string text;      // as YAML
  yaml::Location where;  // of the other tool's key; line 0 where there is none
  std::string origin;    // its name there, or why
  Weight weight = Weight::said;
};

/// A setting that became nothing in the recipe.
struct Leftover {
  yaml::Location where;
  std::string key, value, why;
  bool differs = false;  // training without it is another training
};
std::string to_string(const Leftover& leftover);  // file:line:col: key: value: why

class Draft {
 public:
  /// `key`: a dotted key of recipes, or one of batch's parts (rank_batch, accumulation,
  /// global_batch, world). Throws UserError 65 where two files say different things.
  void set(const std::string& key, Value value);
  const Value* find(const std::string& key) const;
  void remove(const std::string& key) { values_.erase(key); }
  void leave(Leftover leftover);
  /// The recipe needs a value that only its reader knows: `what` says which.
  void ask(const std::string& key, const std::string& what) { asked_.emplace(key, what); }
  /// A comment behind a key's line.
  void remark(const std::string& key, const std::string& text) { remarks_[key] = text; }

  const std::map<std::string, Value>& values() const { return values_; }
  const std::map<std::string, std::string>& asked() const { return asked_; }
  const std::map<std::string, std::string>& remarks() const { return remarks_; }
  /// Those that make training differ come first; then by place.
  std::vector<Leftover> leftovers() const;
  bool has_training_arguments = false;  // one of the files: it fills in what is auto in DeepSpeed's

 private:
  std::map<std::string, Value> values_;
  std::map<std::string, std::string> asked_, remarks_;
  std::vector<Leftover> leftovers_;
};

}  // namespace trainx::imports

#include "recipe/interpolate.hpp"
#include "recipe/overrides.hpp"
#include "recipe/reader.hpp"
#include "recipe/recipe.hpp"
#include "recipe/rules.hpp"
#include "recipe/schema.hpp"
#include "recipe/short_forms.hpp"
#include "recipe/text_file.hpp"
#include "yaml/read.hpp"
#include <cstdlib>
#include <filesystem>

namespace trainx::recipe {
namespace {

namespace fs = std::filesystem;
using yaml::Node;

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

class Loader {
 public:
  Loader(std::string name, const LoadOptions& options) : name_(std::move(name)), options_(options) {
    sources_.environment = options.environment;
    if (!sources_.environment) {
      sources_.environment = [](const std::string& variable) {
        const char* value = std::getenv(variable.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
      };
    }
    sources_.recipe_dir = [this](const yaml::Location& where) {
      return folder_of(where.line == 0 ? name_ : where.file);
    };
    sources_.keys = [] {
      std::vector<std::string> keys;
      for (const FieldHelp& field : schema_keys()) keys.push_back(field.key);
      keys.push_back("recipe_dir");
      return keys;
    };
  }

  LoadedRecipe load(const std::string& text) {
    Node root = read_file(text, name_, {identity(name_)});
    for (const auto& [settings, source] :
         {std::pair{split_settings(options_.environment_set), "TRAINX_SET"},
          std::pair{options_.overrides, "command line"}}) {
      Node over = read_settings(settings, source, problems_);
      if (const yaml::Entry* extends = over.find("extends"))
        problems_.add(extends->where, "extends", "is read from recipes only");
      std::erase_if(over.entries, [](const yaml::Entry& entry) { return entry.key == "extends"; });
      if (root.is_map()) merge(root, over);
    }
    const auto defaults = has_interpolation(root) ? defaults_of(root)
                                                  : std::map<std::string, std::string>();
    sources_.default_text = [&](const std::string& key) -> std::optional<std::string> {
      const auto found = defaults.find(key);
      return found == defaults.end() || found->second == "null"
                 ? std::nullopt
                 : std::optional<std::string>(found->second);
    };
    interpolate(root, sources_, problems_);
    name_model_type(root);

    LoadedRecipe loaded;
    loaded.source = text;
    loaded.recipe.run.name = default_name();
    Reading reading;
    if (root.kind != Node::Kind::broken)
      read_recipe(root, complete_, loaded.recipe, reading, problems_);
    if (complete_ && root.is_map()) check_rules(loaded.recipe, reading, options_.trains, problems_);
    if (!problems_.empty()) throw RecipeError(problems_.listed());
    loaded.origins = std::move(reading.origins);
    return loaded;
  }

 private:
  /// Which file a path is, whatever it is called: for circles.
  static std::string identity(const std::string& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return error ? path : canonical.string();
  }

  void name_model_type(Node& root) const {
    yaml::Entry* model = root.is_map() ? root.find("model") : nullptr;
    if (!options_.model_type || !model || !model->value.is_map() || model->value.find("type"))
      return;
    const yaml::Entry* from = model->value.find("init_from");
    if (!from || !from->value.is_scalar()) return;
    if (const auto named = options_.model_type(from->value.text)) {
      yaml::Entry type{.key = "type", .where = {named->source, 0, 0}, .value = {}};
      type.value.kind = Node::Kind::scalar;
      type.value.where = type.where;
      type.value.text = named->type;
      model->value.entries.push_back(std::move(type));
    }
  }

  std::string default_name() const {
    const fs::path file = fs::path(name_).filename();
    return file.extension() == ".yaml" || file.extension() == ".yml" ? file.stem().string()
                                                                     : file.string();
  }

  /// The tree of one file on top of what it extends. `chain`: the files that led here.
  Node read_file(const std::string& text, const std::string& path,
                 const std::vector<std::string>& chain) {
    yaml::Document document = yaml::read_document(text, path, problems_);
    complete_ = complete_ && document.complete;
    Node& root = document.root;
    if (root.kind == Node::Kind::broken) return std::move(root);
    if (!root.is_map()) {
      if (document.complete) report_no_map(root);
      root.kind = Node::Kind::broken;
      return std::move(root);
    }
    expand_short_forms(root);
    Node merged;
    merged.kind = Node::Kind::map;
    merged.where = root.where;
    if (const yaml::Entry* extends = root.find("extends")) {
      for (const Node& base : bases(*extends)) {
        Node tree = read_base(base, path, chain);
        if (tree.is_map()) merge(merged, tree);
      }
    }
    merge(merged, root);
    merged.where = root.where;
    std::erase_if(merged.entries, [](const yaml::Entry& entry) { return entry.key == "extends"; });
    return merged;
  }

  void report_no_map(const Node& root) {
    const std::size_t colon = root.text.find(':');
    if (root.kind == Node::Kind::null) {
      problems_.add({root.where.file, 1, 1}, "",
                    "is empty: a recipe is a map of sections such as 'model:', 'data:', 'batch:' "
                    "(list starter recipes: trainx init --list)");
    } else if (root.is_scalar() && colon != std::string::npos) {
      problems_.add(root.where, "",
                    "must be a map of sections, not a value: a blank belongs after ':'");
    } else {
      problems_.add(root.where, "",
                    "must be a map of sections such as 'model:' and 'data:', not " +
                        std::string(kind_name(root)));
    }
  }

  std::vector<Node> bases(const yaml::Entry& extends) {
    std::vector<std::string> paths;
    const ValueProblem problem = read_value(extends.value, paths, {});
    if (!problem) return extends.value.items;
    problems_.add(extends.value.where, "extends", *problem);
    return {};
  }

  Node read_base(const Node& base, const std::string& from, std::vector<std::string> chain) {
    constexpr std::size_t most_files = 64;
    // What cannot be read might have had what is missing: nothing is then called missing.
    const auto unreadable = [&](const std::string& sentence) {
      if (!sentence.empty()) problems_.add(base.where, "extends", sentence);
      complete_ = false;
      Node none;
      none.kind = Node::Kind::broken;
      return none;
    };
    const auto name = interpolate_text(base.text, base.where, "extends", sources_, problems_);
    if (!name) return unreadable("");
    const fs::path joined_path =
        fs::path(*name).is_absolute() ? fs::path(*name) : fs::path(from).parent_path() / *name;
    const std::string path = joined_path.lexically_normal().string();
    const std::string id = identity(path);
    if (std::find(chain.begin(), chain.end(), id) != chain.end())
      return unreadable(path + " leads back to itself: a recipe cannot extend what extends it");
    if (++files_ > most_files)
      return unreadable(files_ == most_files + 1
                            ? "reaches more than " + std::to_string(most_files) + " files"
                            : "");
    std::string problem;
    const auto text = read_text_file(path, problem);
    if (!text) return unreadable(path + " " + problem);
    chain.push_back(id);
    return read_file(*text, path, chain);
  }

  /// The values of keys that the recipe does not give, for ${a.b}: those of the types that it
  /// chooses.
  std::map<std::string, std::string> defaults_of(const Node& root) const {
    Recipe recipe;
    recipe.run.name = default_name();
    Reading reading;
    yaml::Problems ignored;  // they are found again, and reported, after interpolation
    if (root.is_map()) read_recipe(root, false, recipe, reading, ignored);
    std::map<std::string, std::string> values;
    for (auto& [key, value] : flatten(recipe))
      if (!value.empty()) values.emplace(key, value);
    return values;
  }

  std::string name_;
  const LoadOptions& options_;
  InterpolationSources sources_;
  yaml::Problems problems_;
  bool complete_ = true;
  std::size_t files_ = 0;
};

std::string joined_lines(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(problem.text());
  return joined(lines, "\n");
}

}  // namespace

RecipeError::RecipeError(std::vector<Problem> problems)
    : UserError(ExitCode::invalid_recipe, joined_lines(problems)), problems_(std::move(problems)) {}

LoadedRecipe parse_recipe(const std::string& text, const std::string& name,
                          const LoadOptions& options) {
  return Loader(name, options).load(text);
}

LoadedRecipe load_recipe(const std::string& path, const LoadOptions& options) {
  std::string problem;
  const auto text = read_text_file(path, problem);
  if (!text) throw UserError(ExitCode::input_missing, "the recipe " + path + " " + problem);
  return parse_recipe(*text, path, options);
}

}  // namespace trainx::recipe

#include "recipe/interpolate.hpp"
#include "core/suggest.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

using yaml::Node;
// bytes of one value, of all together
constexpr std::size_t longest_text = 64 << 10, longest_sum = 1 << 20;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view s) {
  return !s.empty() && (s[0] < '0' || s[0] > '9') && std::all_of(s.begin(), s.end(), is_word);
}

bool is_dotted_key(std::string_view s) {
  return !s.empty() &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

class Interpolator {
 public:
  Interpolator(Node* root, const InterpolationSources& sources, yaml::Problems& problems)
      : root_(root), sources_(sources), problems_(problems) {}

  void visit(Node& node, const std::string& path) {
    if (node.is_scalar()) resolve(node, path);
    for (std::size_t i = 0; i < node.items.size(); ++i)
      visit(node.items[i], path + "[" + std::to_string(i) + "]");
    for (yaml::Entry& entry : node.entries)
      if (!entry.key.starts_with("x-"))
        visit(entry.value, path.empty() ? entry.key : path + "." + entry.key);
  }

  /// `text` with everything replaced; nothing after a report.
  std::optional<std::string> expand(const std::string& text, const yaml::Location& where,
                                    const std::string& path) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      if (text.compare(i, 3, "$${") == 0) {
        out += "${";
        i += 3;
      } else if (text.compare(i, 2, "${") != 0) {
        out += text[i++];
      } else {
        const std::size_t end = text.find('}', i);
        const std::string inside = text.substr(i + 2, end == std::string::npos ? end : end - i - 2);
        if (end == std::string::npos)
          return fail(where, path,
                      "'${' is not closed with '}' (in '[...]' and '{...}' a value with '${' needs "
                      "quotes)");
        if (inside.find("${") != std::string::npos)
          return fail(where, path,
                      "'${' inside '${...}' is not read: name the inner value under an x- key");
        const auto value = lookup(inside, where, path);
        if (!value) return std::nullopt;
        out += *value;
        i = end + 1;
      }
      if (out.size() > longest_text)
        return fail(where, path, "grows beyond 64 KiB by its interpolations");
    }
    return out;
  }

 private:
  std::nullopt_t fail(const yaml::Location& where, const std::string& path,
                      const std::string& sentence) {
    problems_.add(where, path, sentence);
    return std::nullopt;
  }

  void resolve(Node& node, const std::string& path) {
    if (node.interpolated || node.text.find("${") == std::string::npos) return;
    if (std::find(open_.begin(), open_.end(), &node) != open_.end()) return;  // reported by lookup
    open_.push_back(&node);
    std::optional<std::string> text;
    if (sum_ > longest_sum)
      fail(node.where, path, "comes after interpolations that grow beyond 1 MiB together");
    else
      text = expand(node.text, node.where, path);
    open_.pop_back();
    if (!text) {
      node.kind = Node::Kind::broken;
      return;
    }
    sum_ += text->size();
    node.interpolated = true;
    node.text = *text;
  }

  std::optional<std::string> lookup(const std::string& name, const yaml::Location& where,
                                    const std::string& path) {
    if (name == "recipe_dir") return sources_.recipe_dir(where);
    if (name.starts_with("env:")) return environment(name, where, path);
    if (!root_ || !is_dotted_key(name)) {
      return fail(where, path,
                  "${" + name + "} is no interpolation" +
                      (root_ ? " there is: ${env:NAME:-default}, ${recipe_dir} and ${section.key}"
                             : " that this key takes: ${env:NAME:-default} and ${recipe_dir}"));
    }
    return referred(name, where, path);
  }

  std::optional<std::string> environment(const std::string& name, const yaml::Location& where,
                                         const std::string& path) {
    const std::size_t separator = name.find(":-", 4);
    const std::string variable =
        name.substr(4, separator == std::string::npos ? separator : separator - 4);
    if (!is_name(variable))
      return fail(where, path,
                  "${" + name +
                      "} names no environment variable: write ${env:NAME} or ${env:NAME:-default}");
    const auto value = sources_.environment(variable);
    if (value && (!value->empty() || separator == std::string::npos)) return value;
    if (separator != std::string::npos) return name.substr(separator + 2);
    return fail(where, path,
                "the environment variable " + variable +
                    " is not set: set it, or give a default with ${env:" + variable + ":-default}");
  }

  std::optional<std::string> referred(const std::string& key, const yaml::Location& where,
                                      const std::string& path) {
    Node* node = root_;
    for (std::size_t start = 0; node && start <= key.size();) {
      const std::size_t dot = std::min(key.find('.', start), key.size());
      yaml::Entry* entry = node->find(std::string_view(key).substr(start, dot - start));
      node = entry ? &entry->value : nullptr;
      start = dot + 1;
    }
    if (!node) {
      if (auto text = sources_.default_text(key)) return text;
      const std::string near = did_you_mean(key, sources_.keys());
      return fail(where, path, "${" + key + "} is no key of this recipe" + near);
    }
    if (node->kind == Node::Kind::broken) {
      problems_.add(where, path, "${" + key + "} has no readable value");
      return std::nullopt;
    }
    if (!node->is_scalar())
      return fail(where, path,
                  "${" + key + "} is " + std::string(kind_name(*node)) + ", not a single value");
    if (std::find(open_.begin(), open_.end(), node) != open_.end())
      return fail(where, path, "${" + key + "} leads back to this value: break the circle");
    resolve(*node, key);
    if (node->kind == Node::Kind::broken) return std::nullopt;  // reported there
    return node->text;
  }

  Node* root_;
  const InterpolationSources& sources_;
  yaml::Problems& problems_;
  std::size_t sum_ = 0;            // bytes of what has been resolved
  std::vector<const Node*> open_;  // being resolved, outermost first
};

}  // namespace

bool has_interpolation(const Node& root) {
  return root.text.find("${") != std::string::npos ||
         std::ranges::any_of(root.items, has_interpolation) ||
         std::ranges::any_of(
             root.entries, [](const yaml::Entry& entry) { return has_interpolation(entry.value); });
}

void interpolate(Node& root, const InterpolationSources& sources, yaml::Problems& problems) {
  Interpolator(&root, sources, problems).visit(root, "");
}

std::optional<std::string> interpolate_text(const std::string& text, const yaml::Location& where,
                                            const std::string& key,
                                            const InterpolationSources& sources,
                                            yaml::Problems& problems) {
  return Interpolator(nullptr, sources, problems).expand(text, where, key);
}

}  // namespace trainx::recipe

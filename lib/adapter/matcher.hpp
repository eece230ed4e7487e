#pragma once
#include "adapter/config.hpp"
#include "adapter/expression.hpp"
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace trainx::adapter {

/// Suffixes of names that begin at dots, looked up without trying each.
class SuffixSet {
 public:
  explicit SuffixSet(const std::vector<std::string>& suffixes)
      : suffixes_(suffixes.begin(), suffixes.end()) {}
  bool has(const std::string& name) const { return suffixes_.contains(name); }
  bool matches_end_of(const std::string& name) const;

 private:
  std::unordered_set<std::string> suffixes_;
};

/// Suffixes, or an expression of whole names.
class TargetMatcher {
 public:
  TargetMatcher(const Targets& targets, const std::string& place);
  bool is_expression() const { return expression_.has_value(); }
  bool has(const std::string& name) const { return suffixes_.has(name); }
  bool matches(const std::string& name) const;

 private:
  SuffixSet suffixes_;
  std::optional<Expression> expression_;
};

/// PEFT's check_target_module_exists: whether settings mean a module.
class Matcher {
 public:
  enum class Match { none, excluded, target };

  /// `config` has targets of suffixes or an expression.
  explicit Matcher(const Config& config);
  Match match(const std::string& name) const;

 private:
  bool is_in_layers(const std::string& name) const;

  TargetMatcher targets_;
  std::optional<TargetMatcher> excluded_;
  std::vector<Expression> saved_;
  std::vector<Expression> layer_index_;
  std::optional<std::vector<std::int64_t>> layers_;
};

/// The first of ordered patterns that matches the end of a name behind a dot.
template <class T>
class Patterns {
 public:
  Patterns(const std::vector<std::pair<std::string, T>>& patterns, const std::string& key)
      : values_(patterns) {
    for (const auto& [pattern, value] : patterns)
      expressions_.emplace_back("(.*\\.)?(" + pattern + ")$", Expression::Extent::start,
                                key + "'s '" + pattern + "'");
  }
  /// Its index; the number of patterns if none matches.
  std::size_t first_match(const std::string& name) const {
    std::size_t i = 0;
    while (i < expressions_.size() && !expressions_[i].matches(name)) ++i;
    return i;
  }
  T value(const std::string& name, T otherwise) const {
    const std::size_t i = first_match(name);
    return i < values_.size() ? values_[i].second : otherwise;
  }

 private:
  std::vector<std::pair<std::string, T>> values_;
  std::vector<Expression> expressions_;
};

}  // namespace trainx::adapter

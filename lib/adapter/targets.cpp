#include "adapter/targets.hpp"
#include "adapter/convert_experts.hpp"
#include "adapter/matcher.hpp"
#include "adapter/minimal_suffixes.hpp"
#include "adapter/model_types.hpp"
#include "adapter/module_names.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace trainx::adapter {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, sentence);
}

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

template <class T>
void keep_first_of_each(std::vector<T>& values) {
  std::set<T> seen;
  std::erase_if(values, [&](const T& value) { return !seen.insert(value).second; });
}

bool matches_exactly_or_at_end(const std::string& name, const std::vector<std::string>& suffixes) {
  return std::ranges::any_of(suffixes,
                             [&](const std::string& suffix) { return ends_at_dot(name, suffix); });
}

/// Ends of names with as many parts as `word` has, of what can have an adapter.
std::vector<std::string> candidates_like(const std::string& word,
                                         const std::vector<std::string>& names) {
  const auto parts = 1 + std::ranges::count(word, '.');
  std::set<std::string> candidates;
  for (const std::string& name : names) {
    std::size_t begin = name.size() + 1;
    for (std::ptrdiff_t part = 0; part < parts && begin != 0; ++part)
      begin = begin < 2 ? 0 : name.rfind('.', begin - 2) + 1;
    candidates.insert(name.substr(begin));
  }
  return {candidates.begin(), candidates.end()};
}

/// Chooses step by step as PEFT's get_peft_model does; `config` becomes what PEFT saves.
class Choice {
 public:
  Choice(const Config& asked, std::span<const Module> modules, std::string_view model_type,
         Unmatched unmatched)
      : asked_(asked),
        modules_(modules),
        model_type_(model_type),
        unmatched_(unmatched),
        names_(named_modules(modules)),
        config_(asked) {}

  Chosen choose() {
    add_heads_of_task();
    became_ = convert_expert_names(config_, modules_, names_, model_type_);
    tie_saved_modules();
    resolve_targets();
    ranks_.emplace(config_.rank_pattern, "rank_pattern");
    alphas_.emplace(config_.alpha_pattern, "alpha_pattern");
    adapt_modules();
    adapt_parameters();
    if (chosen_.adapted.empty()) refuse_nothing_adapted();
    save_whole();
    choose_token_rows();
    std::ranges::sort(chosen_.adapted, {}, &Target::module);
    check_asked();
    warn_of_patterns();
    make_patterns_sortable();
    chosen_.written = std::move(config_);
    return std::move(chosen_);
  }

 private:
  void add_heads_of_task() {
    const std::vector<std::string> heads =
        config_.task_type == "SEQ_CLS" || config_.task_type == "TOKEN_CLS"
            ? std::vector<std::string>{"classifier", "score"}
        : config_.task_type == "QUESTION_ANS" ? std::vector<std::string>{"qa_outputs"}
                                              : std::vector<std::string>{};
    if (heads.empty()) return;
    heads_of_task_.insert(heads.begin(), heads.end());
    auto& saved = config_.modules_to_save;
    if (!saved) saved.emplace();
    // PEFT adds them again each time an adapter is loaded; settings that end with them stay.
    if (saved->size() < heads.size() ||
        !std::equal(heads.begin(), heads.end(), saved->end() - heads.size()))
      saved->insert(saved->end(), heads.begin(), heads.end());
  }

  void tie_saved_modules() {
    const auto is_embedding = [](const std::string& name) {
      const std::string_view leaf = leaf_of(name);
      return leaf == "embed_tokens" || leaf == "lm_head";
    };
    std::vector<std::string> tied;
    for (const Module& module : modules_)
      if (module.tied_to_embedding) tied.push_back(module.name);
    const auto embedding = std::ranges::find_if(modules_, &Module::input_embedding);
    auto& saved = config_.modules_to_save;
    const bool is_saved = saved && std::ranges::any_of(*saved, is_embedding);
    const bool is_adapted =
        config_.targets.kind == Targets::Kind::expression
            ? TargetMatcher(config_.targets, "the adapter's targets").matches("embed_tokens") ||
                  TargetMatcher(config_.targets, "the adapter's targets").matches("lm_head")
            : std::ranges::any_of(config_.targets.suffixes, is_embedding);
    if (!config_.ensure_weight_tying) {
      if ((is_saved || is_adapted) && !tied.empty())
        chosen_.warnings.push_back(
            "the embedding and the head are one weight, of which the adapter changes one alone; "
            "ensure_weight_tying keeps them equal");
      return;
    }
    if (tied.empty() || embedding == modules_.end() || (!is_saved && !is_adapted)) {
      chosen_.warnings.push_back("ensure_weight_tying has no effect: no tied module is adapted");
      return;
    }
    if (!is_saved)
      refuse(
          "ensure_weight_tying with an adapter of the embedding: trainx ties modules_to_save "
          "alone");
    tied_.insert(tied.begin(), tied.end());
    if (std::ranges::find(*saved, embedding->name) == saved->end())
      saved->push_back(embedding->name);
    for (const std::string& name : tied) {
      const auto is_of = [&](const std::string& module) {
        return Expression("(^|.*\\.)" + module + "($|\\..*)", Expression::Extent::start,
                          "modules_to_save")
            .matches(name);
      };
      if (const auto found = std::ranges::find_if(*saved, is_of); found != saved->end())
        saved->erase(found);
    }
  }

  void resolve_targets() {
    Targets& targets = config_.targets;
    if (targets.kind == Targets::Kind::of_model_type) {
      if (const auto of_type = targets_of_model_type(model_type_)) {
        targets = *of_type;
      } else if (config_.target_parameters && !config_.target_parameters->empty()) {
        return;
      } else {
        refuse("the adapter names no targets, and PEFT has none for models of type '" +
               std::string(model_type_) + "'; name some, or all_linear");
      }
    }
    if (targets.kind == Targets::Kind::all_linear)
      targets = {.kind = Targets::Kind::suffixes,
                 .suffixes = all_linear_names(modules_, config_),
                 .expression = {}};
    keep_first_of_each(targets.suffixes);
    if (targets.suffixes.size() < targets_to_shorten) return;
    const TargetMatcher matcher(targets, "the adapter's targets");
    std::vector<std::string> others;
    for (const NamedModule& named : names_)
      if (!matcher.matches(named.name)) others.push_back(named.name);
    targets.suffixes = minimal_suffixes(targets.suffixes, others);
  }

  LowRank low_rank_of(const std::string& name) const {
    const std::int64_t rank = ranks_->value(name, config_.rank);
    const double alpha = alphas_->value(name, config_.alpha);
    const double by = config_.rslora ? std::sqrt(static_cast<double>(rank))
                                     : static_cast<double>(rank);
    return {.rank = rank, .scale = alpha / by, .dropout = config_.dropout};
  }

  void adapt(std::size_t module, const std::string& name) {
    adapted_names_.push_back(name);
    is_adapted_.insert(module);
    chosen_.adapted.push_back({.module = module, .low_rank = low_rank_of(name)});
  }

  void adapt_modules() {
    if (config_.targets.kind == Targets::Kind::of_model_type) return;
    const Matcher matcher(config_);
    for (const NamedModule& named : names_) {
      const auto match = matcher.match(named.name);
      if (match == Matcher::Match::excluded) has_excluded_ = true;
      if (match != Matcher::Match::target) continue;
      const Module* module = named.index ? &modules_[*named.index] : nullptr;
      if (!module || module->kind == ModuleKind::other || module->kind == ModuleKind::router)
        refuse_unadaptable(named, module);
      if (module->kind == ModuleKind::linear && config_.fan_in_fan_out != module->conv1d)
        config_.fan_in_fan_out = module->conv1d;
      adapt(*named.index, named.name);
    }
  }

  [[noreturn]] void refuse_unadaptable(const NamedModule& named, const Module* module) const {
    const std::string what = !module ? "which only contains other modules"
                             : module->kind == ModuleKind::router
                                 ? "a router, which target_parameters reaches (" +
                                       std::string(leaf_of(named.name)) + ".weight)"
                                 : "which is neither linear nor an embedding";
    refuse("the adapter's targets match " + in_quotes(named.name) + ", " + what);
  }

  void adapt_parameters() {
    if (!config_.target_parameters) return;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const std::string name = parameter_name(modules_[i]);
      if (!matches_exactly_or_at_end(name, *config_.target_parameters)) continue;
      if (is_adapted_.contains(i))
        refuse(in_quotes(name) + " is one of target_parameters, and its module a target: name one");
      if (modules_[i].kind == ModuleKind::other || modules_[i].kind == ModuleKind::embedding ||
          modules_[i].conv1d)
        refuse("target_parameters has " + in_quotes(name) +
               ", which is neither a linear layer's weight nor that of experts or a router");
      if (config_.dropout != 0.0)
        refuse("dropout is not 0, and " + in_quotes(name) +
               " is adapted as a parameter, in front of which nothing can be dropped; set dropout "
               "to 0 or leave experts and routers out");
      if (config_.fan_in_fan_out)
        refuse("fan_in_fan_out is true, and " + in_quotes(name) +
               " is adapted as a parameter, which PEFT refuses");
      adapt(i, name);
    }
  }

  [[noreturn]] void refuse_nothing_adapted() {
    check_asked();
    if (has_excluded_)
      refuse(
          "the adapter adapts no module: exclude_modules or modules_to_save has all of its "
          "targets");
    if (config_.layers_to_transform)
      refuse("the adapter adapts no module: no target lies in a layer of layers_to_transform");
    refuse("the adapter's targets match no module of the model");
  }

  void save_whole() {
    if (!config_.modules_to_save) return;
    const auto ends_with_one = [&](const std::string& name, const auto& ends) {
      return std::ranges::any_of(ends, [&](const std::string& end) { return name.ends_with(end); });
    };
    std::set<std::size_t> saved, shared;
    const auto take = [&](const auto& ends, std::set<std::size_t>& into) {
      for (const NamedModule& named : names_)
        if (ends_with_one(named.name, ends))
          for (std::size_t i = 0; i < modules_.size(); ++i)
            if (lies_in(modules_[i].name, named.name)) into.insert(i);
    };
    take(*config_.modules_to_save, saved);
    take(tied_, shared);
    saved.insert(shared.begin(), shared.end());
    for (const std::size_t i : saved)
      if (is_adapted_.contains(i))
        refuse(in_quotes(modules_[i].name) + " is in modules_to_save and has an adapter: name one");
    chosen_.saved_whole.assign(saved.begin(), saved.end());
    chosen_.shares_saved_embedding.assign(shared.begin(), shared.end());
  }

  // Single tokens.

  void choose_token_rows() {
    if (!config_.trainable_tokens) return;
    for (const auto& [end, tokens] : config_.trainable_tokens->of_modules)
      for (std::size_t i = 0; i < modules_.size(); ++i) {
        const bool meant = config_.trainable_tokens->is_list ? modules_[i].input_embedding
                                                             : modules_[i].name.ends_with(end);
        if (meant) add_token_rows(i, tokens);
      }
    for (const auto& [end, tokens] : config_.trainable_tokens->of_modules)
      if (std::ranges::none_of(modules_, [&, &e = end](const Module& m) {
            return config_.trainable_tokens->is_list ? m.input_embedding : m.name.ends_with(e);
          }))
        refuse("trainable_token_indices' " + in_quotes(end) + " matches no module of the model" +
               did_you_mean(end, candidates_like(end, adaptable_names())));
    tie_token_rows();
    for (const TokenRows& rows : chosen_.token_rows) require_alone(rows.module);
    for (std::size_t i = 0; chosen_.tied_head_has_rows && i < modules_.size(); ++i)
      if (modules_[i].tied_to_embedding) require_alone(i);
    std::ranges::sort(chosen_.token_rows, {}, &TokenRows::module);
  }

  void add_token_rows(std::size_t module, const std::vector<std::int64_t>& tokens) {
    const Module& m = modules_[module];
    const std::string which = "trainable_token_indices has tokens of " + in_quotes(m.name);
    const bool is_head = m.kind == ModuleKind::linear && m.output_head;
    if (!m.input_embedding && !is_head)
      refuse(which + ", which is neither the embedding of tokens nor the head");
    const std::int64_t count = is_head ? m.out : m.in;
    if (tokens.empty()) refuse(which + ", and names none");
    if (const auto wrong =
            std::ranges::find_if(tokens, [&](std::int64_t t) { return t < 0 || t >= count; });
        wrong != tokens.end())
      refuse(which + ": " + std::to_string(*wrong) + " is none of its " + std::to_string(count));
    if (std::set<std::int64_t>(tokens.begin(), tokens.end()).size() < tokens.size())
      refuse(which + " and names one twice");
    if (std::ranges::find(chosen_.token_rows, module, &TokenRows::module) !=
        chosen_.token_rows.end())
      refuse(which + " by two names");
    chosen_.token_rows.push_back({module, tokens});
  }

  /// A tied head has the embedding's rows, unless it is given others.
  void tie_token_rows() {
    const auto of_table = std::ranges::find_if(
        chosen_.token_rows, [&](const TokenRows& r) { return modules_[r.module].input_embedding; });
    if (of_table == chosen_.token_rows.end()) return;
    const std::vector<std::int64_t> tokens = of_table->tokens;
    const auto is_of_tied_head = [&](const TokenRows& r) {
      return modules_[r.module].tied_to_embedding;
    };
    for (const TokenRows& rows : chosen_.token_rows)
      if (is_of_tied_head(rows) && rows.tokens != tokens) {
        if (config_.ensure_weight_tying)
          refuse(
              "ensure_weight_tying, and trainable_token_indices has other tokens of the embedding "
              "than of the head");
        return;
      }
    std::erase_if(chosen_.token_rows, is_of_tied_head);
    chosen_.tied_head_has_rows =
        std::ranges::any_of(modules_, [](const Module& m) { return m.tied_to_embedding; });
  }

  void require_alone(std::size_t module) const {
    const bool is_saved = std::ranges::find(chosen_.saved_whole, module) !=
                          chosen_.saved_whole.end();
    if (is_saved || is_adapted_.contains(module))
      refuse(in_quotes(modules_[module].name) +
             " has rows of trainable_token_indices, and is one of " +
             (is_saved ? "modules_to_save" : "the adapter's targets") + " too: name one");
  }

  // What is asked for and matches nothing.

  void complain(const std::string& sentence) {
    if (unmatched_ == Unmatched::refused) refuse(sentence);
    chosen_.warnings.push_back(sentence);
  }

  std::vector<std::string> adaptable_names() const {
    std::vector<std::string> names;
    for (const Module& module : modules_)
      if (module.kind == ModuleKind::linear || module.kind == ModuleKind::embedding)
        names.push_back(module.name);
    return names;
  }

  std::vector<std::string> parameter_names() const {
    std::vector<std::string> names;
    for (const Module& module : modules_)
      if (module.kind != ModuleKind::other && module.kind != ModuleKind::embedding)
        names.push_back(parameter_name(module));
    return names;
  }

  bool has_parameter(const std::string& suffix) const {
    return std::ranges::any_of(modules_, [&](const Module& module) {
      return ends_at_dot(parameter_name(module), suffix);
    });
  }

  void check_target(const std::string& target) {
    if (const auto converted = became_.find(target); converted != became_.end()) {
      if (!has_parameter(converted->second))
        complain("the adapter's target " + in_quotes(target) + " means " +
                 in_quotes(converted->second) + ", which the model does not have");
      return;
    }
    if (std::ranges::any_of(
            names_, [&](const NamedModule& named) { return ends_at_dot(named.name, target); }))
      return;
    if (has_parameter(target))
      complain("the adapter's target " + in_quotes(target) +
               " is a parameter, not a module; name it in target_parameters");
    else
      complain("the adapter's target " + in_quotes(target) + " matches no module of the model" +
               did_you_mean(target, candidates_like(target, adaptable_names())));
  }

  void check_asked() {
    if (asked_.targets.kind == Targets::Kind::suffixes)
      for (const std::string& target : asked_.targets.suffixes) check_target(target);
    if (asked_.targets.kind == Targets::Kind::expression && became_.empty()) {
      const TargetMatcher matcher(asked_.targets, "the adapter's targets");
      if (std::ranges::none_of(
              names_, [&](const NamedModule& named) { return matcher.matches(named.name); }))
        complain("the adapter's target " + in_quotes(asked_.targets.expression) +
                 " matches no module of the model; it must match whole names, such as " +
                 in_quotes(example_name()));
    }
    if (asked_.target_parameters)
      for (const std::string& target : *asked_.target_parameters)
        if (!has_parameter(target))
          complain("target_parameters' " + in_quotes(target) +
                   " matches no parameter of the model" +
                   did_you_mean(target, candidates_like(target, parameter_names())));
    if (asked_.modules_to_save)
      for (const std::string& module : *asked_.modules_to_save)
        if (!heads_of_task_.contains(module) &&
            std::ranges::none_of(
                names_, [&](const NamedModule& named) { return named.name.ends_with(module); }))
          complain("modules_to_save's " + in_quotes(module) + " matches no module of the model" +
                   did_you_mean(module, candidates_like(module, adaptable_names())));
  }

  std::string example_name() const {
    const auto names = adaptable_names();
    return names.empty() ? "" : names.front();
  }

  template <class T>
  void warn_of_unused(const std::vector<std::pair<std::string, T>>& asked, const char* key) {
    for (const auto& [pattern, value] : asked) {
      const Patterns<T> one({{pattern, value}}, key);
      if (std::ranges::none_of(adapted_names_,
                               [&](const std::string& name) { return one.first_match(name) == 0; }))
        chosen_.warnings.push_back(std::string(key) + "'s " + in_quotes(pattern) +
                                   " matches no adapted module");
    }
  }

  void warn_of_patterns() {
    warn_of_unused(asked_.rank_pattern, "rank_pattern");
    warn_of_unused(asked_.alpha_pattern, "alpha_pattern");
    if (config_.exclude_modules && !has_excluded_)
      chosen_.warnings.push_back("exclude_modules matches no module of the model");
  }

  /// PEFT's file has patterns sorted, and the first that matches counts. Where another would count
  /// than in the order that was asked, patterns become one for each module that they change.
  template <class T>
  void make_sortable(std::vector<std::pair<std::string, T>>& patterns, const char* key,
                     T otherwise) {
    auto sorted = patterns;
    std::ranges::sort(sorted, {}, &std::pair<std::string, T>::first);
    const Patterns<T> by_order(patterns, key), by_file(sorted, key);
    std::vector<std::pair<std::string, T>> exact;
    bool differs = false;
    for (const std::string& name : adapted_names_) {
      const T value = by_order.value(name, otherwise);
      differs = differs || value != by_file.value(name, otherwise);
      if (value != otherwise) exact.emplace_back("^" + escaped(name), value);
    }
    if (differs) patterns = std::move(exact);
  }

  void make_patterns_sortable() {
    make_sortable(config_.rank_pattern, "rank_pattern", config_.rank);
    make_sortable(config_.alpha_pattern, "alpha_pattern", config_.alpha);
  }

  const Config& asked_;
  std::span<const Module> modules_;
  std::string_view model_type_;
  Unmatched unmatched_;
  std::vector<NamedModule> names_;
  Config config_;
  std::optional<Patterns<std::int64_t>> ranks_;
  std::optional<Patterns<double>> alphas_;
  std::set<std::string> heads_of_task_;
  std::map<std::string, std::string> became_;
  std::set<std::string> tied_;
  std::vector<std::string> adapted_names_;
  std::set<std::size_t> is_adapted_;
  bool has_excluded_ = false;
  Chosen chosen_;
};

}  // namespace

Chosen choose_targets(const Config& config, std::span<const Module> modules,
                      std::string_view model_type, Unmatched unmatched) {
  return Choice(config, modules, model_type, unmatched).choose();
}

}  // namespace trainx::adapter

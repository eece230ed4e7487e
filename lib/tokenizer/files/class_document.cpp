#include "tokenizer/files/class_document.hpp"
#include "tokenizer/files/added_token_list.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <set>

namespace trainx::tokenizer {
namespace {

using nlohmann::json;

json text_part(const char* id, int type) { return {{"Sequence", {{"id", id}, {"type_id", type}}}}; }

/// Builds a TemplateProcessing.
class Template {
 public:
  json token(const std::string& name, std::int32_t id, int type = 0) {
    special_[name] = {{"id", name},
                      {"ids", json::array({static_cast<std::uint32_t>(id)})},
                      {"tokens", json::array({name})}};
    return {{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  }
  json finish(json single, json pair) && {
    return {{"type", "TemplateProcessing"},
            {"single", std::move(single)},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(special_)}};
  }

 private:
  json special_ = json::object();
};

class Builder {
 public:
  Builder(const ClassDefinition* definition, VocabularySource source, TokenSettings settings)
      : definition_(definition), source_(std::move(source)), s_(std::move(settings)) {}

  ClassDocument build() {
    if (definition_) {
      for (const auto& [name, content] : definition_->tokens)
        s_.set_default(name,
                       content.empty() ? std::nullopt : std::optional(NamedToken{{content}, true}));
      definition_->build(s_, source_.charsmap, source_.document);
    }
    if (!source_.padding.empty()) s_.set_default("pad_token", NamedToken{{source_.padding}, true});
    arrange_special_lists();
    const ModelVocabulary vocabulary(source_.document["model"]);
    AddedTokenList list(vocabulary);
    if (!definition_ && source_.is_json && !add_of_file(vocabulary, list))
      return {std::move(source_.document), {}, false};
    list_ = &list;
    add_tokens();
    source_.document["added_tokens"] = list.to_json();
    source_.document["post_processor"] = post_processor();
    return {std::move(source_.document), named_tokens(), s_.flag("split_special_tokens", false),
            list.once_normalized()};
  }

 private:
  bool is(std::string_view name) const { return definition_ && definition_->name == name; }

  /// The file's own tokens. False where ids or tokens contradict the vocabulary, which whoever
  /// reads the document refuses.
  bool add_of_file(const ModelVocabulary& vocabulary, AddedTokenList& list) const {
    const auto tokens = source_.document.find("added_tokens");
    if (tokens == source_.document.end() || tokens->is_null()) return true;
    if (!tokens->is_array()) return false;
    std::set<std::int64_t> ids;
    for (const auto& item : *tokens) {
      const auto flag = [&](const char* key) { return item.value(key, json(false)) == true; };
      const auto content = item.is_object() ? item.value("content", json()) : json(),
                 id = item.is_object() ? item.value("id", json()) : json();
      if (!content.is_string() || content == "" || !id.is_number_unsigned()) return false;
      TokenSpec token{content.get<std::string>()};
      const std::int32_t known = vocabulary.id_of(token.content);
      if (!ids.insert(id.get<std::int64_t>()).second || list.has_content(token.content) ||
          (known >= 0 ? id != known : vocabulary.has_id(id.get<std::int64_t>())))
        return false;
      token.single_word = flag("single_word");
      token.lstrip = flag("lstrip");
      token.rstrip = flag("rstrip");
      token.special = flag("special");
      const auto normalized = item.value("normalized", json());
      if (normalized.is_boolean()) token.normalized = normalized.get<bool>();
      list.add(token);
    }
    return true;
  }

  /// additional_special_tokens, of which each class makes something else, become
  /// extra_special_tokens unless the settings have those.
  void arrange_special_lists() {
    auto& more = s_.additional;
    if (source_.is_sentence_piece) {
      more.emplace();
      for (const TokenSpec& symbol : source_.symbols) more->push_back({symbol, false});
    }
    if (is("T5Tokenizer")) {
      const std::int64_t count = s_.number("extra_ids", 100);
      const auto given = more ? std::ranges::count_if(*more,
                                                      [](const NamedToken& t) {
                                                        return t.token.content.find("<extra_id_") !=
                                                               std::string::npos;
                                                      })
                              : 0;
      if (given > 0 && count > 0 && given != count)
        s_.refuse("extra_ids", "is " + std::to_string(count) +
                                   ", but additional_special_tokens has " + std::to_string(given));
      if (!more) more.emplace();
      for (std::int64_t i = 0; given == 0 && i < count; ++i)
        more->push_back({{"<extra_id_" + std::to_string(i) + ">"}, true});
    }
    const bool fifty = is("MBart50Tokenizer");
    if (fifty || is("MBartTokenizer")) {
      std::vector<NamedToken> languages;
      for (const std::string& language : mbart_languages(fifty))
        languages.push_back({{language}, true});
      if (fifty && more) languages.insert(languages.begin(), more->begin(), more->end());
      if (!fifty && more)
        for (const NamedToken& token : *more)
          if (std::ranges::find(languages, token) == languages.end()) languages.push_back(token);
      more = std::move(languages);
      if (const NamedToken* mask = s_.find("mask_token"); mask && mask->is_text) {
        NamedToken stripping{{mask->token.content}, false};
        stripping.token.lstrip = true;
        s_.named["mask_token"] = std::move(stripping);
      }
    }
    if (!s_.extra) s_.extra = std::move(more);
  }

  /// Named tokens in their order, then those of the model's own names.
  std::vector<NamedToken> special_tokens() const {
    std::vector<NamedToken> out;
    for (const std::string& name : special_token_names)
      if (const NamedToken* token = s_.find(name)) out.push_back(*token);
    for (const auto& [name, token] : s_.own_names) out.push_back(token);
    return out;
  }

  void add_tokens() {
    const std::vector<NamedToken> special = special_tokens();
    const std::vector<NamedToken> extra = s_.extra.value_or(std::vector<NamedToken>{});
    std::vector<NamedToken> missing;
    for (const auto& [id, token] : s_.added) missing.push_back({token, false});
    std::set<std::string> known, named;
    for (const NamedToken& token : missing) known.insert(token.token.content);
    const auto consider = [&](const NamedToken& token) {
      if (list_->has_content(token.token.content) || known.contains(token.token.content)) return;
      if (std::ranges::find(missing, token) == missing.end()) missing.push_back(token);
    };
    for (const NamedToken& token : special) {
      consider(token);
      named.insert(token.token.content);
    }
    for (const NamedToken& token : extra) consider(token);
    for (NamedToken& token : missing) {
      if (token.is_text || named.contains(token.token.content)) token.token.special = true;
      list_->add(token.token);
    }
    if (is("Qwen2Tokenizer") || is("CohereTokenizer")) mark_special(special, extra);
  }

  /// Both classes add their special tokens once more when they are built.
  void mark_special(const std::vector<NamedToken>& special, const std::vector<NamedToken>& extra) {
    for (const auto* tokens : {&special, &extra})
      for (const NamedToken& token : *tokens) {
        TokenSpec spec = token.token;
        if (is("Qwen2Tokenizer")) spec = {token.token.content};
        spec.special = true;
        list_->add(spec);
      }
  }

  std::int32_t id_of(const NamedToken& token) const {
    std::int32_t id = list_->id_of(token.token.content);
    const NamedToken* unknown = s_.find("unk_token");
    if (id < 0 && unknown) id = list_->id_of(unknown->token.content);
    return id;
  }

  const NamedToken& required(const char* name) const {
    const NamedToken* token = s_.find(name);
    if (!token || id_of(*token) < 0)
      s_.refuse(name, "is no token, and " + std::string(definition_->name) +
                          " puts it around texts: name one of the vocabulary");
    return *token;
  }

  json post_processor() {
    switch (definition_ ? definition_->around : Around::file) {
      case Around::bert: return wrapped("cls_token", "sep_token", 1);
      case Around::albert:
        return source_.post_processor.is_null() ? wrapped("cls_token", "sep_token", 1)
                                                : source_.post_processor;
      case Around::roberta: return doubled("cls_token", "sep_token", "RobertaProcessing");
      case Around::xlm: return doubled("bos_token", "eos_token", "");
      case Around::t5: return ended();
      case Around::language_behind:
      case Around::language_before: return with_language();
      case Around::file: {
        const bool says = s_.values.contains("add_bos_token") ||
                          s_.values.contains("add_eos_token");
        if (!source_.post_processor.is_null() && !says) return source_.post_processor;
        break;
      }
      case Around::ends: break;
    }
    return ends();
  }

  /// begin A end B end
  json wrapped(const char* begin, const char* end, int second) const {
    const NamedToken &b = required(begin), &e = required(end);
    const std::string &before = b.token.content, &behind = e.token.content;
    Template t;
    json single =
        json::array({t.token(before, id_of(b)), text_part("A", 0), t.token(behind, id_of(e))});
    json pair = single;
    pair.push_back(text_part("B", second));
    pair.push_back(t.token(behind, id_of(e), second));
    return std::move(t).finish(std::move(single), std::move(pair));
  }

  /// begin A end end B end, all of type 0
  json doubled(const char* begin, const char* end, const std::string& type) const {
    const NamedToken &b = required(begin), &e = required(end);
    const std::string &before = b.token.content, &behind = e.token.content;
    if (!type.empty())
      return {{"type", type},
              {"cls", json::array({before, static_cast<std::uint32_t>(id_of(b))})},
              {"sep", json::array({behind, static_cast<std::uint32_t>(id_of(e))})}};
    Template t;
    const json end_part = t.token(behind, id_of(e));
    json single = json::array({t.token(before, id_of(b)), text_part("A", 0), end_part});
    json pair = single;
    for (const json& part : {end_part, text_part("B", 0), end_part}) pair.push_back(part);
    return std::move(t).finish(std::move(single), std::move(pair));
  }

  json ended() const {
    Template t;
    const json end = t.token("</s>", id_of(required("eos_token")));
    json single = json::array({text_part("A", 0), end});
    return std::move(t).finish(single,
                               json::array({text_part("A", 0), end, text_part("B", 0), end}));
  }

  json with_language() const {
    const std::string language = s_.text("src_lang", "en_XX");
    const std::int32_t id = list_->id_of(language);
    if (id < 0) s_.refuse("src_lang", "is " + yaml::excerpt(language) + ", which is no token");
    Template t;
    const json spoken = t.token(language, id);
    const NamedToken& eos = required("eos_token");
    const json end = t.token(eos.token.content, id_of(eos));
    const bool before = definition_->around == Around::language_before;
    json single = json::array(), pair = json::array();
    for (json* parts : {&single, &pair}) {
      if (before) parts->push_back(spoken);
      parts->push_back(text_part("A", 0));
      if (parts == &pair) parts->push_back(text_part("B", 0));
      parts->push_back(end);
      if (!before) parts->push_back(spoken);
    }
    return std::move(t).finish(std::move(single), std::move(pair));
  }

  /// By add_bos_token and add_eos_token.
  json ends() const {
    const auto asked = [&](const char* key, const char* name) -> const NamedToken* {
      return s_.flag(key, false) ? s_.find(name) : nullptr;
    };
    const NamedToken *bos = asked("add_bos_token", "bos_token"),
                     *eos = asked("add_eos_token", "eos_token");
    Template t;
    const auto put = [&](json& parts, const char* text, int type) {
      if (bos) parts.push_back(t.token(bos->token.content, id_of(*bos), type));
      parts.push_back(text_part(text, type));
      if (eos) parts.push_back(t.token(eos->token.content, id_of(*eos), type));
    };
    json single = json::array();
    put(single, "A", 0);
    json pair = single;
    put(pair, "B", 1);
    return std::move(t).finish(std::move(single), std::move(pair));
  }

  NamedTokens named_tokens() const {
    NamedTokens out;
    const auto id = [&](const char* name) {
      const NamedToken* token = s_.find(name);
      return token ? id_of(*token) : -1;
    };
    out.end_of_text = id("eos_token");
    out.mask = id("mask_token");
    std::set<std::int32_t> special;
    for (const NamedToken& token : special_tokens()) special.insert(id_of(token));
    for (const NamedToken& token : s_.extra.value_or(std::vector<NamedToken>{}))
      special.insert(id_of(token));
    special.erase(-1);
    out.special.assign(special.begin(), special.end());
    return out;
  }

  const ClassDefinition* definition_;
  VocabularySource source_;
  TokenSettings s_;
  AddedTokenList* list_ = nullptr;
};

}  // namespace

ClassDocument build_class_document(const ClassDefinition* definition, VocabularySource source,
                                   TokenSettings settings) {
  return Builder(definition, std::move(source), std::move(settings)).build();
}

}  // namespace trainx::tokenizer

#include "tokenizer/normalizer.hpp"
#include "tokenizer/precompiled.hpp"
#include "tokenizer/unicode/normal_forms.hpp"
#include <algorithm>
#include <utility>

namespace trainx::tokenizer {
namespace {

/// Takes the code points of a set out.
void remove(const CodePointSet& set, Draft& draft) {
  const std::string_view text = draft.text;
  std::string out;
  out.reserve(text.size());
  std::size_t index = 0, gone = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool removed = set.contains(next_code_point(text, at));
    if (!removed) out.append(text.substr(begin, at - begin));
    if (index++ < draft.from_first && removed) ++gone;
  }
  draft.from_first -= gone;
  draft.text = std::move(out);
}

void change_form(Draft& draft, NormalForm form) {
  if (draft.from_first == 1 && !draft.text.empty())
    draft.from_first = count_code_points(
        normalize(std::string_view(draft.text)
                      .substr(0, utf8_length(static_cast<unsigned char>(draft.text[0]))),
                  form));
  draft.text = normalize(draft.text, form);
}

class InForm final : public Normalizer {
 public:
  explicit InForm(NormalForm form) : form_(form) {}
  void apply(Draft& draft, MatchSpace&) const override { change_form(draft, form_); }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(Draft& draft, MatchSpace&) const override { draft.text = lowercase(draft.text); }
};

class StripAccents final : public Normalizer {
 public:
  void apply(Draft& draft, MatchSpace&) const override { remove(marks_, draft); }

 private:
  const CodePointSet& marks_ = set_of(CodePointClass::combining_mark);
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(Draft& draft, MatchSpace&) const override {
    std::string& text = draft.text;
    // Of the runs of white space the first and the last.
    std::size_t first = text.size(), last = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      if (space_.contains(next_code_point(text, at))) continue;
      first = std::min(first, begin);
      last = at;
    }
    if (right_) text.resize(last);
    if (!left_ || first == 0) return;
    draft.from_first -= std::min(draft.from_first, count_code_points(std::string_view(text).substr(
                                                       0, std::min(first, text.size()))));
    text.erase(0, first);
  }

 private:
  bool left_, right_;
  const CodePointSet& space_ = set_of(CodePointClass::space);
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string what) : what_(std::move(what)) {}
  void apply(Draft& draft, MatchSpace&) const override {
    if (draft.text.empty()) return;
    draft.text.insert(0, what_);
    if (draft.from_first > 0) draft.from_first += count_code_points(what_);
  }

 private:
  std::string what_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(Draft& draft, MatchSpace& space) const override {
    // What replaces several characters stands where the last of them did.
    bool first = true;
    pattern_.for_each_match(draft.text, space, [&](std::size_t begin, std::size_t end) {
      if (!std::exchange(first, false) || begin > 0) return;
      const std::size_t replaced = count_code_points(std::string_view(draft.text).substr(0, end));
      if (content_.empty())
        draft.from_first -= std::min(draft.from_first, replaced);
      else
        draft.from_first = replaced <= draft.from_first ? count_code_points(content_) : 0;
    });
    draft.text = replaced(draft.text, pattern_, content_, space);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

/// What BERT's own tokenizer does before it cuts.
class BertNormalizer final : public Normalizer {
 public:
  BertNormalizer(bool clean, bool chinese, bool strip, bool lower)
      : clean_(clean), chinese_(chinese), strip_(strip), lower_(lower) {}

  void apply(Draft& draft, MatchSpace&) const override {
    if (clean_ || chinese_) space_out(draft);
    if (strip_) {
      change_form(draft, NormalForm::nfd);
      remove(mark_, draft);
    }
    if (lower_) draft.text = lowercase(draft.text);
  }

 private:
  void space_out(Draft& draft) const {
    const std::string_view text = draft.text;
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const std::uint32_t c = next_code_point(text, at);
      const std::string_view same = text.substr(begin, at - begin);
      if (clean_ && removed_.contains(c))
        draft.from_first -= begin == 0 && draft.from_first == 1;
      else if (clean_ && space_.contains(c))
        out.push_back(' ');
      else if (c >= 0x80 && chinese_ && ideograph_.contains(c))
        out.append(" ").append(same).append(" ");
      else
        out.append(same);
    }
    draft.text = std::move(out);
  }

  bool clean_, chinese_, strip_, lower_;
  const CodePointSet &removed_ = set_of(CodePointClass::bert_removed),
                     &space_ = set_of(CodePointClass::bert_space),
                     &ideograph_ = set_of(CodePointClass::bert_chinese),
                     &mark_ = set_of(CodePointClass::nonspacing_mark);
};

class SequenceNormalizer final : public Normalizer {
 public:
  explicit SequenceNormalizer(const std::vector<Component>& components) {
    for (const Component& c : components) all_.push_back(make_normalizer(c));
  }
  void apply(Draft& draft, MatchSpace& space) const override {
    for (const auto& normalizer : all_) normalizer->apply(draft, space);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> all_;
};

}  // namespace

Pattern make_pattern(const Component& c) {
  const nlohmann::json& pattern = c.value("pattern");
  const std::string place = c.place("pattern");
  if (pattern.is_object() && pattern.size() == 1 && pattern.begin()->is_string() &&
      !pattern.begin()->get_ref<const std::string&>().empty()) {
    if (pattern.begin().key() == "Regex") return Pattern::expression(*pattern.begin(), place);
    if (pattern.begin().key() == "String") return Pattern::literal(*pattern.begin(), place);
  }
  c.refuse("is neither {\"String\": text} nor {\"Regex\": expression}", "pattern");
}

std::string replaced(std::string_view text, const Pattern& pattern, const std::string& content,
                     MatchSpace& space) {
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  pattern.for_each_match(text, space, [&](std::size_t begin, std::size_t end) {
    out.append(text.substr(done, begin - done)).append(content);
    done = end;
  });
  return out.append(text.substr(done));
}

std::unique_ptr<Normalizer> make_normalizer(const Component& c) {
  const std::string& type = c.type();
  for (const auto& [name, form] :
       {std::pair("NFC", NormalForm::nfc), std::pair("NFD", NormalForm::nfd),
        std::pair("NFKC", NormalForm::nfkc), std::pair("NFKD", NormalForm::nfkd)})
    if (type == name) {
      c.allow({});
      return std::make_unique<InForm>(form);
    }
  if (type == "Lowercase") {
    c.allow({});
    return std::make_unique<Lowercase>();
  }
  if (type == "StripAccents") {
    c.allow({});
    return std::make_unique<StripAccents>();
  }
  if (type == "Strip") {
    c.allow({"strip_left", "strip_right"});
    return std::make_unique<StripNormalizer>(c.flag("strip_left", true),
                                             c.flag("strip_right", true));
  }
  if (type == "Prepend") {
    c.allow({"prepend"});
    return std::make_unique<Prepend>(c.text("prepend"));
  }
  if (type == "Replace") {
    c.allow({"pattern", "content"});
    return std::make_unique<ReplaceNormalizer>(make_pattern(c), c.text("content"));
  }
  if (type == "BertNormalizer") {
    c.allow({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    const bool lower = c.flag("lowercase", true);
    return std::make_unique<BertNormalizer>(c.flag("clean_text", true),
                                            c.flag("handle_chinese_chars", true),
                                            c.flag("strip_accents", lower), lower);
  }
  if (type == "Precompiled") return make_precompiled(c);
  if (type == "Sequence") {
    c.allow({"normalizers"});
    return std::make_unique<SequenceNormalizer>(c.parts("normalizers"));
  }
  c.refuse_type("normalizer", {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip",
                               "Prepend", "Replace", "BertNormalizer", "Precompiled", "Sequence"});
}

}  // namespace trainx::tokenizer

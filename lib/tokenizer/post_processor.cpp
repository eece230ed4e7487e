#include "tokenizer/post_processor.hpp"
#include "tokenizer/vocabulary.hpp"
#include "yaml/problems.hpp"

namespace trainx::tokenizer {
namespace {

constexpr std::int64_t most_types = 1 << 16;

/// ["[SEP]", 102]
std::int32_t special_id(const Component& c, const char* key) {
  const nlohmann::json& pair = c.value(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned() ||
      pair[1].get<std::uint64_t>() >= static_cast<std::uint64_t>(most_ids))
    c.refuse("is no [token, id]", key);
  return pair[1].get<std::int32_t>();
}

Ids ids_of_special(const Component& c, const std::string& name) {
  const Component all = c.part("special_tokens");
  if (!all.has(name.c_str()))
    c.refuse("has no token " + yaml::excerpt(name) + ", which the template names",
             "special_tokens");
  const nlohmann::json& entry = all.value(name.c_str());
  const auto ids = entry.is_object() ? entry.find("ids") : entry.end();
  Ids out;
  if (entry.is_object() && ids != entry.end() && ids->is_array())
    for (const auto& id : *ids)
      if (id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(most_ids))
        out.push_back(id.get<std::int32_t>());
  if (out.empty() || out.size() != ids->size())
    c.refuse("gives " + yaml::excerpt(name) + " no list of ids", "special_tokens");
  return out;
}

}  // namespace

PostProcessor::PostProcessor() : single_{{0, {}, 0}}, pair_{{0, {}, 0}, {1, {}, 1}} {}

PostProcessor::PostProcessor(const Component& component) : PostProcessor() { read(component); }

PostProcessor::Template PostProcessor::read_template(const Component& c, const char* key) {
  Template out;
  for (const Component& item : c.parts(key)) {
    if (item.json().size() != 1) item.refuse("is neither a Sequence nor a SpecialToken");
    const std::string kind = item.json().begin().key();
    const Component part = item.part(kind.c_str());
    part.allow({"id", "type_id"});
    const std::string id = part.text("id");
    Part p;
    p.type_id = static_cast<std::int32_t>(part.number("type_id", 0, 0, most_types));
    if (kind == "SpecialToken")
      p.ids = ids_of_special(c, id);
    else if (kind == "Sequence" && (id == "A" || id == "B"))
      p.text = id == "A" ? 0 : 1;
    else
      item.refuse("is neither a Sequence A or B nor a SpecialToken");
    out.push_back(std::move(p));
  }
  return out;
}

void PostProcessor::read(const Component& c) {
  const std::string& type = c.type();
  // it moves offsets alone
  if (type == "ByteLevel") return c.allow({"add_prefix_space", "trim_offsets", "use_regex"});
  if (type == "TemplateProcessing") {
    c.allow({"single", "pair", "special_tokens"});
    single_ = read_template(c, "single");
    pair_ = read_template(c, "pair");
    for (const Part& p : single_)
      if (p.text == 1) c.refuse("takes a second text", "single");
    return;
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    c.allow({"sep", "cls", "trim_offsets", "add_prefix_space"});
    const Ids sep{special_id(c, "sep")}, cls{special_id(c, "cls")};
    const bool bert = type == "BertProcessing";
    const std::int32_t second = bert ? 1 : 0;
    single_ = {{-1, cls, 0}, {0, {}, 0}, {-1, sep, 0}};
    pair_ = {{-1, cls, 0},
             {0, {}, 0},
             {-1, bert ? sep : Ids{sep[0], sep[0]}, 0},
             {1, {}, second},
             {-1, sep, second}};
    return;
  }
  if (type == "Sequence") {
    c.allow({"processors"});
    bool adds = false;
    for (const Component& part : c.parts("processors")) {
      if (part.type() != "ByteLevel" && std::exchange(adds, true))
        part.refuse("is a second post-processor that adds tokens, which trainx does not support");
      read(part);
    }
    return;
  }
  c.refuse_type("post-processor", {"TemplateProcessing", "BertProcessing", "RobertaProcessing",
                                   "ByteLevel", "Sequence"});
}

Ids PostProcessor::added() const {
  Ids out;
  for (const Template* t : {&single_, &pair_})
    for (const Part& part : *t) out.insert(out.end(), part.ids.begin(), part.ids.end());
  return out;
}

Encoding PostProcessor::apply(const Ids& first, const std::optional<Ids>& second,
                              bool special) const {
  Encoding out;
  for (const Part& part : second ? pair_ : single_) {
    if (part.text < 0 && !special) continue;
    const Ids& ids = part.text < 0 ? part.ids : part.text == 0 ? first : *second;
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.type_ids.insert(out.type_ids.end(), ids.size(), part.type_id);
  }
  return out;
}

}  // namespace trainx::tokenizer

#include "architectures/unwritten.hpp"
#include "architectures/families/seq2seq_family.hpp"

namespace trainx::architectures {

std::string unwritten_dropout(const ModelDims& dims) {
  const auto* d = std::get_if<Seq2SeqDims>(&dims);
  if (!d) return "";
  const Seq2SeqFamily* family = find_seq2seq_family(d->family);
  if (!family || family->dropouts.attention || d->attention_dropout == d->dropout) return "";
  const auto text = [](double rate) { return nlohmann::json(rate).dump(); };
  return "model.options.attention_dropout is " + text(d->attention_dropout) +
         ", for which the config.json of " + d->family + " has no key: checkpoints say " +
         family->dropouts.hidden + " " + text(d->dropout) +
         " alone; set it again to train from them";
}

}  // namespace trainx::architectures

#include "architectures/folder_config.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include <algorithm>
#include <iterator>

namespace trainx::architectures {

const std::vector<Seq2SeqFamily>& seq2seq_families() {
  static const std::vector<Seq2SeqFamily> all = [] {
    std::vector<Seq2SeqFamily> out;
    for (auto list : {t5_families, bart_families})
      std::ranges::move(list(), std::back_inserter(out));
    return out;
  }();
  return all;
}

const Seq2SeqFamily* find_seq2seq_family(std::string_view name) {
  return family_or_null(seq2seq_families(), name);
}

}  // namespace trainx::architectures

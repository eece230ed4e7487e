#pragma once
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/pending.hpp"
#include "checkpoint/shared_files.hpp"
#include "execute/ranks.hpp"
#include <cstdint>
#include <optional>

namespace trainx::state {

/// Writes checkpoint-<step> of what lies in shards: each rank its share of the tensors, rank 0 the
/// rest, and it alone renames the folder when all is on disk. All ranks make one, call write, or
/// gather and write_gathered, and then finish. Where any of them cannot write, all throw the same
/// UserError 74 from the constructor or finish, nothing is left of it and older checkpoints stay.
class SharedSave {
 public:
  /// `store`: rank 0's, null elsewhere. `contents`: the same in all calls.
  SharedSave(const execute::Ranks& ranks, checkpoint::Store* store, std::int64_t step,
             const checkpoint::Contents& contents);
  /// Writes this rank's share, tensor by tensor as the ranks gather them.
  void write(const checkpoint::Contents& contents);
  /// Instead: into memory now, to be written by write_gathered, on any thread.
  void gather(const checkpoint::Contents& contents);
  void write_gathered();
  /// Returns the folder.
  std::string finish(std::int64_t keep_last, bool is_best);

 private:
  const execute::Ranks& ranks_;
  checkpoint::Store* store_;
  std::optional<checkpoint::Pending> pending_;  // rank 0's
  std::string folder_;
  // config.json and the like, and indices: rank 0 writes them
  std::map<std::string, std::string> text_files_;
  checkpoint::Share share_;
  std::string outcome_;  // of writing, for the other ranks
};

}  // namespace trainx::state

// What is saved on disk: a folder checkpoint-<step>/ written aside, fsynced, renamed once; a
// manifest with sizes and XXH3 hashes. Torch-free.
#pragma once
#include "core/dtype.hpp"
#include "core/mapped_region.hpp"
#include <nlohmann/json_fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace trainx::checkpoint {

/// A tensor to be written: `fill` puts its elements, row-major, into the given bytes (called once,
/// while the file is written). `prepare` may be empty: of what ranks hold the parts of, called on
/// all of them before, in the same order.
struct TensorSource {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::function<void(std::span<std::byte>)> fill;
  std::function<void()> prepare;
};

/// A tensor found in a safetensors file; the bytes are mapped memory of the reader.
struct TensorEntry {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> data;
};

/// What becomes of tensors whose elements trainx does not read, as masks of BOOL.
enum class UnreadTensors { refused, listed };

/// Strict reader: header length and JSON, known dtypes, offsets contiguous, inside the file and of
/// the right size, no duplicates. Throws UserError 65 naming file, tensor and offset; 66 when
/// missing.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path,
                             UnreadTensors unread = UnreadTensors::refused);
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;
  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  /// By name, the type of each tensor that is not among tensors().
  const std::map<std::string, std::string>& unread() const { return unread_; }
  [[noreturn]] void refuse_unread(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string path_;
  MappedRegion file_;
  std::map<std::string, TensorEntry> tensors_;
  std::map<std::string, std::string> unread_, metadata_;
};

/// Writes and fsyncs; throws UserError 74 with errno's words (a full disk leaves no file behind).
void write_safetensors(const std::string& path, const std::vector<TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// What one checkpoint holds.
struct Contents {
  // "model.safetensors", "optimizer.safetensors"
  std::map<std::string, std::vector<TensorSource>> tensor_files;
  // "config.json", "trainer_state.json"
  std::map<std::string, std::string> text_files;
  // of the tensor files, where ranks write together, those that rank 0 writes alone: who reads them
  // knows no shards
  std::set<std::string> whole_files = {};
};

struct Found {
  std::string path;
  std::int64_t step = 0;
};
struct Skipped {
  std::string path;
  std::string why;
};

class Pending;

/// The checkpoints of one run's folder.
class Store {
 public:
  explicit Store(std::string run_folder);
  /// Writes checkpoint-<step> aside, verifies nothing is half-written, renames it once, points
  /// `latest` at it (and `best` where asked), then prunes to keep_last. On failure the unfinished
  /// folder is removed, older ones stay, and UserError 74 is thrown. Also removes leftovers of
  /// killed saves.
  std::string save(std::int64_t step, const Contents& contents, std::int64_t keep_last,
                   bool is_best);
  /// What is left to do of a save when all files are written.
  std::string finish(Pending& pending, std::int64_t keep_last, bool is_best);
  const std::string& folder() const { return folder_; }
  /// Newest checkpoint whose manifest verifies; those skipped are reported with the reason.
  /// Nothing: path empty.
  Found newest_valid(std::vector<Skipped>* skipped) const;
  /// Sorted by step; unfinished ones left out.
  std::vector<Found> list() const;
  /// Empty, or what is wrong: file missing, size, hash.
  std::string verify(const std::string& checkpoint_path) const;
  /// What a save that was killed between its renames left undone: points `latest` at `newest`, and
  /// `best` at the checkpoint of `best_step` if that is there; removes unfinished saves.
  void mend(const Found& newest, std::int64_t best_step) const;
  /// Removes all but the newest `keep_last` and `best`; returns what was removed.
  std::vector<std::string> prune(std::int64_t keep_last);

 private:
  std::string folder_;
};

}  // namespace trainx::checkpoint

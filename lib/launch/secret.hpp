// The secret of a run, by which its ranks know each other: 32 random bytes as hex digits, or what a
// file of the user's holds.
#pragma once
#include "comm/membership.hpp"
#include "launch/environment.hpp"
#include <optional>
#include <string>

namespace trainx::launch {

/// New random bytes.
std::string make_secret();

/// Of a regular file of this user that nobody else may read, with 32 to 4096 bytes. Throws
/// UserError 2, 65 or 66, none of which tells what is in it.
std::string read_secret(const std::string& path);

/// Of a file that the first process makes where there is none: all that ask, on all hosts that
/// share the folder, get one secret. Throws UserError 73, and what read_secret() throws.
std::string shared_secret(const std::string& path);

/// Of ranks that several launchers start: of the file that --secret-file names, else
/// TRAINX_SECRET_FILE, else of one beside the run's folder: outputs/.NAME.secret, or where Slurm,
/// MPI or torchrun start all ranks together, outputs/.NAME.START.secret, which serves this start
/// alone.
class LaunchersSecret {
 public:
  LaunchersSecret(const std::optional<std::string>& flag, const Environment& environment,
                  const std::string& run_folder, const comm::Membership& membership);
  /// Rank 0 removes the file of its start: all ranks have met, or have failed to.
  ~LaunchersSecret();
  LaunchersSecret(const LaunchersSecret&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string spent_;  // a file to remove; empty: none
  std::string text_;
};

}  // namespace trainx::launch

#include "launch/secret.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace trainx::launch {
namespace {

constexpr std::size_t secret_bytes = 32, most_secret_bytes = 4096;
constexpr std::size_t start_digits = 16;  // that tell the files of two starts apart
constexpr auto longest_meeting = std::chrono::minutes(10);

std::string hex_digits(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[b >> 4], text += "0123456789abcdef"[b & 15];
  }
  return text;
}

[[noreturn]] void refuse_secret(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::usage, "the secret file " + path + " " + what);
}

[[noreturn]] void cannot_make_secret(const std::string& path) {
  throw UserError(ExitCode::cannot_create,
                  "the secret file " + path + " cannot be made: " + errno_words(errno) +
                      "; make one on each host and name it with --secret-file");
}

std::string secret_in(const Descriptor& file, const std::string& path) {
  std::string bytes;
  std::array<char, most_secret_bytes + 1> piece{};
  for (ssize_t n = 1; n > 0 && bytes.size() <= most_secret_bytes;) {
    n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno != EINTR)
      throw UserError(ExitCode::io_error, path + " cannot be read: " + errno_words(errno));
    if (n > 0) bytes.append(piece.data(), static_cast<std::size_t>(n));
    if (n < 0) n = 1;
  }
  return bytes;
}

/// Makes the file unless it is there. It is written aside, so that nobody reads half of it.
void make_secret_file(const std::string& path) {
  std::string aside = path + ".XXXXXX";
  const Descriptor file(::mkostemp(aside.data(), O_CLOEXEC));  // mode 0600
  if (!file.is_open()) cannot_make_secret(path);
  const std::string text = make_secret() + "\n";
  const bool made = ::write(file.get(), text.data(), text.size()) == std::ssize(text) &&
                    ::fsync(file.get()) == 0 &&
                    (::link(aside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  ::unlink(aside.c_str());
  errno = error;
  if (!made) cannot_make_secret(path);
}

/// Another launcher starts all ranks at once, and again only when all have ended: what names the
/// run then names this one start.
bool starts_together(const Environment& environment, const comm::Membership& m) {
  return m.launcher == "slurm" || m.launcher == "mpi" ||
         (m.launcher == "torchrun" && !environment("TORCHELASTIC_RUN_ID").empty());
}

/// Files of starts whose rank 0 was killed: PREFIX.START.secret. Younger ones may be those of ranks
/// that still wait for each other.
void remove_old_secrets(const std::string& prefix) {
  namespace fs = std::filesystem;
  const std::string begin = fs::path(prefix).filename().string() + ".", end = ".secret";
  const auto now = fs::file_time_type::clock::now();
  std::error_code problem;  // of files that others remove
  for (fs::directory_iterator file(folder_of(prefix), problem), none; !problem && file != none;
       file.increment(problem)) {
    const std::string name = file->path().filename().string();
    std::error_code gone;
    const auto written = file->last_write_time(gone);
    if (!gone && name.size() == begin.size() + start_digits + end.size() &&
        name.starts_with(begin) && name.ends_with(end) && now - written > longest_meeting)
      fs::remove(file->path(), gone);
  }
}

}  // namespace

std::string make_secret() {
  std::string bytes(secret_bytes, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw InternalError("make_secret: no random bytes");
  return hex_digits(bytes);
}

std::string read_secret(const std::string& path) {
  const Descriptor file = open_regular_file(path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    throw UserError(ExitCode::io_error, path + " cannot be read: " + errno_words(errno));
  if (info.st_uid != ::geteuid())
    refuse_secret(path, "belongs to another user, who may know it; make one of your own");
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    refuse_secret(path, "may be read or written by other users; make a new one with mode 0600");
  const std::string bytes = secret_in(file, path);
  if (bytes.size() < secret_bytes || bytes.size() > most_secret_bytes)
    refuse_secret(
        path,
        "holds " +
            (bytes.size() > most_secret_bytes ? "more than " + std::to_string(most_secret_bytes)
                                              : std::to_string(bytes.size())) +
            " bytes, not 32 to 4096; make one with: (umask 077; openssl rand -hex 32 > "
            "FILE)");
  return hex_digits(bytes);
}

std::string shared_secret(const std::string& path) {
  make_folders(folder_of(path));
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) make_secret_file(path);
  return read_secret(path);
}

LaunchersSecret::LaunchersSecret(const std::optional<std::string>& flag,
                                 const Environment& environment, const std::string& run_folder,
                                 const comm::Membership& membership) {
  const std::string named = flag ? *flag : environment("TRAINX_SECRET_FILE");
  if (!named.empty()) {
    text_ = read_secret(named);
    return;
  }
  const std::filesystem::path run(run_folder);
  const std::string prefix = (run.parent_path() / ("." + run.filename().string())).string();
  if (!starts_together(environment, membership)) {
    text_ = shared_secret(prefix + ".secret");
    return;
  }
  const std::string path = prefix + "." + hash_hex(membership.run_id).substr(0, start_digits) +
                           ".secret";
  if (membership.rank == 0) {
    remove_old_secrets(prefix);
    spent_ = path;
  }
  text_ = shared_secret(path);
}

LaunchersSecret::~LaunchersSecret() {
  if (!spent_.empty()) ::unlink(spent_.c_str());
}

}  // namespace trainx::launch

#include "launch/secret.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace trainx::launch {
namespace {

constexpr std::size_t secret_bytes = 32, most_secret_bytes = 4096;

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

std::string secret_of_launchers(const std::optional<std::string>& flag,
                                const Environment& environment, const std::string& run_folder) {
  if (flag) return read_secret(*flag);
  if (const std::string named = environment("TRAINX_SECRET_FILE"); !named.empty())
    return read_secret(named);
  const std::filesystem::path folder(run_folder);
  return shared_secret(
      (folder.parent_path() / ("." + folder.filename().string() + ".secret")).string());
}

}  // namespace trainx::launch

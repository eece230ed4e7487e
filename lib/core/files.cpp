#include "core/files.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/file_writer.hpp"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

namespace trainx {
namespace {

[[noreturn]] void fail_reading(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES ||
                       error == ENAMETOOLONG || error == ELOOP;
  throw UserError(missing ? ExitCode::input_missing : ExitCode::io_error,
                  path + " cannot be read: " + errno_words(error));
}

}  // namespace

std::string errno_words(int error) { return std::generic_category().message(error); }

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void for_each_piece(const std::string& path,
                    const std::function<void(std::span<const std::byte>)>& use) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_reading(path, errno);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n == 0) return;
    if (n > 0) {
      use({piece.data(), static_cast<std::size_t>(n)});
    } else if (errno != EINTR) {
      fail_reading(path, errno);
    }
  }
}

std::string read_file(const std::string& path) {
  std::string contents;
  for_each_piece(path, [&](std::span<const std::byte> piece) {
    contents.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return contents;
}

void write_file_atomic(const std::string& path, std::string_view contents) {
  FileWriter writer(path);
  writer.write(std::as_bytes(std::span(contents)));
  writer.commit();
  fsync_folder(folder_of(path));
}

void fsync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems cannot fsync a folder (EINVAL): they order names themselves.
  if (folder.get() < 0 || (::fsync(folder.get()) != 0 && errno != EINVAL))
    throw UserError(ExitCode::io_error,
                    "folder " + path + " cannot be written to disk: " + errno_words(errno));
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw UserError(ExitCode::cannot_create,
                    "folder " + path + " cannot be made: " + errno_words(error.value()));
}

std::int64_t free_disk_bytes(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0)
    throw UserError(ExitCode::io_error,
                    "the free space below " + path + " cannot be read: " + errno_words(errno));
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

}  // namespace trainx

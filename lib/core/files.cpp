#include "core/files.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/file_writer.hpp"
#include "core/restarted.hpp"
#include "core/units.hpp"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
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

Descriptor open_regular_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe does not wait for a writer; regular files know nothing of it.
  Descriptor file(restarted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  struct stat info {};
  // ENXIO: a socket, or a device that is not there
  if (!file.is_open() && errno != ENXIO) fail_reading(path, errno);
  if (file.is_open() && ::fstat(file.get(), &info) != 0) fail_reading(path, errno);
  if (S_ISDIR(info.st_mode)) fail_reading(path, EISDIR);
  if (!S_ISREG(info.st_mode))
    throw UserError(ExitCode::bad_data, path + " is " +
                                            (S_ISFIFO(info.st_mode) ? "a pipe"
                                             : file.is_open()       ? "a device"
                                                                    : "a socket or a device") +
                                            ", not a regular file: copy its contents into one");
  return file;
}

void for_each_piece(const std::string& path,
                    const std::function<void(std::span<const std::byte>)>& use) {
  const Descriptor file = open_regular_file(path);
  // As large as the file, up to 1 MiB. Of some files the system does not say how large they are.
  struct stat info {};
  const std::int64_t said = ::fstat(file.get(), &info) == 0 ? info.st_size + 1 : 0;
  std::vector<std::byte> piece(static_cast<std::size_t>(
      std::clamp<std::int64_t>(said, std::int64_t{4} << 10, std::int64_t{1} << 20)));
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

std::string read_file(const std::string& path, std::int64_t most_bytes) {
  std::string contents;
  for_each_piece(path, [&](std::span<const std::byte> piece) {
    contents.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (std::ssize(contents) > most_bytes)
      throw UserError(ExitCode::bad_data, path + " has more than " + human_bytes(most_bytes) +
                                              ", the most that is read of such a file");
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
  const Descriptor folder(
      restarted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  // Some network file systems cannot fsync a folder (EINVAL): they order names themselves.
  if (folder.get() < 0 ||
      (restarted([&] { return ::fsync(folder.get()); }) != 0 && errno != EINVAL))
    throw UserError(ExitCode::io_error,
                    "folder " + path + " cannot be written to disk: " + errno_words(errno));
}

void make_folders(const std::string& path) {
  std::error_code error;
  do std::filesystem::create_directories(path, error);
  while (error == std::errc::interrupted);
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

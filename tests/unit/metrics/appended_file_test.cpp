#include "core/files.hpp"
#include "metrics/appended_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <filesystem>

namespace appended_file_test {

namespace {

using namespace trainx;
using metrics::AppendedFile;
namespace fs = std::filesystem;

TEST_CASE("a file that was removed, renamed or replaced is put back with all its pieces") {
  for (const auto& [kind, hurt] :
       std::initializer_list<std::pair<const char*, void (*)(const std::string&)>>{
           {"removed", [](const std::string& path) { fs::remove(path); }},
           {"renamed", [](const std::string& path) { fs::rename(path, path + ".away"); }},
           {"replaced", [](const std::string& path) { write_file_atomic(path, "another"); }},
           {"its folder removed",
            [](const std::string& path) { fs::remove_all(folder_of(path)); }}}) {
    INFO(kind);
    const TemporaryFolder folder;
    make_folders(folder / "run");
    const std::string path = folder / "run/lines";
    write_file_atomic(path, "one\ncut");
    AppendedFile file(path, 4);
    file.append("two\n");
    hurt(path);
    file.append("three\n");
    file.put_back_if_gone();
    file.append("four\n");
    CHECK(read_file(path) == "one\ntwo\nthree\nfour\n");
    CHECK(file.problem().empty());
  }
}

TEST_CASE("a file that is there stays the one that it was") {
  const TemporaryFolder folder;
  const std::string path = folder / "lines";
  AppendedFile file(path, 0);
  file.append("one\n");
  fs::create_hard_link(path, folder / "same");
  file.put_back_if_gone();
  file.append("two\n");
  file.sync();
  CHECK(read_file(folder / "same") == "one\ntwo\n");
}

}  // namespace

}  // namespace appended_file_test

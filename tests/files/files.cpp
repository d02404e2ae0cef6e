// Files: written atomically, and paths that cannot be written are reported before the work.
#include "base/storage/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "support/folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Files : public test::InFolder {
 protected:
  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  static std::string error_of(const std::function<void()>& what) {
    try {
      what();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::io);
      return e.what();
    }
    return "no error";
  }
};

TEST_F(Files, RoundTrip) {
  std::string bytes(100'000, 'x');
  bytes[77] = '\0';
  write_file(at("a"), bytes, false);
  EXPECT_EQ(read_file(at("a")), bytes);
  write_file(at("a"), "short", true);
  EXPECT_EQ(read_file(at("a")), "short");
  write_file(at("empty"), "", false);
  EXPECT_EQ(read_file(at("empty")), "");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, AReplacedFileCanKeepAnotherName) {
  for (const std::string generation : {"first", "second", "third"}) {
    AtomicFile file(at("a"), true);
    file.write(generation);
    file.commit(at("a.previous"));
  }
  EXPECT_EQ(read_file(at("a")), "third");
  EXPECT_EQ(read_file(at("a.previous")), "second");
  {
    AtomicFile file(at("a"), true);
    file.write("never finished");
  }
  EXPECT_EQ(read_file(at("a")), "third");
  EXPECT_EQ(entries(), 2u);
  remove_file(at("a"));
  remove_file(at("a"));  // gone already
  EXPECT_FALSE(file_exists(at("a")));
}

TEST_F(Files, AnExistingFileNeedsForce) {
  write_file(at("a"), "old", false);
  EXPECT_NE(error_of([&] { write_file(at("a"), "new", false); }).find("`overwrite=yes`"), std::string::npos);
  EXPECT_EQ(read_file(at("a")), "old");
}

TEST_F(Files, KeepsAFileThatAppearedMeanwhile) {
  AtomicFile ours(at("a"), false);
  ours.write("ours");
  write_file(at("a"), "theirs", false);
  EXPECT_NE(error_of([&] { ours.commit(); }), "no error");
  EXPECT_EQ(read_file(at("a")), "theirs");
}

TEST_F(Files, LeavesNothingWithoutCommit) {
  write_file(at("a"), "old", false);
  {
    AtomicFile file(at("a"), true);
    file.write("new");
  }
  EXPECT_EQ(read_file(at("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, KeepsPermissionsAndLinks) {
  write_file(at("a"), "old", false);
  fs::permissions(at("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", at("link"));
  write_file(at("link"), "new", true);
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("a")), "new");
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, ReportsUnwritableFilesEarly) {
  EXPECT_NE(error_of([&] { check_writable(at("no/where/a"), false); }).find("mkdir -p"), std::string::npos);
  EXPECT_NE(error_of([&] { check_writable(folder_.string(), true); }).find("is a directory"), std::string::npos);
  EXPECT_NE(error_of([&] { check_writable(at("b/"), true); }).find("directory"), std::string::npos);
  EXPECT_THROW(check_writable("", true), Error);
  EXPECT_EQ(entries(), 0u) << "asking leaves nothing";
  if (::geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(error_of([&] { check_writable(at("a"), false); }).find("cannot be written to"), std::string::npos);
  fs::permissions(folder_, fs::perms::owner_all);
}

// The check and the later write agree, and neither leaves files.
TEST_F(Files, CheckAndWriteAgree) {
  fs::create_symlink("nowhere/x", at("dangling"));
  fs::create_symlink("loop", at("loop"));
  write_file(at("file"), "old", false);
  fs::create_symlink("file", at("link"));
  fs::create_directory(at("folder"));
  const size_t before = entries();
  for (const std::string& name :
       {std::string("dangling"), std::string("loop"), std::string("folder"), std::string("file/x"),
        std::string("loop/x"), std::string("none/x"), std::string(256, 'n'), std::string(5000, 'n'),
        std::string("new/"), std::string("../../../../../../../../proc/x")})
    for (const bool overwrite : {false, true}) {
      const std::string asked = error_of([&] { check_writable(at(name), overwrite); });
      EXPECT_NE(asked, "no error") << name;
      EXPECT_EQ(asked, error_of([&] { write_file(at(name), "x", overwrite); })) << name;
    }
  EXPECT_EQ(entries(), before);
  for (const std::string& name : {std::string("new"), std::string("file"), std::string("link"), std::string(255, 'n'),
                                  std::string("folder/../new2")}) {
    check_writable(at(name), true);
    write_file(at(name), "x", true);
    write_file(at(name), "xy", true);
    EXPECT_EQ(read_file(at(name)), "xy");
  }
  EXPECT_EQ(entries(), before + 3);
  EXPECT_TRUE(fs::is_symlink(at("link")));
}

TEST_F(Files, WhatCannotBeReadIsSaid) {
  EXPECT_NE(error_of([&] { read_file(at("none")); }).find("spelling"), std::string::npos);
  EXPECT_NE(error_of([&] { read_file(folder_.string()); }).find("directory"), std::string::npos);
  write_file(at("a"), "12345", false);
  EXPECT_THROW(read_file(at("a"), 4), Error);
}

TEST_F(Files, DevicesAreWrittenStraight) {
  write_file("/dev/null", "gone", false);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_NE(error_of([&] { write_file("/dev/full", "x", false); }).find("space"), std::string::npos);
}

// A file size limit simulates a full disk. In a separate process, because the limit cannot be raised again.
TEST_F(Files, AFullDiskLeavesTheOldFile) {
  write_file(at("a"), "old", false);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    try {
      write_file(at("a"), std::string(100'000, 'x'), true);
    } catch (const Error& e) { ::_exit(e.code() == ErrorCode::io ? 7 : 8); }
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(read_file(at("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace tessera

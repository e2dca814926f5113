#include "common/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>

namespace base {
namespace {

class File : public testing::Test {
 protected:
  File() {
    std::string pattern = testing::TempDir() + "ladder_base_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~File() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ / name; }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.insert(entry.path().filename());
    return found;
  }

  std::filesystem::path folder_;
};

/// Runs something in a process of its own and expects that it ends well.
template <typename Body>
void in_a_process(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      code = body() ? 0 : 2;
    } catch (...) {}
    ::_exit(code);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(File, IsReplacedInOneStep) {
  write_file(file("a"), "old");
  {
    FileReplacement next(file("a"));
    next.write("ne");
    next.write("w");
    EXPECT_EQ(read_file(file("a")), "old");
    next.commit();
  }
  EXPECT_EQ(read_file(file("a")), "new");
  { FileReplacement(file("a")).write("given up"); }
  EXPECT_EQ(read_file(file("a")), "new");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(File, KeepsModeAndLinks) {
  write_file(file("target"), "");
  ASSERT_EQ(::chmod(file("target").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("target", file("link").c_str()), 0);
  write_file(file("link"), "x");
  update_file(file("link"), [](const std::string& content) { return content + "y"; });
  EXPECT_TRUE(std::filesystem::is_symlink(file("link")));
  struct stat status;
  ASSERT_EQ(::stat(file("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(read_file(file("target")), "xy");
}

/// A limit on the size of files stands in for a full disk.
TEST_F(File, StaysAsItWasWhenTheDiskIsFull) {
  write_file(file("a"), "old");
  in_a_process([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int failures = 0;
    try {
      write_file(file("a"), std::string(5000, 'x'));
    } catch (const FileError&) { ++failures; }
    try {
      update_file(file("a"), [](const std::string&) { return std::string(5000, 'x'); });
    } catch (const FileError&) { ++failures; }
    try {
      update_file(file("b"), [](const std::string&) { return std::string(5000, 'x'); });
    } catch (const FileError&) { ++failures; }
    return failures == 3;
  });
  EXPECT_EQ(read_file(file("a")), "old");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(File, WhatTheChangeThrowsLeavesNothingBehind) {
  EXPECT_THROW(update_file(file("new"), [](const std::string&) -> std::string { throw 1; }), int);
  write_file(file("old"), "");
  EXPECT_THROW(update_file(file("old"), [](const std::string&) -> std::string { throw 1; }), int);
  EXPECT_EQ(names(), std::set<std::string>{"old"});
}

TEST_F(File, UpdatesWaitForOneAnother) {
  constexpr int PROCESSES = 10, TIMES = 30;
  pid_t children[PROCESSES];
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    for (int i = 0; i < TIMES; ++i) update_file(file("sum"), [](const std::string& content) { return content + "x"; });
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_file(file("sum")).size(), std::size_t{PROCESSES * TIMES});
  EXPECT_EQ(names(), std::set<std::string>{"sum"});
}

TEST_F(File, ErrorsSayWhy) {
  const auto why = [](const std::string& path) {
    try {
      check_writable(path);
    } catch (const FileError& error) { return std::string(error.what()); }
    return std::string();
  };
  write_file(file("a"), "");
  EXPECT_EQ(why(file("a")), "");
  EXPECT_EQ(why(file("new")), "");
  EXPECT_EQ(why(file("missing/x")), "No such file or directory");
  EXPECT_EQ(why(file("a/x")), "Not a directory");
  EXPECT_EQ(why(folder_), "it is a directory");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
  EXPECT_EQ(read_file(file("new")), "");
  EXPECT_THROW(read_file(folder_), FileError);
}

TEST_F(File, StreamsAreWrittenTo) {
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_FALSE(is_stream(file("a")));
  EXPECT_THROW(write_file("/dev/full", "x"), FileError);
  const int open_file = ::open(file("a").c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string name = "/dev/fd/" + std::to_string(open_file);
  write_file(name, "1");
  ASSERT_EQ(::write(open_file, "2", 1), 1);
  write_file(name, "3");
  ::close(open_file);
  EXPECT_EQ(read_file(file("a")), "123");
}

TEST_F(File, SameFile) {
  EXPECT_TRUE(same_file(file("a"), file("./a")));  // not even there
  EXPECT_FALSE(same_file(file("a"), file("b")));
  write_file(file("a"), "");
  write_file(file("b"), "");
  ASSERT_EQ(::symlink("a", file("link").c_str()), 0);
  EXPECT_TRUE(same_file(file("a"), file("link")));
  EXPECT_FALSE(same_file(file("a"), file("b")));
}

}  // namespace
}  // namespace base

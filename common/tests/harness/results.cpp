#include "common/harness/results.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <sstream>

#include "common/harness/failure.h"
#include "common/harness/report.h"
#include "support.h"

namespace harness {
namespace {

using test::read_file;
using test::write_file;

const Record RECORD = {{"name", std::string("level, \"one\"")},
                       {"m", std::int64_t{4096}},
                       {"ratio", Number{0.98765432, 4}},
                       {"absent", Value()},
                       {"good", true},
                       {"broken", Number{NAN}}};
const std::string HEADER = "name,m,ratio,absent,good,broken";
const std::string ROW = "\"level, \"\"one\"\"\",4096,0.9877,,true,";

std::string refusal(const std::string& path, ResultFile::Format format = ResultFile::Format::csv) {
  try {
    ResultFile file(path, format, HEADER);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, EXIT_USAGE);
    EXPECT_NE(std::string(failure.what()).find(path), std::string::npos) << failure.what();
    return failure.what();
  }
  ADD_FAILURE() << path << " was accepted";
  return "";
}

TEST(Results, Csv) {
  EXPECT_EQ(csv_header(RECORD), HEADER);
  EXPECT_EQ(csv_row(RECORD), ROW);
}

TEST(Results, Json) {
  EXPECT_EQ(json_object(RECORD), R"({"name": "level, \"one\"", "m": 4096, "ratio": 0.9877, "good": true})");
  EXPECT_EQ(json_object({{"text", std::string("a\\b\nc\x01")}}), R"({"text": "a\\b\nc\u0001"})");
}

TEST(ResultFile, CsvGetsAHeaderOnceAndThenRows) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("new.csv");
  ResultFile first(path, ResultFile::Format::csv, HEADER);
  EXPECT_TRUE(folder.names().empty());  // checking leaves nothing behind
  first.add(RECORD);
  first.add(RECORD);
  ResultFile(path, ResultFile::Format::csv, HEADER).add(RECORD);
  EXPECT_EQ(read_file(path), HEADER + "\n" + ROW + "\n" + ROW + "\n" + ROW + "\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"new.csv"});
}

TEST(ResultFile, CsvKeepsWhatOthersWrote) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("shared.csv");
  write_file(path, HEADER + "\nearlier");  // without a newline at its end
  ResultFile(path, ResultFile::Format::csv, HEADER).add(RECORD);
  EXPECT_EQ(read_file(path), HEADER + "\nearlier\n" + ROW + "\n");
  write_file(path, "");
  ResultFile(path, ResultFile::Format::csv, HEADER).add(RECORD);
  EXPECT_EQ(read_file(path), HEADER + "\n" + ROW + "\n");
}

TEST(ResultFile, CsvWithOtherColumnsIsRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("other.csv");
  write_file(path, "name,m\nx,1\n");
  EXPECT_NE(refusal(path).find("other columns"), std::string::npos);
  EXPECT_EQ(read_file(path), "name,m\nx,1\n");
}

TEST(ResultFile, JsonKeepsWhatOthersWrote) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("results.jsonl");
  write_file(path, "{\"n\": 0}");
  ResultFile file(path, ResultFile::Format::json, HEADER);
  EXPECT_EQ(read_file(path), "{\"n\": 0}");
  file.add({{"n", std::int64_t{1}}});
  file.add({{"n", std::int64_t{2}}});
  EXPECT_EQ(read_file(path), "{\"n\": 0}\n{\"n\": 1}\n{\"n\": 2}\n");
}

TEST(ResultFile, JsonBesideSomethingElseIsRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("results.csv");
  write_file(path, "name,m\nx,1\n");
  EXPECT_NE(refusal(path, ResultFile::Format::json).find("something else than JSON"), std::string::npos);
  EXPECT_EQ(read_file(path), "name,m\nx,1\n");
}

TEST(ResultFile, ManyProcessesAddAtATime) {
  constexpr int PROCESSES = 12, ROWS = 20;
  const test::TemporaryFolder folder;
  for (const auto format : {ResultFile::Format::csv, ResultFile::Format::json}) {
    const std::string path = folder.file(format == ResultFile::Format::csv ? "all.csv" : "all.jsonl");
    std::vector<pid_t> children;
    for (int i = 0; i < PROCESSES; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      ResultFile file(path, format, "process,row");
      for (int row = 0; row < ROWS; ++row) file.add({{"process", std::int64_t{i}}, {"row", std::int64_t{row}}});
      ::_exit(0);
    }
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    std::istringstream text(read_file(path));
    std::multiset<std::string> lines, expected;
    for (std::string line; std::getline(text, line);) lines.insert(line);
    if (format == ResultFile::Format::csv) expected.insert("process,row");
    for (int i = 0; i < PROCESSES * ROWS; ++i) {
      const Record record = {{"process", std::int64_t{i / ROWS}}, {"row", std::int64_t{i % ROWS}}};
      expected.insert(format == ResultFile::Format::csv ? csv_row(record) : json_object(record));
    }
    EXPECT_EQ(lines, expected);
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"all.csv", "all.jsonl"}));
}

TEST(ResultFile, KeepsModeAndLinks) {
  const test::TemporaryFolder folder;
  const std::string target = folder.file("target"), link = folder.file("link");
  write_file(target, "");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  ASSERT_EQ(::symlink("target", link.c_str()), 0);
  ResultFile(link, ResultFile::Format::csv, HEADER).add(RECORD);
  struct stat status;
  ASSERT_EQ(::lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(::stat(target.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(read_file(target), HEADER + "\n" + ROW + "\n");
}

TEST(ResultFile, RefusesWhatCannotBeWritten) {
  const test::TemporaryFolder folder;
  write_file(folder.file("file"), "");
  EXPECT_NE(refusal(folder.file("missing/x.csv")).find("No such file or directory"), std::string::npos);
  EXPECT_NE(refusal(folder.file("file/x.csv")).find("Not a directory"), std::string::npos);
  EXPECT_NE(refusal(folder.file("")).find("directory"), std::string::npos);
  EXPECT_NE(refusal("/proc/x.json", ResultFile::Format::json).find("cannot be written"), std::string::npos);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

TEST(ResultFile, WritesToDevicesDirectly) {
  struct stat status;
  ResultFile(std::string("/dev/null"), ResultFile::Format::csv, HEADER).add(RECORD);
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  ResultFile full("/dev/full", ResultFile::Format::json, HEADER);
  EXPECT_THROW(full.add(RECORD), Failure);
}

TEST(ResultFile, AppendsToAnOpenFileBehindDev) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("out");
  std::FILE* open_file = std::fopen(path.c_str(), "w");
  ASSERT_NE(open_file, nullptr);
  ResultFile file("/dev/fd/" + std::to_string(::fileno(open_file)), ResultFile::Format::json, HEADER);
  std::fputs("before\n", open_file);
  std::fflush(open_file);
  file.add({{"n", std::int64_t{1}}});
  std::fputs("after\n", open_file);
  std::fclose(open_file);
  EXPECT_EQ(read_file(path), "before\n{\"n\": 1}\nafter\n");
}

TEST(Record, BeginsWithTheAgreedColumns) {
  const std::string header = csv_header(to_record(Result{}, Environment{}));
  EXPECT_TRUE(
      header.starts_with("level,arch,m,n,k,tflops,cublas_tflops,cublaslt_tflops,ratio_cublas,ratio_cublaslt,kind,gpu,"))
      << header;
}

TEST(Record, HasTheSameColumnsWhateverTheResult) {
  Result result;
  result.verdict.emplace();
  result.digest = 1;
  result.bench.emplace();
  result.bench->cublas.emplace();
  result.bench->cublaslt.emplace();
  Environment environment;
  environment.simulated = true;
  EXPECT_EQ(csv_header(to_record(result, environment)), csv_header(to_record(Result{}, Environment{})));
}

TEST(Record, EveryColumnIsInTheReadme) {
  const std::string readme = read_file(HARNESS_README);
  for (const auto& [name, value] : to_record(Result{}, Environment{})) {
    EXPECT_NE(readme.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace harness

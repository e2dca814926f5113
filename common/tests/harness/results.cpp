#include "common/harness/results.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(ResultFile, RefusesWhatCannotBeWritten) {
  const test::TemporaryFolder folder;
  write_file(folder.file("file"), "");
  EXPECT_NE(refusal(folder.file("missing/x.csv")).find("No such file or directory"), std::string::npos);
  EXPECT_NE(refusal(folder.file("file/x.csv")).find("Not a directory"), std::string::npos);
  EXPECT_NE(refusal(folder.file("")).find("directory"), std::string::npos);
  EXPECT_NE(refusal("/proc/x.json", ResultFile::Format::json).find("cannot be written"), std::string::npos);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
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

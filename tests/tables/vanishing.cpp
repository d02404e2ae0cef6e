// Files truncated while they are read: an error, never the end of the process.
#include <csignal>

#include "support.h"
#include "tables/csv/source.h"

namespace tessera::test {
namespace {

std::string long_text(int rows) {
  std::string text = "a,b\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + ",some words in row " + std::to_string(i % 17) + "\n";
  return text;
}

// The error of reading a file that is cut to `left` bytes at the progress event of that number.
Error cut_while_read(size_t left, int event) {
  const Folder folder;
  const std::string path = folder.write("t.csv", long_text(600'000));
  Team team(1);
  Monitor monitor;
  int seen = 0;
  monitor.on_progress = [&](const Progress&) {
    if (seen++ == event) std::filesystem::resize_file(path, left);
  };
  CsvOptions options;
  options.path = path;
  try {
    csv_read(options, team, monitor);
  } catch (const Error& e) { return e; }
  return Error(ErrorCode::internal, "(no error)");
}

TEST(Vanishing, AFileCutWhileItIsReadIsAnError) {
  for (const size_t left : {size_t{0}, size_t{1}, size_t{100'000}, size_t{1} << 20, size_t{15'000'001}})
    for (const int event : {0, 2})
      expect_parts(cut_while_read(left, event), ErrorCode::io, {"t.csv", "changed while it was read", "Try again"});
}

TEST(Vanishing, PagesThatAreGoneReadAsZerosAndAreNoticed) {
  const Folder folder;
  const std::string path = folder.write("t.csv", long_text(10'000));
  CsvSource source(path, Monitor{}), other(folder.write("u.csv", "a\n1\n"), Monitor{});
  source.check_whole();
  std::filesystem::resize_file(path, 5);
  int64_t sum = 0;
  for (const char* p = source.begin(); p < source.end(); ++p) sum += *p;
  EXPECT_EQ(sum, 'a' + ',' + 'b' + '\n' + '0');
  EXPECT_THROW(source.check_whole(), Error);
  EXPECT_EQ(*other.begin(), 'a');
  other.check_whole();
  const CsvSource emptied(folder.write("v.csv", "b\n1\n"), Monitor{});
  std::filesystem::resize_file(folder.path("v.csv"), 0);
  EXPECT_EQ(*emptied.begin(), 0) << "the first byte too";
  EXPECT_THROW(emptied.check_whole(), Error);
}

TEST(Vanishing, AFileThatGrowsIsReadAsItWas) {
  const Folder folder;
  const std::string path = folder.write("t.csv", "a\n1\n");
  const CsvSource source(path, Monitor{});
  std::ofstream(path, std::ios::app) << "2\n";
  source.check_whole();
  EXPECT_EQ(source.end() - source.begin(), 4);
}

// The handler is there while a file is mapped and no longer; a SIGBUS that is not ours ends where it would have ended.
TEST(Vanishing, TheHostsHandlerComesBack) {
  struct sigaction before {
  }, during{}, after{};
  ::sigaction(SIGBUS, nullptr, &before);
  const Folder folder;
  {
    const CsvSource source(folder.write("t.csv", "a\n1\n"), Monitor{});
    ::sigaction(SIGBUS, nullptr, &during);
  }
  ::sigaction(SIGBUS, nullptr, &after);
  EXPECT_NE(during.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace tessera::test

// Every file that a command writes, at every place where a file must not or cannot stand: refused before any work, with
// a way out, and no file that was there changes.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "cli/program.h"

namespace fs = std::filesystem;

namespace {

// A command that writes a file; the last word of its line is the name of that file.
struct Output {
  const char* what;
  Line line;
  const char* input;  // that it reads; null: none
  bool regular;       // a pipe or a device cannot be it
};
const Output kOutputs[] = {
    {"fit --model", "fit people.csv --epochs 1 --batch-size 50 --model", "people.csv", true},
    {"fit --log", "fit people.csv --epochs 1 --batch-size 50 --model new.tessera --log", "people.csv", false},
    {"sample --output", "sample m.tessera --rows 5 --output", "m.tessera", false},
    {"example", "example --rows 5", nullptr, false}};

class HostileFiles : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    model();
    write("old.txt", "somebody's");
    fs::create_directory(folder_ / "folder");
    fs::create_symlink("nowhere/x", folder_ / "dangling");
    fs::create_symlink("loop", folder_ / "loop");
    ::mkfifo((folder_ / "pipe").c_str(), 0600);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(s);
  }

  // The contents of the folder: kinds, inodes and bytes.
  std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> all;
    for (const std::string& name : files()) {
      struct stat about {};
      ::lstat((folder_ / name).c_str(), &about);
      all[name] = std::to_string(about.st_mode) + " " + std::to_string(about.st_ino) + " " +
                  (S_ISREG(about.st_mode)   ? read(name)
                   : S_ISLNK(about.st_mode) ? fs::read_symlink(folder_ / name).string()
                                            : "");
    }
    return all;
  }

  void refused(Line line, const Line& more, const std::string& path, int code = 4) {
    line.insert(line.end(), more.begin(), more.end());
    std::string words;
    for (const std::string& word : line) words += " " + word.substr(0, 80);
    SCOPED_TRACE(words);
    const auto before = snapshot();
    const Outcome o = run(line);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err.rfind("tessera: ", 0), 0u) << "no phase was begun: " << o.err;
    EXPECT_HAS(o.err, path);
    EXPECT_HAS(o.err, "\n  ") << "there is a way out";
    EXPECT_TRUE(snapshot() == before);
  }
  void refused_always(const Line& line, const std::string& path) {
    refused(line, {}, path);
    refused(line, "--force", path);
  }
};

Line with(const Output& output, const std::string& path) {
  Line line = output.line;
  line.push_back(path);
  return line;
}

TEST_F(HostileFiles, ReportsImpossibleOutputPaths) {
  const std::string places[] = {"dangling",
                                "loop",
                                "folder",
                                "folder/",
                                "new/",
                                "socket",
                                std::string(256, 'n'),
                                std::string(5000, 'n'),
                                "d/" + std::string(2500, '/') + std::string(2500, '.') + "/x",
                                "missing/x",
                                "missing/../x",
                                "old.txt/x",
                                "loop/x",
                                "/proc/x"};
  for (const Output& output : kOutputs)
    for (const std::string& place : places) refused_always(with(output, place), place);
}

TEST_F(HostileFiles, KeepsExistingFilesWithoutForce) {
  for (const Output& output : kOutputs) {
    refused(with(output, "old.txt"), {}, "old.txt");
    refused(with(output, "folder/../old.txt"), {}, "folder/../old.txt");
  }
}

TEST_F(HostileFiles, RejectsAnOutputThatIsAnInput) {
  for (const Output& output : kOutputs) {
    if (output.input == nullptr) continue;
    SCOPED_TRACE(output.what);
    fs::create_hard_link(folder_ / output.input, folder_ / "hard");
    fs::create_symlink(output.input, folder_ / "soft");
    fs::create_symlink("soft", folder_ / "softer");
    for (const std::string& path :
         {std::string(output.input), "./" + std::string(output.input), "folder/../" + std::string(output.input),
          std::string("hard"), std::string("soft"), std::string("softer"), (folder_ / output.input).string()})
      refused_always(with(output, path), path);
    for (const char* name : {"hard", "soft", "softer"}) fs::remove(folder_ / name);
  }
  refused_always("fit peo*.csv --model people.csv", "people.csv");
  fs::copy(folder_ / "people.csv", folder_ / "more.csv");
  refused_always("fit people.csv more.csv --model new --log more.csv", "more.csv");
  fs::create_hard_link(folder_ / "m.tessera", folder_ / "link.csv");
  refused_always("sample link.csv --rows 5 --output m.tessera", "link.csv");
  const std::string bytes = read("people.csv");
  EXPECT_NE(std::system(("cd " + folder_.string() + " && " + TESSERA_PROGRAM +
                         " fit - --model people.csv --force --quiet < people.csv 2> err")
                            .c_str()),
            0);
  EXPECT_HAS(read("err"), "the same file as the table");
  EXPECT_EQ(read("people.csv"), bytes);
}

// What a shell appends to goes by standard output.
TEST_F(HostileFiles, RejectsAnAppendedOutputThatIsAnInput) {
  for (const auto& [line, file] : {std::pair{"sample m.tessera --rows 5 --output -", "m.tessera"},
                                   std::pair{"sample m.tessera --given people.csv --output -", "people.csv"}}) {
    SCOPED_TRACE(line);
    const std::string bytes = read(file);
    const std::string command = std::string(TESSERA_PROGRAM) + " " + line + " >> " + file + " 2> err";
    EXPECT_NE(std::system(("cd " + folder_.string() + " && " + command).c_str()), 0);
    EXPECT_HAS(read("err"), "standard output: --output is the same file as");
    EXPECT_EQ(read(file), bytes);
  }
}

// The model's own files: its lock and the two generations of its checkpoint.
TEST_F(HostileFiles, RejectsEqualFilesOfOneFit) {
  const Line fit = "fit people.csv --epochs 1 --model new";
  for (const std::string log :
       {"new", "./new", "new.lock", "new.checkpoint", "folder/../new.checkpoint", "new.checkpoint.previous"})
    refused_always({"fit", "people.csv", "--epochs", "1", "--model", "new", "--log", log}, log);
  for (const std::string end : {".lock", ".checkpoint", ".checkpoint.previous"}) {
    fs::copy(folder_ / "people.csv", folder_ / ("new" + end));
    refused_always({"fit", "new" + end, "--epochs", "1", "--model", "new"}, "new" + end);
    fs::remove(folder_ / ("new" + end));
  }
}

TEST_F(HostileFiles, KeepsForeignFilesWithReservedNames) {
  const std::string model = read("m.tessera");
  const std::pair<const char*, std::function<void(const fs::path&)>> kinds[] = {
      {"a text", [](const fs::path& p) { std::ofstream(p) << "a,b\n1,2\n"; }},
      {"a number", [](const fs::path& p) { std::ofstream(p) << "4711\n"; }},
      {"a model", [&](const fs::path& p) { std::ofstream(p, std::ios::binary) << model; }},
      {"zeros", [](const fs::path& p) { std::ofstream(p, std::ios::binary) << std::string(100, '\0'); }},
      {"a folder", [](const fs::path& p) { fs::create_directory(p); }},
      {"a link", [](const fs::path& p) { fs::create_symlink("old.txt", p); }},
      {"a dangling link", [](const fs::path& p) { fs::create_symlink("nowhere/x", p); }},
      {"a pipe", [](const fs::path& p) { ::mkfifo(p.c_str(), 0600); }}};
  for (const std::string name : {"new.lock", "new.checkpoint", "new.checkpoint.previous"})
    for (const auto& [kind, make] : kinds) {
      SCOPED_TRACE(kind);
      make(folder_ / name);
      const Line fit = "fit people.csv --epochs 1 --batch-size 50 --model new";
      refused_always(fit, name);
      refused(fit, "--resume", name);
      fs::remove(folder_ / name);
    }
  // Losing an empty file harms nobody; an existing one stays.
  for (const std::string name : {"new.lock", "new.checkpoint"}) write(name, "");
  must("fit people.csv --epochs 1 --batch-size 50 --model new --force");
  EXPECT_TRUE(exists("new.lock"));
  EXPECT_EQ(read("new.lock"), "");
}

TEST_F(HostileFiles, AcceptsPipesAndDevices) {
  for (const char* place : {"pipe", "/dev/full", "/dev/null"}) refused_always(with(kOutputs[0], place), place);
  for (const Output& output : kOutputs) {
    if (output.regular) continue;
    const Outcome full = run(with(output, "/dev/full"));
    EXPECT_EQ(full.code, 4);
    EXPECT_HAS(full.err, "/dev/full");
    fs::remove(folder_ / "new.tessera");
    must(with(output, "/dev/null"));
    fs::remove(folder_ / "new.tessera");
  }
}

// Up to 255 bytes are a name; beside a model stand files of longer names than its own.
TEST_F(HostileFiles, ReportsNamesThatAreTooLong) {
  for (const Output& output : kOutputs)
    for (const size_t length : {size_t{230}, size_t{250}, size_t{255}}) {
      const std::string name(length, 'n');
      if (output.regular && length > 230) {
        refused_always(with(output, name), name);
        continue;
      }
      must(with(output, name));
      Line again = with(output, name);
      again.push_back("--force");
      must(again);
      EXPECT_GT(read(name).size(), 0u);
      fs::remove(folder_ / name), fs::remove(folder_ / "new.tessera");
    }
}

TEST_F(HostileFiles, WorksWithoutATemporaryFolder) {
  const std::string line = "cd " + folder_.string() + " && ulimit -f 8; trap '' XFSZ; TMPDIR=/nonexistent " +
                           TESSERA_PROGRAM + " fit people.csv --epochs 1 --batch-size 50 --model new --quiet 2> err";
  EXPECT_EQ(WEXITSTATUS(std::system(("bash -c \"" + line + "\"").c_str())), 4);
  EXPECT_HAS(read("err"), "allowed size");
  EXPECT_FALSE(exists("new"));
}

TEST_F(HostileFiles, FirstLineReplacesAnOldLog) {
  write("t.csv", "a,b\n1\n");
  const Outcome o = run("fit t.csv --model new --log old.txt --force");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(read("old.txt"), "somebody's");
  must("fit people.csv --epochs 1 --batch-size 50 --model new --log old.txt --force");
  EXPECT_EQ(read("old.txt").rfind("step,", 0), 0u);
}

// The number of a closed stream is the next that the system gives to a file.
TEST_F(HostileFiles, ClosedStreamsReceiveNoFile) {
  const std::string fit =
      std::string(TESSERA_PROGRAM) + " fit people.csv --epochs 1 --batch-size 50 --model new --log log --json ";
  for (const char* closed : {">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    const int code =
        WEXITSTATUS(std::system(("cd " + folder_.string() + " && exec > out 2> err; " + fit + closed).c_str()));
    EXPECT_EQ(code, has(closed, " >&-") || closed[0] == '>' ? 4 : 0);
    EXPECT_EQ(read("log").rfind("step,", 0), 0u);
    EXPECT_FALSE(has(read("log"), "{")) << read("log");
    must("inspect new");
    fs::remove(folder_ / "new"), fs::remove(folder_ / "log");
  }
}

TEST_F(HostileFiles, ReportsAnUnwritableStandardOutput) {
  for (const char* line :
       {"--version", "--help", "fit --help", "info", "inspect people.csv", "inspect people.csv --json",
        "inspect m.tessera", "plan people.csv", "sample m.tessera --rows 5 --output -", "example - --rows 5"})
    for (const char* where : {"> /dev/full", ">&-"}) {
      const std::string command =
          "cd " + folder_.string() + " && " + TESSERA_PROGRAM + " " + line + " " + where + " 2> err";
      EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 4) << line << where << read("err");
      EXPECT_HAS(read("err"), "tandard output");
    }
}

}  // namespace

// Runs the program as a user would, in its own folder.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/folder.h"

using Json = nlohmann::json;

// A command line as one types it, "fit t.csv --epochs 1", or word by word where a word holds a space. + appends.
struct Line : std::vector<std::string> {
  using vector::vector;
  Line(const std::vector<std::string>& words) : vector(words) {}
  Line(const std::string& text) {
    std::istringstream in(text);
    for (std::string word; in >> word;) push_back(word);
  }
  Line(const char* text) : Line(std::string(text)) {}
  friend Line operator+(Line line, const Line& more) {
    line.insert(line.end(), more.begin(), more.end());
    return line;
  }
};

struct Outcome {
  int code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
};

// A program that was started and not yet waited for.
class Running {
 public:
  Running(const std::filesystem::path& folder, const Line& arguments, const std::string& input);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void signal(int number) const;
  // Waits until standard error holds `text` or the program has ended.
  bool wait_for_error_text(const std::string& text) const;
  Outcome wait();

 private:
  std::filesystem::path out_, err_, in_;
  pid_t process_ = -1;
};

using tessera::test::read_bytes;

class Cli : public tessera::test::InFolder {
 protected:
  Outcome run(const Line& arguments, const std::string& input = "") {
    return Running(folder_, arguments, input).wait();
  }
  // The same, expected to succeed.
  Outcome must(const Line& arguments, const std::string& input = "");
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  // Everything in the folder, sorted, but what this helper itself keeps there.
  std::vector<std::string> files() const;
  // people.csv of the example, and a model of it after one pass.
  void example(int rows = 300);
  void model();
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
#define EXPECT_HAS(text, part) EXPECT_PRED2(has, std::string(text), std::string(part))

inline int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

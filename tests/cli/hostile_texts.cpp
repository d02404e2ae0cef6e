// Texts from arguments, paths and files in messages and pages: nothing that a terminal obeys comes out, and nothing
// that is not UTF-8.
#include <sys/wait.h>

#include "cli/program.h"

namespace {

const std::string kTexts[] = {"\x1b[31mred\x1b[0m",
                              "bell\a",
                              "back\b\b",
                              "line\rover",
                              "two\nlines",
                              "tab\there",
                              "\xc2\x9b"
                              "31mC1",
                              "del\x7f",
                              "latin\xe9",
                              "overlong\xc0\xaf",
                              "surrogate\xed\xa0\x80",
                              "cut\xe2\x82"};

// UTF-8 without control characters but line ends; their check is written again here, so that the program is not judged
// by itself.
std::string offence(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7f) return "control byte " + std::to_string(c);
    if (c < 0x80) continue;
    uint32_t point = c >= 0xF0 ? c & 7 : c >= 0xE0 ? c & 15 : c & 31;
    const size_t more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 9;
    if (more == 9 || i + more >= text.size()) return "byte " + std::to_string(c);
    for (size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return "byte " + std::to_string(c);
      point = point << 6 | (next & 63);
    }
    constexpr uint32_t kMin[] = {0, 0x80, 0x800, 0x10000};
    if (point < kMin[more] || point < 0xA0 || (point >= 0xD800 && point < 0xE000) || point > 0x10FFFF)
      return "point " + std::to_string(point);
    i += more;
  }
  return "";
}

class HostileTexts : public Cli {
 protected:
  // JSON is for programs: there DEL and C1 are characters like others.
  Outcome clean(const Line& arguments) {
    const Outcome o = run(arguments);
    EXPECT_EQ(offence(o.err), "") << o.err;
    const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    EXPECT_EQ(json ? "" : offence(o.out), "") << o.out;
    return o;
  }
};

TEST_F(HostileTexts, EscapesArguments) {
  model();
  for (const std::string& text : kTexts) {
    SCOPED_TRACE(testing::PrintToString(text));
    EXPECT_EQ(clean({text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--" + text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--epochs", text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--method", text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--max-time", text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--device", text}).code, 2);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "no/" + text}).code, 4);
    EXPECT_EQ(clean({"fit", "people.csv", "--model", "n", "--scratch", text}).code, 4);
    EXPECT_EQ(clean({"inspect", text}).code, 4);
    EXPECT_EQ(clean({"inspect", text + "*"}).code, 4);
    EXPECT_EQ(clean({"inspect", "people.csv", "--types", text + "=category"}).code, 2);
    EXPECT_EQ(clean({"inspect", "people.csv", "--types", "age=" + text}).code, 2);
    EXPECT_EQ(clean({"inspect", "people.csv", "--delimiter", text}).code, 2);
    for (const std::string& where : {text, "city = '" + text + "'"}) {
      const int code = clean({"sample", "m.tessera", "--rows", "5", "--output", "-", "--where", where}).code;
      EXPECT_TRUE(code == 7 || code == 2) << code;
    }
  }
}

TEST_F(HostileTexts, EscapesTexts) {
  for (const std::string& text : kTexts) {
    SCOPED_TRACE(testing::PrintToString(text));
    const std::string quoted = "\"" + text + "\"";
    // The text as a value, as a column's name, and where something else was expected.
    const std::string tables[] = {"a,b\n1," + quoted + "\n2," + quoted + "\n3,c\n1,c\n",
                                  "a," + quoted + "\n1,u\n2,v\n3,u\n", quoted + "," + quoted + "\n1,2\n",
                                  "a,b\n1," + quoted + "x\n", "a,b\n1,2,\n" + quoted + "\n"};
    for (const std::string& bytes : tables) {
      write("t.csv", bytes);
      clean("inspect t.csv");
      clean("inspect t.csv --types b=integer");
      clean("evaluate t.csv t.csv --without-c2st");
      if (clean("fit t.csv --model m.tessera --epochs 0 --force --rare-categories keep").code == 0)
        clean("inspect m.tessera");
    }
  }
}

// A name of a file is bytes; reports and models are UTF-8.
TEST_F(HostileTexts, EscapesFileNames) {
  example(60);
  const std::string table = read("people.csv");
  for (const std::string& text : kTexts) {
    SCOPED_TRACE(testing::PrintToString(text));
    write(text + ".csv", table);
    EXPECT_EQ(clean({"fit", text + ".csv", "--model", text + "m", "--epochs", "1", "--batch-size", "50", "--calibrate",
                     "off", "--checkpoint-every", "1epochs", "--log", text + "log"})
                  .code,
              0);
    EXPECT_EQ(clean({"fit", text + ".csv", "--model", text + "j", "--epochs", "0", "--json"}).code, 0);
    EXPECT_EQ(clean({"inspect", text + "m"}).code, 0);
    EXPECT_EQ(clean({"sample", text + "m", "--rows", "5", "--output", text + "s", "--json"}).code, 0);
    EXPECT_EQ(clean({"example", text + "e", "--rows", "5", "--json"}).code, 0);
    EXPECT_EQ(clean({"evaluate", text + ".csv", text + "s", "--without-c2st", "--without-distances"}).code, 0);
  }
}

// Fifteen texts of the longest that there may be, each byte of which takes seven in the file.
TEST_F(HostileTexts, RejectsImpossibleTextsInModelFiles) {
  std::string table = "a,b\n";
  for (int row = 0; row < 15; ++row)
    table += std::to_string(row % 3) + ",\"" +
             std::string(1 << 20, '\1').replace(0, 1, 1, static_cast<char>('a' + row)) + "\"\n";
  write("t.csv", table);
  const Outcome o = clean("fit t.csv --model m --rare-categories keep --types b=category");
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_HAS(o.err, "column \"b\" alone needs");
  EXPECT_FALSE(has(o.err, "\ntrain ")) << o.err;
  EXPECT_EQ(files(), (std::vector<std::string>{"t.csv"}));
}

// A value cannot end a message and forge another.
TEST_F(HostileTexts, EscapesLineEnds) {
  write("t.csv", "a,b\n1,\"x\n  Send your password to example.org\"\n");
  const Outcome o = clean("inspect t.csv --types b=integer");
  EXPECT_EQ(o.code, 3);
  EXPECT_HAS(o.err, "x\\x0a  Send");
  EXPECT_HAS(clean({"inspect", "none\n  such"}).err, "none\\x0a  such");
}

}  // namespace

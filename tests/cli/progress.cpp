// What a person sees while waiting.
#include "terminal/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "terminal/text.h"

namespace {

struct Screen {
  double now = 100;
  int columns = 120;
  std::string written;
  ProgressPrinter printer;
  explicit Screen(ProgressPrinter::Style style)
      : printer(
            style, [this](const std::string& s) { written += s; }, [this] { return now; }, [this] { return columns; }) {
  }
  void at(double second, const char* phase, double done, double total, bool finished = false) {
    now = 100 + second;
    const tessera_progress event{sizeof event, phase, done, total, "epochs", "critic −0.41", finished ? 1 : 0};
    printer.update(event);
  }
  bool shows(const std::string& part) const { return written.find(part) != std::string::npos; }
};

TEST(Progress, RedrawsABarWithRateAndTimeLeft) {
  Screen s(ProgressPrinter::Style::bar);
  s.at(0, "train", 0, 300);
  s.at(10, "train", 100, 300);
  EXPECT_TRUE(s.shows("\r"));
  EXPECT_TRUE(s.shows("100/300 epochs"));
  EXPECT_TRUE(s.shows("10 epochs/s"));
  EXPECT_TRUE(s.shows("critic −0.41"));
  EXPECT_TRUE(s.shows("20 s left"));
  EXPECT_FALSE(s.shows("\n"));
  s.at(30, "train", 300, 300, true);
  EXPECT_EQ(std::count(s.written.begin(), s.written.end(), '\n'), 1) << "one line stays";
  EXPECT_EQ(s.written.back(), '\n');
}

TEST(Progress, MeasuresTheRateOfAResumedRun) {
  for (const auto style : {ProgressPrinter::Style::bar, ProgressPrinter::Style::lines}) {
    Screen s(style);
    s.at(2, "train", 201, 300);
    EXPECT_FALSE(s.shows("epochs/s")) << "nothing is known yet";
    s.at(22, "train", 221, 300);
    EXPECT_TRUE(s.shows("221/300 epochs  1 epoch/s")) << s.written;
    EXPECT_TRUE(s.shows("1:19 left")) << s.written;
  }
}

TEST(Progress, PrintsNoticesAboveTheBar) {
  Screen s(ProgressPrinter::Style::bar);
  s.at(0, "train", 0, 300);
  s.at(10, "train", 100, 300);
  s.written.clear();
  s.at(11, "notice", 0, 0, true);
  EXPECT_EQ(s.written, "\r\x1b[Knotice        critic −0.41\n");
  s.at(30, "train", 300, 300, true);
  EXPECT_TRUE(s.shows(" 30 s\n")) << "the time is that of the whole phase";
  Screen quiet(ProgressPrinter::Style::none);
  quiet.at(0, "notice", 0, 0, true);
  EXPECT_EQ(quiet.written, "");
}

TEST(Progress, BarStaysOnItsLine) {
  for (int columns : {5, 20, 40, 80, 200}) {
    Screen s(ProgressPrinter::Style::bar);
    s.columns = columns;
    s.at(0, "train", 0, 300);
    s.written.clear();
    s.at(10, "train", 100, 300);
    const std::string line = s.written.substr(1, s.written.find('\x1b') - 1);
    EXPECT_LT(text::width(line), columns) << line;
  }
}

TEST(Progress, LogsALineEveryFewSeconds) {
  Screen s(ProgressPrinter::Style::lines);
  for (int i = 0; i <= 600; ++i) s.at(i / 10.0, "train", i / 10.0, 60, i == 600);
  const auto lines = std::count(s.written.begin(), s.written.end(), '\n');
  EXPECT_GE(lines, 8);
  EXPECT_LE(lines, 14);
  EXPECT_FALSE(s.shows("\r"));
  EXPECT_FALSE(s.shows("\x1b"));
}

TEST(Progress, PrintsAShortPhaseAsOneLine) {
  Screen s(ProgressPrinter::Style::lines);
  s.at(0, "encode", 0, 5);
  s.at(0.02, "encode", 5, 5, true);
  s.at(0.03, "train", 1, 5);
  s.printer.line("saved", "m.tessera");
  EXPECT_EQ(std::count(s.written.begin(), s.written.end(), '\n'), 3) << s.written;
}

TEST(Progress, PhaseTimeStartsAtTheEndOfThePreviousPhase) {
  Screen s(ProgressPrinter::Style::lines);
  s.at(2, "read", 5, 5, true);
  s.at(5, "types", 5, 5, true);
  EXPECT_TRUE(s.shows("2.00 s")) << s.written;
  EXPECT_TRUE(s.shows("3.00 s")) << s.written;
}

TEST(Progress, ShowsThatItWorksWhereNothingIsReported) {
  for (const auto style : {ProgressPrinter::Style::bar, ProgressPrinter::Style::lines}) {
    Screen s(style);
    const auto beat = [&](double second) {
      s.written.clear(), s.now = 100 + second;
      s.printer.beat();
      return s.written;
    };
    EXPECT_EQ(beat(2), "");
    s.at(2, "encode", 5, 5, true);
    EXPECT_EQ(beat(4), "") << "something was written two seconds ago";
    beat(6);
    EXPECT_TRUE(s.shows("working       4 s since encode")) << s.written;
    s.at(7, "train", 1, 300);
    beat(12);
    EXPECT_TRUE(s.shows("train         10 s so far")) << s.written;
    EXPECT_EQ(beat(16).empty(), style == ProgressPrinter::Style::lines) << "a log is not filled";
    s.at(20, "train", 300, 300, true);
    EXPECT_TRUE(s.shows("300 epochs")) << s.written;
  }
  Screen quiet(ProgressPrinter::Style::none);
  quiet.now = 200;
  quiet.printer.beat();
  EXPECT_EQ(quiet.written, "");
}

TEST(Progress, QuietAndIgnoredPhasesPrintNothing) {
  Screen quiet(ProgressPrinter::Style::none);
  quiet.at(0, "train", 0, 5);
  quiet.at(9, "train", 5, 5, true);
  quiet.printer.line("saved", "x");
  EXPECT_EQ(quiet.written, "");
  Screen s(ProgressPrinter::Style::lines);
  s.printer.ignore("write");
  s.at(0, "sample", 1, 9);
  s.at(1, "write", 1, 0);
  s.at(2, "sample", 9, 9, true);
  EXPECT_EQ(std::count(s.written.begin(), s.written.end(), '\n'), 1) << s.written;
}

TEST(Text, FormatsNumbersForPeople) {
  EXPECT_EQ(text::count(0), "0");
  EXPECT_EQ(text::count(999), "999");
  EXPECT_EQ(text::count(1000), "1,000");
  EXPECT_EQ(text::count(-1234567), "-1,234,567");
  EXPECT_EQ(text::count(-100), "-100");
  EXPECT_EQ(text::bytes(999), "999 bytes");
  EXPECT_EQ(text::bytes(4300000), "4.3 MB");
  EXPECT_EQ(text::duration(62), "1:02");
  EXPECT_EQ(text::duration(3723), "1:02:03");
  EXPECT_EQ(text::duration(0.016), "0.02 s");
  EXPECT_EQ(text::percent(0.9213), "92.1 %");
  EXPECT_EQ(text::percent(-1e-16), "0.0 %");
  EXPECT_EQ(text::percent(-0.0004, 2), "-0.04 %");
  EXPECT_EQ(text::counted(1, "rows"), "1 row");
  EXPECT_EQ(text::counted(2000, "rows"), "2,000 rows");
  EXPECT_EQ(text::counted(1, "categories"), "1 category");
}

TEST(Text, EscapesControlCharacters) {
  EXPECT_EQ(text::clip("a\x1b[2Jb\nc", 40), "a\\x1b[2Jb\\x0ac");
  EXPECT_EQ(text::clip("ünïcödé", 4), "ünï…");
  EXPECT_EQ(text::clip("four", 4), "four");
  text::Table t({{"ä", text::Table::Side::left}, {"n", text::Table::Side::right}});
  t.add({"öö", "1"});
  t.add({"x", "22"});
  EXPECT_EQ(t.str(0), "ä    n\nöö   1\nx   22\n");
}

}  // namespace

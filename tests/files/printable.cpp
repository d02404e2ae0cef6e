// What messages show of texts that strangers wrote.
#include <gtest/gtest.h>

#include "base/text/printable.h"

namespace tessera {
namespace {

TEST(Printable, ControlsAndBrokenUtf8AreEscaped) {
  EXPECT_EQ(printable("plain, ünïcödé \xF0\x9F\x98\x80 \"\\\""), "plain, ünïcödé \xF0\x9F\x98\x80 \"\\\"");
  EXPECT_EQ(printable("\x1b[2J\a\r\n\t\x7f"), "\\x1b[2J\\x07\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B\xC2\xA0"), "\\xc2\\x9b\xC2\xA0");
  EXPECT_EQ(printable("\xE9t\xC0\xAF\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82"),
            "\\xe9t\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82");
  for (int c = 0; c < 0x20; ++c) EXPECT_EQ(printable(std::string(1, static_cast<char>(c))).size(), 4u) << c;
}

// Names of Hebrew or Arabic have their direction themselves; a mark that turns it makes "gpj.exe" of "exe.jpg".
TEST(Printable, MarksOfDirectionAreEscaped) {
  for (const char* mark : {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202E", "\u2066", "\u2069"})
    EXPECT_EQ(printable(mark).substr(0, 2), "\\x") << mark;
  const std::string kept = "\u05D0\u0627\u200C\u200D\u2027\u202F\u2065\u206A";
  EXPECT_EQ(printable(kept), kept);
}

TEST(Printable, AMessageKeepsItsOwnLines) {
  EXPECT_EQ(printable_message("a\x1b: b\nforged\n  A way out."), "a\\x1b: b\\x0aforged\n  A way out.");
}

}  // namespace
}  // namespace tessera

// What messages show of texts that strangers wrote.
#include <gtest/gtest.h>

#include "engine/text/printable.h"

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

TEST(Printable, AMessageKeepsItsOwnLines) {
  EXPECT_EQ(printable_message("a\x1b: b\nforged\n  A way out."), "a\\x1b: b\\x0aforged\n  A way out.");
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: BSL-1.0
#include <ration/text.hpp>

#include "support/catch.hpp"

using ration::text;

TEST_CASE("text: holds what fits and marks what it cut", "[text]") {
    CHECK(text<5>("") == "");
    CHECK(text<5>().empty());
    CHECK(text<5>("abcd") == "abcd");
    CHECK(text<5>("abcde") == "abcde");
    CHECK(text<5>("abcdef") == "abcd~");
    CHECK(text<1>("ab") == "~");
    CHECK_FALSE(text<5>("a").empty());
}

TEST_CASE("text: appends up to its capacity and stays cut", "[text]") {
    text<6> t("abc");
    t.append("de").append("f");
    CHECK(t == "abcdef");
    t.append("");
    CHECK(t == "abcdef");
    t.append("g");
    CHECK(t == "abcde~");
    t.append("h");
    CHECK(t == "abcde~");
}

TEST_CASE("text: ends in a zero byte wherever it ends", "[text]") {
    text<4> t("ab");
    CHECK(std::string_view(t.c_str()) == "ab");
    t.append("cdef");
    CHECK(std::string_view(t.c_str()) == "abc~");
    CHECK(t.view().size() == 4);
}

TEST_CASE("text: keeps characters that are not letters", "[text]") {
    using namespace std::string_view_literals;
    CHECK(text<8>("a\0b"sv).view() == "a\0b"sv);
    CHECK(text<8>("\xc3\xa4").view() == "\xc3\xa4");
}

TEST_CASE("text: texts compare by what they hold", "[text]") {
    CHECK(text<8>("same") == text<8>(std::string_view("same")));
    CHECK_FALSE(text<8>("same") == text<8>("sane"));
    CHECK_FALSE(text<8>("same") == "same!");
    text<8> longer("longer");
    longer = text<8>("lo");
    CHECK(longer == "lo");
    CHECK(longer == text<8>("lo"));
}

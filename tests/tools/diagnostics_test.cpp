// SPDX-License-Identifier: BSL-1.0

#include "common/diagnostics.hpp"

#include <algorithm>
#include <iomanip>  // std::quoted: newer standard libraries declare it wherever <filesystem> is included

#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "support/catch.hpp"

using namespace ration::program;
using ration::diagnostic;

TEST_CASE("to_text: a diagnostic names what is known of file, line and column") {
    CHECK(to_text(diagnostic{"jobs.toml", 12, 9, "wrong; mend it"}) == "jobs.toml:12:9: wrong; mend it");
    CHECK(to_text(diagnostic{"jobs.csv", 12, 0, "wrong; mend it"}) == "jobs.csv:12: wrong; mend it");
    CHECK(to_text(diagnostic{"jobs.toml", 0, 0, "wrong; mend it"}) == "jobs.toml: wrong; mend it");
    CHECK(to_text(diagnostic{.text = "wrong; mend it"}) == "wrong; mend it");
    CHECK(to_text(in_file("--set", diagnostic{.text = "wrong"})) == "--set: wrong");
    CHECK(to_text(at_line("run.jsonl", 3, diagnostic{.text = "wrong"})) == "run.jsonl:3: wrong");
}

TEST_CASE("diagnostics: name their file and are sorted by position") {
    diagnostics all("f");
    all.add({2, 1}, "c");
    all.add({1, 7}, "b");
    all.add({2, 1}, "d");
    all.add({}, "a");
    all.sort();
    std::string text;
    for (auto const& one : all) text += to_text(one) + '\n';
    CHECK(text == "f: a\nf:1:7: b\nf:2:1: c\nf:2:1: d\n");
}

TEST_CASE("diagnostics: many in any order are sorted") {
    diagnostics all("f");
    constexpr std::uint32_t many = 20'000;
    for (std::uint32_t line = many; line > 0; --line) all.add({line, 1}, "x");
    all.sort();
    CHECK(std::ranges::is_sorted(all, {}, &diagnostic::line));
    CHECK(all.size() == many);
}

TEST_CASE("suggestion: the nearest candidate is a slip away, and only a slip") {
    std::vector<std::string_view> const keys{"name", "command", "directory", "at", "log"};
    CHECK(nearest("comand", keys) == "command");
    CHECK(nearest("commands", keys) == "command");
    CHECK(nearest("nmae", keys) == "name");  // a swap is one slip
    CHECK(nearest("dirctry", keys) == "directory");
    CHECK(nearest("lag", keys) == "log");
    CHECK(nearest("lo", keys) == "log");
    CHECK(nearest("nemo", keys) == "");  // two slips in four letters are another word
    CHECK(nearest("zzz", keys) == "");
    CHECK(nearest("", keys) == "");
    CHECK(nearest(std::string(65, 'x'), {std::string_view("x")}) == "");
    CHECK(nearest("cat", {"bat", "cat"}) == "cat");
}

TEST_CASE("suggestion: the nearest word, or all words") {
    CHECK(suggestion("tardl", {"none", "tradl"}) == "; did you mean 'tradl'?");
    CHECK(suggestion("fifo", {"none", "tradl"}) == "; use one of: none, tradl");
    CHECK(suggestion("fifo", {}).empty());
}

TEST_CASE("printable: what could harm a terminal is replaced, and nothing else") {
    CHECK(printable("a\x1b[2J\r\n\tb\x7f") == "a?[2J???b?");
    CHECK(printable("\xc2\x9b"
                    "2J \xc2\x80 \xc2\xa0") == "?2J ? \xc2\xa0");
    CHECK(printable("\xff\xc2 \x9b\xe2\x82") == "?? ???");
    CHECK(printable("ä€😀") == "ä€😀");
    CHECK(printable(std::string_view("a\0b", 3)) == "a?b");
}

TEST_CASE("printable_lines: the ends of lines stay") {
    CHECK(printable_lines("a\tb\n\nc\n") == "a?b\n\nc\n");
    CHECK(printable_lines("\x1b[2J") == "?[2J\n");
    CHECK(printable_lines("").empty());
}

TEST_CASE("printable: characters that turn the direction of writing, or hide, are replaced") {
    CHECK(printable("a\u202egnp.exe") == "a?gnp.exe");
    for (char const* steering : {"\u00ad", "\u061c", "\u180e", "\u200b",     "\u200e",     "\u200f",     "\u2028",
                                 "\u2029", "\u202a", "\u202e", "\u2060",     "\u2066",     "\u2069",     "\u206f",
                                 "\ufeff", "\ufff9", "\ufffb", "\U0001bca0", "\U0001d173", "\U000e0001", "\U000e007f"})
        CHECK(printable(steering) == "?");
    for (char const* plain :
         {"\u00ae", "\u05d0", "\u0627", "\u2010", "\u2027", "\u202f", "\u2070", "\ufffd", "\U0001f600", "\U000e0100"})
        CHECK(printable(plain) == plain);
    CHECK(printable(to_text(diagnostic{"f\x1b[2J", 1, 2, "a plugin's \x1b[2J\u202esentence"})) ==
          "f?[2J:1:2: a plugin's ?[2J?sentence");
}

TEST_CASE("quoted: the text is harmless and short") {
    CHECK(quoted("a\nb\x7f") == "'a?b?'");
    CHECK(quoted(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
    CHECK(quoted(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
    CHECK(quoted(std::string(59, 'x') + "äöü") == "'" + std::string(59, 'x') + "...'");
}

TEST_CASE("quoted: std::quoted is not an alternative") {
    std::string text = "fifo";
    CHECK(quoted(text) == "'fifo'");
    CHECK(quoted(std::string_view(text)) == "'fifo'");
}

// SPDX-License-Identifier: BSL-1.0
// Logs as input: all that ration writes is understood, and whatever else is in a file is a sentence, never a crash.
#include <fstream>
#include <random>

#include "report/page.hpp"
#include "report/run_recorder.hpp"
#include "support/catch.hpp"
#include "tools/sample_events.hpp"
#include "tools/temporary.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] std::string log_of(sample_events const& events) {
    std::string log;
    for (auto const& e : events.all) log += to_json(e) + '\n';
    return log;
}

/// The message about a file with this content; empty if the file is read.
[[nodiscard]] std::string message_of(std::string const& content, report_input& into) {
    temporary_file const file;
    std::ofstream(file.path(), std::ios::binary) << content;
    auto const read = read_report_input(file.path(), into);
    return read ? std::string() : to_text(read.failure());
}

}  // namespace

TEST_CASE("every event that ration writes is understood") {
    sample_events const events;
    report_input input;
    REQUIRE(message_of(log_of(events), input).empty());
    REQUIRE(input.runs.size() == 1);
    CHECK(input.runs[0].unknown.empty());
    CHECK(input.runs[0].changes == 1);
    CHECK(input.runs[0].rejected == 1);
    CHECK(input.runs[0].decision_times.size() == 1);
}

TEST_CASE("a log with bytes that somebody has changed is read, or refused with a sentence") {
    sample_events const events;
    auto const log = log_of(events);
    std::mt19937 rng(7);
    auto const below = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most - 1)(rng); };
    std::size_t read = 0, refused = 0;
    for (int i = 0; i < 1500; ++i) {
        auto changed = log;
        constexpr std::string_view marks = "{}[]\":,0-9.eE\\ntfu\xff\n ";
        for (std::size_t times = 1 + below(3); times > 0; --times) {
            std::size_t const at = below(changed.size());
            if (below(2) == 0)
                changed[at] = marks[below(marks.size())];
            else
                changed.erase(at, below(20));
        }
        report_input input;
        auto const why = message_of(changed, input);
        if (!why.empty()) {
            CHECK(why.find('\n') == why.npos);
            ++refused;
            continue;
        }
        ++read;
        auto const page = report_page(std::move(input));
        CHECK(page.ends_with("</body></html>\n"));
    }
    CHECK(read > 100);
    CHECK(refused > 100);
}

TEST_CASE("nothing ends a script element, and nothing becomes an element") {
    CHECK(for_script("\"</script><!--\"") == "\"\\u003c/script>\\u003c!--\"");
    CHECK(escaped("<b a='1' b=\"2\">&") == "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;");
}

TEST_CASE("a curve keeps its first and its last point, however many there are") {
    progress_curve curve;
    for (int i = 0; i <= 10'000; ++i) curve.add({i, i, i * 0.5});
    auto const points = curve.points(100);
    CHECK(points.size() <= 102);
    CHECK(points.size() > 40);
    CHECK(points.front().step == 0);
    CHECK(points.back().step == 10'000);
    for (auto const& p : points) CHECK(p.value == static_cast<double>(p.step) * 0.5);
}

TEST_CASE("of many entries the first and the last are kept, and those that repeat are counted") {
    entry_list entries;
    auto const add = [&](std::int64_t t, char const* what) {
        log_entry entry;
        entry.t = t;
        entry.what = what;
        entries.add(std::move(entry));
    };
    for (int i = 0; i < 5000; ++i) add(i, "change");
    for (int i = 0; i < 50; ++i) add(5000 + i, "deferred");
    CHECK(entries.seen() == 5001);
    auto const all = entries.cut_to(10);
    REQUIRE(all.size() == 10);
    CHECK((all[0].t == 0 && all[4].t == 4 && all[8].t == 4999));
    CHECK((all[9].t == 5000 && all[9].times == 50 && all[9].last == 5049));
}

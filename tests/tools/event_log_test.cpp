// SPDX-License-Identifier: BSL-1.0
#include "events/event_log.hpp"

#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

#include "support/catch.hpp"
#include "temporary.hpp"

using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] event_log opened_log(std::string const& path) {
    auto log = event_log::open(path);
    REQUIRE(log);
    return std::move(*log);
}

[[nodiscard]] std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

[[nodiscard]] event numbered(int n) { return {{n}, warning{"", "w"}}; }

}  // namespace

TEST_CASE("event_log: events go into the file batch by batch") {
    temporary_file const file;
    auto log = opened_log(file.path());
    log.write(numbered(1));
    log.write(numbered(2));
    CHECK(file.content().empty());
    CHECK(log.flush({}).empty());
    CHECK(lines_of(file.content()).size() == 2);
    log.write(numbered(3));
    CHECK(log.close().empty());
    CHECK(file.content() ==
          "{\"event\":\"warning\",\"t\":1,\"subject\":\"\",\"message\":\"w\"}\n"
          "{\"event\":\"warning\",\"t\":2,\"subject\":\"\",\"message\":\"w\"}\n"
          "{\"event\":\"warning\",\"t\":3,\"subject\":\"\",\"message\":\"w\"}\n");
    CHECK(log.lost() == 0);
}

TEST_CASE("event_log: a log that cannot be opened says why") {
    auto const failed = event_log::open("/nowhere/run.jsonl");
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().subject.view() == "/nowhere/run.jsonl");
    event_log none;
    CHECK_FALSE(none);
    none.write(numbered(1));
    CHECK(none.flush({}).empty());
    CHECK(none.close().empty());
    CHECK(none.lost() == 0);
}

TEST_CASE("event_log: a full disk: one warning, then silence, and the count at the end") {
    if (::access("/dev/full", W_OK) != 0) SKIP_TEST("/dev/full is not here");
    auto log = opened_log("/dev/full");
    log.write(numbered(0));
    CHECK(
        log.flush({}) ==
        "the event log '/dev/full' cannot be written: No space left on device; the run continues, and ration retries every "
        "second");
    for (int i = 1; i <= 10; ++i) {
        log.write(numbered(i));
        CHECK(log.flush(seconds(i)).empty());
    }
    CHECK(log.close() == "the event log '/dev/full' lacks 11 events: No space left on device");
    CHECK(log.lost() == 11);
}

TEST_CASE("event_log: when the disk has room again the log goes on, and says where and how long its gap is") {
    temporary_file const file;
    file_size_limit const limit;
    std::size_t const line = to_json(numbered(0)).size() + 1;
    event_log log(file.path(), process::descriptor(::open(file.path().c_str(), O_WRONLY | O_CLOEXEC)), 3 * line);
    log.write(numbered(0));
    CHECK(log.flush({}).empty());
    limit.set(line + 5);
    for (int i = 1; i <= 8; ++i) log.write(numbered(i));  // three find room, five do not
    CHECK_FALSE(log.flush({}).empty());
    CHECK(log.lost() == 5);
    limit.lift();
    CHECK(log.flush(milliseconds(999)).empty());
    CHECK(lines_of(file.content()).size() == 2);  // one whole, one torn
    CHECK(log.flush(seconds(1)).empty());
    log.write(numbered(9));
    CHECK(log.close() ==
          "the event log " + ("'" + file.path() + "'") + " lacks 5 events: for a time it could not be written");
    auto const lines = lines_of(file.content());
    REQUIRE(lines.size() == 6);
    for (int i = 0; i <= 3; ++i) CHECK(lines[static_cast<std::size_t>(i)] == to_json(numbered(i)));
    CHECK(lines[4] == "{\"event\":\"lost\",\"t\":9,\"count\":5}");
    CHECK(lines[5] == to_json(numbered(9)));
}

TEST_CASE("event_log: each gap is counted by itself") {
    temporary_file const file;
    event_log log(file.path(), process::descriptor(::open(file.path().c_str(), O_WRONLY | O_CLOEXEC)), 120);
    auto const burst = [&](int size) {
        for (int i = 0; i < size; ++i) log.write(numbered(0));
        CHECK(log.flush({}).size() < 200);
    };
    std::size_t const fitting = 120 / (to_json(numbered(0)).size() + 1);
    burst(static_cast<int>(fitting) + 2);
    burst(1);
    burst(static_cast<int>(fitting) + 1);
    burst(1);
    CHECK(log.lost() == 3);
    std::vector<std::string> gaps;
    for (auto const& l : lines_of(file.content()))
        if (l.starts_with("{\"event\":\"lost\"")) gaps.push_back(l);
    CHECK(gaps == std::vector<std::string>{"{\"event\":\"lost\",\"t\":0,\"count\":2}",
                                           "{\"event\":\"lost\",\"t\":0,\"count\":1}"});
}

namespace {

/// A log of at most 4000 bytes a file, which notes its heads.
struct bounded_log {
    temporary_file file;
    std::string earlier = file.path() + ".1";
    event_log log{file.path(), process::descriptor(::open(file.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC))};

    bounded_log() { log.rotate_at(4000); }
    bounded_log(bounded_log const&) = delete;
    bounded_log& operator=(bounded_log const&) = delete;
    ~bounded_log() { std::remove(earlier.c_str()); }

    std::string write(event const& e) {
        auto line = to_json(e);
        log.write_line(line, e.at);
        log.note_head(e, line);
        return line;
    }
    [[nodiscard]] std::vector<std::string> earlier_lines() const {
        std::ostringstream out;
        out << std::ifstream(earlier).rdbuf();
        return lines_of(out.str());
    }
};

[[nodiscard]] int number_of(std::string const& line) { return std::stoi(line.substr(line.find("\"t\":") + 4)); }

}  // namespace

TEST_CASE("event_log: a log of bounded size begins again with the run and the jobs that are alive") {
    bounded_log all;
    auto const run = all.write({{0},
                                run_started{.policy = "fifo",
                                            .policy_version = "1",
                                            .tick = {},
                                            .file = {},
                                            .source = {},
                                            .machine = {},
                                            .controls = {}}});
    auto const lives = all.write({{1}, job_started{.job = "lives", .id = {1}, .command = {}}});
    all.write({{1}, job_started{.job = "ends", .id = {2}, .command = {}}});
    all.write({{2}, job_ended{.job = "ends", .exit_code = {}, .signal = {}, .why = {}}});
    for (int i = 0; i < 400; ++i) {
        all.write(numbered(i));
        CHECK(all.log.flush({}).empty());
    }
    auto const now = lines_of(all.file.content()), before = all.earlier_lines();
    CHECK(all.file.content().size() < 4100);
    REQUIRE((now.size() > 2 && before.size() > 2));
    CHECK((now[0] == run && now[1] == lives));
    CHECK((before[0] == run && before[1] == lives));
    CHECK(now.back() == to_json(numbered(399)));
    CHECK(number_of(now[2]) == number_of(before.back()) + 1);  // no event is in neither of the two, or in both
    CHECK(all.log.lost() == 0);
}

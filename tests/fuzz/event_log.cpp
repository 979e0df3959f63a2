// SPDX-License-Identifier: BSL-1.0
// Event logs, line by line, as `ration replay` and `ration report` read them: what is taken has sound tables, and the
// page's data is JSON.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "config/config.hpp"
#include "events/json_reader.hpp"
#include "events/log_version.hpp"
#include "replay/recorded_tick.hpp"
#include "report/run_json.hpp"
#include "report/run_recorder.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using nlohmann::json;
using ration::diagnostic;
using ration::result;

namespace {

void require_shown(std::string const& why) { fuzz::require_sentence(program::printable(why), 5000); }

void require_sound(program::recorded_tick const& tick) {
    auto const jobs = tick.store().rows(ration::table_id::jobs);
    require(jobs <= program::max_jobs, "a tick has more jobs than a run can have");
    for (auto const& grant : tick.held()) require(grant.job < jobs, "a job holds something and is in no row");
    require(tick.job_id(jobs) == 0, "a row behind the last one has a job");
    if (auto const id = tick.store().find<std::uint64_t>("jobs/id")) {
        auto const ids = tick.store()[*id];
        require(std::ranges::adjacent_find(ids, std::greater_equal{}) == ids.end(), "ids do not ascend");
    }
}

/// As `ration replay` does.
class replay {
    program::recorded_tick tick_;
    bool begun_ = false, over_ = false;

    [[nodiscard]] result<void, diagnostic> take_event(json const& line) {
        auto const event = line.find("event");
        if (event == line.end()) return diagnostic{.text = "this is not an event"};
        if (*event == "run") {
            begun_ = true;
            if (auto const known = program::check_schema(program::schema_of(line)); !known) return known;
            return tick_.begin(line);
        }
        if (!begun_ || *event != "decision") return {};
        auto read = tick_.load(line);
        if (read) require_sound(tick_);
        return read;
    }

public:
    void take(json const& line) {
        if (over_) return;
        auto const read = take_event(line);
        if (!read) require_shown(read.failure().text);
        over_ = !read;
    }
};

/// As `ration report` does.
class report {
    program::run_recorder run_;
    bool begun_ = false, over_ = false;

public:
    void take(json const& line) {
        begun_ = begun_ || (line.contains("event") && line["event"] == "run");
        if (!begun_ || over_) return;
        auto const read = run_.take(line);
        if (!read) require_shown(read.failure().text);
        over_ = !read;
    }
    void end() && {
        std::vector<program::run_history> runs;
        runs.push_back(std::move(run_).finish());
        std::string text;
        program::json_writer writer(text);
        writer.array([&] {
            program::write_runs(writer, runs);
            program::write_comparison(writer, runs);
        });
        require(json::accept(text), "the data of a page is not JSON");
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    replay replayed;
    report reported;
    for (fuzz::input in(data, size); !in.empty();) {
        auto const line = program::parse_json(in.line());
        if (!line.is_object()) break;
        replayed.take(line);
        reported.take(line);
    }
    std::move(reported).end();
    return 0;
}

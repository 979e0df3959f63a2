// SPDX-License-Identifier: BSL-1.0
// A trace that is read job by job gives the jobs, and the schedules, of the same trace that is read as a whole.
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include <ration/policies/las.hpp>
#include <ration/policies/none.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/simulation.hpp>
#include <ration/sim/trace/stream.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;
using trace::format;

namespace {

/// A trace in a temporary folder.
class trace_file {
    std::string folder_ = "/tmp/ration-trace.XXXXXX", path_;

public:
    explicit trace_file(std::string_view text) {
        REQUIRE(::mkdtemp(folder_.data()) != nullptr);
        path_ = folder_ + "/jobs.2026.csv";
        write(text);
    }
    ~trace_file() {
        ::unlink(path_.c_str());
        ::rmdir(folder_.c_str());
    }
    trace_file(trace_file const&) = delete;
    trace_file& operator=(trace_file const&) = delete;

    void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }
    [[nodiscard]] char const* path() const noexcept { return path_.c_str(); }
    [[nodiscard]] result<trace::streamed_table, diagnostic> scanned(std::size_t block,
                                                                    format as = format::detect) const {
        return trace::scan_table(path(), std::make_shared<model_library const>(traces::library()), as, 0, block);
    }
    [[nodiscard]] std::string refusal() const {
        auto const table = scanned(64);
        return table ? "" : to_text(table.failure()).substr(path_.size());
    }
};

[[nodiscard]] bool is_same(job_description const& a, job_description const& b) {
    return a.submitted == b.submitted && a.tenant == b.tenant && a.model == b.model && a.weight == b.weight &&
           a.priority == b.priority && a.request == b.request && a.least == b.least && a.most == b.most &&
           a.batch == b.batch && a.length == b.length && a.restart_cost == b.restart_cost && a.deadline == b.deadline;
}

/// Empty if the stream gives what the whole file gives.
[[nodiscard]] std::string difference(std::string_view text, std::size_t block, format as = format::detect) {
    trace_file const file(text);
    auto const whole = trace::read_file(file.path(), traces::library(), as);
    auto const table = file.scanned(block, as);
    if (!whole) return to_text(whole.failure());
    if (!table) return to_text(table.failure());
    trace::table_source source(*table);
    for (auto const& job : whole->jobs) {
        auto const* const got = source.next();
        if (got == nullptr || !is_same(*got, job)) return "job";
    }
    if (source.next() != nullptr || !source.status()) return "the end";
    auto const& kinds = source.kinds();
    if (kinds.name != whole->name || kinds.tenants != whole->tenants || kinds.model_names != whole->model_names)
        return "names";
    auto const a = source.shape(), b = shape_of(*whole);
    if (table->jobs != whole->jobs.size() || kinds.left_out != whole->left_out || a.most_devices != b.most_devices ||
        a.has_restart_costs != b.has_restart_costs || a.uses_processors != b.uses_processors)
        return "the shape";
    return "";
}

[[nodiscard]] std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

/// The outcomes by id.
class collector final : public run_observer {
public:
    std::map<std::uint64_t, job_outcome> outcomes;

    void submitted(nanoseconds, std::uint64_t) noexcept override {}
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override {}
    void outcome_of(std::uint64_t id, job_description const&, job_outcome const& got) noexcept override {
        outcomes[id] = got;
    }
};

}  // namespace

TEST_CASE("stream: the jobs of every format are those of the whole file, wherever blocks end", "[trace]") {
    for (std::size_t block = 1; block < 200; block += block < 20 ? 1 : 17) {
        CAPTURE(block);
        CHECK(difference(traces::common, block) == "");
        CHECK(difference(traces::helios, block) == "");
        CHECK(difference(traces::gavel, block) == "");
        CHECK(difference(traces::pollux, block) == "");
        CHECK(difference(traces::elasticflow, block) == "");
        CHECK(difference(traces::chronus, block) == "");
    }
    std::string const common(traces::common);
    CHECK(difference(common.substr(0, common.size() - 1), 16) == "");
    CHECK(difference("\xef\xbb\xbf" + replaced(common, "\n", "\r\n\n"), 16) == "");
    CHECK(difference("job_id,submit_time,num_gpus,duration,tenant\n\"a,\"\"b\",3,1,9,\"x y\"\nc,4,2,9,\n", 16) == "");
    auto const tables = trace::written(make_rigid({.jobs = 500}));
    CHECK(difference(tables, 1000) == "");
    CHECK(difference(tables, std::size_t{1} << 20) == "");
}

TEST_CASE("stream: the schedule is that of the whole trace, to the byte", "[trace]") {
    trace_file const file(trace::written(make_rigid({.jobs = 800, .jobs_per_hour = 200}, {.most_devices = 8})));
    cluster machines;
    machines.groups.push_back({.nodes = 8, .devices = 4});
    auto const whole = trace::read_file(file.path(), {});
    auto const table = file.scanned(4096);
    INFO((table ? std::string() : to_text(table.failure())));
    REQUIRE((whole && table));
    policy_adapter<policies::las> first, second;
    policy_adapter<policies::none> fallback;
    auto const kept = simulation(*whole, machines, first, fallback, {}).run();
    trace::table_source source(*table);
    collector got;
    auto const streamed = simulation(source, machines, second, fallback, {.observer = &got}).run();
    REQUIRE((kept && streamed && source.status()));
    CHECK(kept->ticks == streamed->ticks);
    CHECK(kept->events == streamed->events);
    CHECK(kept->end == streamed->end);
    REQUIRE(got.outcomes.size() == kept->jobs.size());
    for (std::size_t i = 0; i < kept->jobs.size(); ++i) {
        auto const &a = kept->jobs[i], &b = got.outcomes.at(i + 1);
        CHECK((a.started == b.started && a.finished == b.finished && a.restarts == b.restarts &&
               a.device_seconds == b.device_seconds));
    }
}

TEST_CASE("stream: what cannot be read job by job is refused with the line", "[trace]") {
    CHECK(trace_file("job_id,submit_time,num_gpus,duration\n1,5,1,9\n2,7,1,9\n3,6,1,9\n").refusal() ==
          ":4: this job was submitted before the job of an earlier line; sort the lines by submission, or name a file "
          "of at most 1 GiB");
    CHECK(trace_file(traces::philly).refusal().find(":3: this job was submitted before") == 0);
    CHECK(trace_file("job_id,submit_time,num_gpus,duration\n1,5,1,9\n2,7,x,9\n").refusal().find(":3: num_gpus is") ==
          0);
    CHECK(trace_file("job_id,submit_time,num_gpus,duration\n1,5,1,9\n2,7\n").refusal().find(":3: this line has 2") ==
          0);
    std::string const no_stream =
        ": a trace of this format cannot be read job by job; name a file of at most 1 GiB, or one in the format ration";
    CHECK(trace_file(traces::alibaba).refusal() == no_stream);
    CHECK(trace_file(traces::philly_json).refusal() == no_stream);
    CHECK(trace_file(traces::swf).refusal() == no_stream);
    CHECK(trace_file("").refusal() == no_stream);
    CHECK(trace_file("job_id,submit_time,num_gpus,duration\n" + std::string(1'500'000, 'x')).refusal() ==
          ": has a line of over 1 MiB; name a trace with one job in each line");
}

TEST_CASE("stream: a file that changes during a run is noticed", "[trace]") {
    std::string const before = "job_id,submit_time,num_gpus,duration,tenant\n1,5,1,9,a\n2,7,2,9,b\n3,8,1,9,a\n";
    auto const given = [&](std::string const& now) {
        trace_file const file(before);
        auto const table = file.scanned(64);
        REQUIRE(table);
        file.write(now);
        trace::table_source source(*table);
        std::size_t jobs = 0;
        while (source.next() != nullptr) ++jobs;
        REQUIRE(!source.status());
        CHECK(source.status().failure().code == errc::conflict);
        return jobs;
    };
    CHECK(given("") == 0);
    CHECK(given(before + "4,9,1,9,a\n") == 3);
    CHECK(given(before.substr(0, before.size() - 10)) == 2);
    CHECK(given(replaced(before, "7,2", "7,3")) == 1);    // more devices than any job had
    CHECK(given(replaced(before, "9,b", "9,c")) == 3);    // another tenant in its place
    CHECK(given(replaced(before, "2,7,", "2,4,")) == 1);  // earlier than the job before
    CHECK(given(replaced(before, "2,7,", "2,x,")) == 1);
}

// SPDX-License-Identifier: BSL-1.0
// Jobs files with damage: each is read as what its keys promise, or refused with sentences that name a place in it.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "common/printable.hpp"
#include "config/config.hpp"
#include "support/catch.hpp"
#include "support/mutations.hpp"
#include "whole_jobs_file.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr std::string_view pieces[] = {"=",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "\"",
                                       "'",
                                       ",",
                                       ".",
                                       "\n",
                                       "#",
                                       "-",
                                       "0x10",
                                       "1e999",
                                       "nan",
                                       "inf",
                                       "99999999999999999999",
                                       "true",
                                       "1979-05-27",
                                       "\"2GiB\"",
                                       "\"-1s\"",
                                       "[[job]]\n",
                                       "name",
                                       "\xff",
                                       "\x1b[2J",
                                       "'''",
                                       "\\u0000",
                                       "gpu",
                                       "max",
                                       " "};

void require_sound(job_config const& job) {
    REQUIRE((!job.name.empty() && job.name.size() <= 48 && !job.command.empty() && !job.command.front().empty()));
    for (auto const& word : job.command) REQUIRE(word.find('\0') == word.npos);
    REQUIRE((std::isfinite(job.weight) && job.weight > 0 && job.at.count >= 0));
    REQUIRE((job.cpu.minimum >= 0 && job.cpu.minimum <= job.cpu.maximum));
    if (job.memory) REQUIRE(job.memory->count > 0);
    REQUIRE((job.target.is_given() || job.target.metric == "loss"));
    for (auto const& tier : {job.target.acceptable, job.target.objective})
        if (tier) REQUIRE(std::isfinite(*tier));
    if (!job.elastic) return;
    for (auto const& b : {job.elastic->devices, job.elastic->batch})
        REQUIRE((b.minimum >= 1 && b.minimum <= b.maximum));
    for (double const s : job.elastic->speedup) REQUIRE((std::isfinite(s) && s >= 0));
}

void require_sound(run_config const& config) {
    REQUIRE((!config.jobs.empty() && config.jobs.size() <= max_jobs && config.tick.count > 0));
    std::set<std::string> names;
    for (auto const& job : config.jobs) {
        require_sound(job);
        REQUIRE(names.insert(job.name).second);
    }
}

}  // namespace

TEST_CASE("parse_config: the file that is damaged below is a good one") {
    auto const read = parse_config(std::string(whole_jobs_file), "jobs.toml");
    for (auto const& p : read.problems) UNSCOPED_INFO(to_text(p));
    REQUIRE(read.problems.empty());
    require_sound(read.config);
}

TEST_CASE("parse_config: 4000 damaged jobs files are read soundly or refused in printable sentences") {
    support::mutations change(31, pieces);
    int good = 0, bad = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text(whole_jobs_file);
        change.damage(text);
        auto const lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
        auto const read = parse_config(text, "jobs.toml");
        INFO(text);
        for (auto const& p : read.problems) {
            REQUIRE((p.text.size() > 8 && p.text == printable(p.text)));
            REQUIRE(p.line <= lines);
        }
        if (read.problems.empty()) require_sound(read.config);
        ++(read.problems.empty() ? good : bad);
    }
    CHECK(good > 100);
    CHECK(bad > 1000);
}

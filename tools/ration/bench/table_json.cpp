// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cmath>

#include "bench/table.hpp"
#include "check/heap.hpp"
#include "common/version_text.hpp"
#include "events/json_writer.hpp"

namespace ration::bench {
namespace {

using program::json_writer;

void write_times(json_writer& json, measured const& m) {
    if (m.times.ticks == 0) return json.null();
    auto const& t = m.times;
    json.object([&] {
        json.member("ticks", t.ticks);
        json.member("interrupted", t.interrupted);
        json.member("median", t.median);
        json.member("p10", t.low);
        json.member("p90", t.high);
        json.member("longest", t.longest);
        json.member("plain_loop", t.loop);
        json.member("ratio", t.median / t.loop);
        json.member("grants", t.grants);
    });
}

void write_memory(json_writer& json, measured const& m) {
    if (m.memory.ticks == 0 || !conformance::sees_the_heap()) return json.null();
    json.object([&] {
        json.member("ticks", m.memory.ticks);
        json.member("allocations", m.memory.allocations);
        json.member("most_allocations", m.memory.most_allocations);
        json.member("page_faults", m.memory.faults);
    });
}

void write_cases(json_writer& json, results const& all, contender const& c) {
    for (std::size_t i = 0; i < all.cases.size(); ++i)
        json.object([&] {
            json.member("jobs", all.cases[i].jobs);
            json.member("devices", all.cases[i].devices);
            json.member("pattern", pattern_names[static_cast<std::size_t>(all.cases[i].changes)]);
            json.key("nanoseconds");
            write_times(json, c.of[i]);
            json.key("memory");
            write_memory(json, c.of[i]);
        });
}

void write_quality(json_writer& json, results const& all, contender const& c) {
    for (std::size_t o = 0; o < objective_count; ++o) {
        auto const each = qualities(all, c, static_cast<objective>(o));
        double const median = median_of(each);
        json.object([&] {
            json.member("objective", objective_notes[o].name);
            json.member("made_for", objective_of(c.id) == o);
            if (std::isnan(median)) {
                json.key("median").null();
                json.key("worst").null();
                return;
            }
            json.member("median", median);
            json.member("worst", *std::ranges::min_element(each));
            json.key("each").array([&] {
                for (double const one : each) json.value(one);
            });
        });
    }
}

void write_wrong(json_writer& json, contender const& c) {
    auto total = c.solved.wrong;
    for (auto const& one : c.of) {
        total.refused += one.wrong.refused;
        total.lost += one.wrong.lost;
    }
    json.member("answers_refused", total.refused);
    json.member("answers_missing", total.lost);
    json.key("remarks").array([&] {
        for (auto const& remark : remarks_on(c)) json.value(remark);
    });
}

void write_policy(json_writer& json, results const& all, contender const& c) {
    json.object([&] {
        json.member("name", c.name);
        json.member("id", c.id);
        json.member("version", c.version);
        json.member("isolation", !c.is_plugin ? "none" : all.options.in_process ? "in-process" : "worker");
        json.member("shares", c.what == shared::devices ? "devices" : "cores");
        json.member("left_out", !c.left_out.empty());
        json.member("went_wrong", went_wrong(c));
        write_wrong(json, c);
        if (!c.left_out.empty()) return;
        json.key("worlds").array([&] { write_cases(json, all, c); });
        json.key("quality").array([&] { write_quality(json, all, c); });
    });
}

}  // namespace

std::string as_json(results const& all, program::machine_facts const& machine) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("ration", program::version_text());
        json.member("seed", all.options.seed);
        json.member("optimised", is_optimised());
        json.key("machine").object([&] {
            json.member("cpus", machine.cpus);
            json.member("cpu_model", machine.cpu_model);
            json.member("memory", machine.memory);
            json.member("kernel", machine.kernel);
        });
        json.member("instances", instance_count);
        json.key("objectives").object([&] {
            for (auto const& note : objective_notes) json.member(note.name, note.meaning);
        });
        json.key("policies").array([&] {
            for (auto const& c : all.policies) write_policy(json, all, c);
        });
    });
    return out;
}

}  // namespace ration::bench

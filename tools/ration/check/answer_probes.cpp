// SPDX-License-Identifier: BSL-1.0
// Probes of the answers of decide: rows that can be proved, within the space that there is, and the same when asked the
// same.
#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <memory>
#include <thread>

#include "finding.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"

namespace ration::conformance {
namespace {

constexpr int answer_ticks = 40;
// Long enough for a policy that waits or measures a while before it changes anything
constexpr int ticks_of_a_past = 300;
constexpr int ticks_of_changes = 150;
constexpr std::uint64_t seeds_of_changes = 3;

void expect_whole_output(session const& run, answer const& a) {
    if (!a.changed_field.empty())
        broken(fmt::format("tick {}: it changed {}, which belongs to the host", run.tick_number(), a.changed_field));
    if (a.count > most_grants)
        broken(fmt::format("tick {}: count is {}, and there was space for {} rows", run.tick_number(), a.count,
                           most_grants));
}

void leave_the_hosts_fields(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < answer_ticks; ++i) {
        auto const a = run.tick();
        expect_answer(run, a);
        expect_whole_output(run, a);
    }
}

void give_good_grants(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < answer_ticks; ++i) {
        auto const a = run.tick();
        expect_answer(run, a);
        if (a.count > most_grants) continue;  // answer/output reports it
        if (auto const wrong = run.fault(a); !wrong.empty())
            broken(fmt::format("tick {}: {}", run.tick_number(), wrong));
    }
}

/// Asks with more and more space, as a host does. At most a few rounds, because `needed` gives the size.
[[nodiscard]] answer ask_with_growing_space(session& run, std::uint64_t capacity, output& space) {
    for (;;) {
        auto a = run.ask(capacity, space);
        if (a.code == RATION_OK) return a;
        if (a.code != RATION_E_CAPACITY)
            broken(fmt::format("decide returned {} for want of space: only RATION_E_CAPACITY makes a host ask again",
                               name_of_code(a.code)));
        if (a.needed <= capacity)
            broken(fmt::format("out->needed is {} where {} rows were too few", a.needed, capacity));
        if (a.needed > most_grants)
            broken(fmt::format("out->needed is {}, and the schema allows no tick with more than {} grants", a.needed,
                               most_grants));
        if (a.count != 0) broken("it changed out->count although there was too little space");
        capacity = a.needed > 2 * capacity ? a.needed : 2 * capacity < most_grants ? 2 * capacity + 1 : most_grants;
    }
}

void keep_within_capacity(subject const& s) {
    if (s.is_estimator()) skip("it is an estimator, and its space is exact");
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed}), small(loaded, s, {.seed = s.seed});
    output space;
    std::size_t most = 0;
    for (int i = 0; i < answer_ticks; ++i) {
        run.advance();
        small.advance();
        auto const all = run.ask();
        expect_answer(run, all);
        most = std::max(most, all.rows.size());
        auto const few = ask_with_growing_space(small,
                                                all.rows.size() > 2 ? 2
                                                : all.rows.empty()  ? 0
                                                                    : all.rows.size() - 1,
                                                space);
        if (s.repeats && all.count <= most_grants && !same_bytes(all.rows, few.rows))
            broken(fmt::format(
                "tick {}: asked again with more space it answers otherwise: decide must not remember a call that returned RATION_E_CAPACITY",
                run.tick_number()));
        run.apply(all);
        small.apply(few);
    }
    if (most == 0) skip(fmt::format("it granted nothing in {} ticks", answer_ticks));
}

/// Every output is locked as soon as decide has come back; the next call gets another one.
void leave_the_output_alone_afterwards(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    std::vector<std::unique_ptr<output>> spaces;
    for (int i = 0; i < 4; ++i) {
        auto& space = *spaces.emplace_back(std::make_unique<output>());
        run.advance();
        auto const a = run.ask(most_grants, space);
        expect_answer(run, a);
        space.lock();
        run.apply(a);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // for a thread that the plugin started
    run.instance().destroy();
}

/// Which answer differs and how, as a sentence; empty when none does.
[[nodiscard]] std::string difference(answer const& a, answer const& b) {
    if (a.code != b.code) return fmt::format("{} and {}", name_of_code(a.code), name_of_code(b.code));
    if (a.rows.size() != b.rows.size()) return fmt::format("{} and {} rows", a.rows.size(), b.rows.size());
    auto const text = [](ration_grant const& g) {
        return fmt::format("amount {} for reason {} to job row {}", g.amount, g.reason, g.job);
    };
    for (std::size_t row = 0; row < a.rows.size(); ++row)
        if (!same_bytes({a.rows[row]}, {b.rows[row]})) {
            if (a.is_estimate) return "some values";
            return fmt::format("row {}: {}, and {}", row, text(a.rows[row]), text(b.rows[row]));
        }
    return {};
}

void repeat_itself(subject const& s) {
    if (!s.has_flag(RATION_F_DETERMINISTIC)) skip("its manifest does not say RATION_F_DETERMINISTIC");
    library const loaded(s);
    session first(loaded, s, {.seed = s.seed}), second(loaded, s, {.seed = s.seed});
    for (int i = 0; i < answer_ticks; ++i) {
        auto const a = first.tick(), b = second.tick();
        if (auto const how = difference(a, b); !how.empty())
            broken(fmt::format("tick {}: two instances that were asked the same differ: {}", first.tick_number(), how));
    }
}

void answer_again_the_same(subject const& s) {
    if (!s.repeats) skip("two instances of it differ, so that this probe can prove nothing");
    library const loaded(s);
    session once(loaded, s, {.seed = s.seed}), twice(loaded, s, {.seed = s.seed});
    for (int i = 0; i < ticks_of_a_past; ++i) {
        once.advance();
        twice.advance();
        auto const a = once.ask(), b = twice.ask(), again = twice.ask();
        expect_answer(once, a);
        if (auto const how = difference(b, again); !how.empty())
            broken(fmt::format("tick {}: asked again about the same tick it answers otherwise: {}", once.tick_number(),
                               how));
        if (auto const how = difference(a, b); !how.empty())
            broken(fmt::format("tick {}: asked each tick twice it answers otherwise than asked once: {}",
                               once.tick_number(), how));
        once.apply(a);
        twice.apply(b);
    }
}

void follow_all_changes(subject const& s) {
    if (!s.has_flag(RATION_F_FOLLOWS_CHANGES)) skip("its manifest does not say RATION_F_FOLLOWS_CHANGES");
    if (!s.repeats) skip("two instances of it differ, so that this probe can prove nothing");
    library const loaded(s);
    for (std::uint64_t seed = s.seed; seed < s.seed + seeds_of_changes; ++seed) {
        session full(loaded, s, {.seed = seed}), incremental(loaded, s, {.seed = seed, .lists_changes = true});
        for (int i = 0; i < ticks_of_changes; ++i) {
            auto const a = full.tick(), b = incremental.tick();
            expect_answer(full, a);
            if (auto const how = difference(a, b); !how.empty())
                broken(fmt::format(
                    "seed {}, tick {}: with the list of changes it answers otherwise than from all rows: {}", seed,
                    full.tick_number(), how));
        }
    }
}

void follow_the_last_schema(subject const& s) {
    library const loaded(s);
    session rebound(loaded, s, {.seed = s.seed, .bound_before = true}), fresh(loaded, s, {.seed = s.seed});
    for (int i = 0; i < answer_ticks; ++i) {
        auto const a = rebound.tick(), b = fresh.tick();
        expect_answer(rebound, a);
        if (auto const how = difference(a, b); s.repeats && !how.empty())
            broken(fmt::format("tick {}: bound a second time it answers otherwise than bound once: {}",
                               rebound.tick_number(), how));
    }
}

constexpr probe answer_probes[] = {
    {"answer/repeat",
     "take time and chance from the tick only, or leave RATION_F_DETERMINISTIC out",
     &repeat_itself,
     then::go_on,
     {},
     &subject::repeats},
    {"answer/again",
     "let decide change nothing that a second call for the same tick would change again: go by the tick's columns, events and time",
     &answer_again_the_same},
    {"answer/changes",
     "read each listed row again for each of its groups, and all rows when `everything` is 1 or the list is absent; when `moved` is 1, go by jobs/id",
     &follow_all_changes},
    {"answer/rebind",
     "take slots and sizes from each schema again: bind is called again when the tables change in shape",
     &follow_the_last_schema},
    {"answer/output", "set out->count and out->needed, and nothing else of *out", &leave_the_hosts_fields},
    {"answer/grants",
     "grant what the tables show: rows that are there, amounts within bounds, each place once, no more than a node has",
     &give_good_grants},
    {"answer/capacity",
     "when out->capacity rows do not suffice, set out->needed, return RATION_E_CAPACITY, and change nothing else",
     &keep_within_capacity},
    {"answer/afterwards", "forget out->grant when decide returns: the host reads it then",
     &leave_the_output_alone_afterwards},
};

}  // namespace

std::span<probe const> probes_of_answers() noexcept { return answer_probes; }

}  // namespace ration::conformance

// SPDX-License-Identifier: BSL-1.0
// Schemas and events, of this version and of later ones.
#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <memory>

#include "finding.hpp"
#include "library.hpp"
#include "plugin_instance.hpp"
#include "probe.hpp"
#include "session.hpp"

namespace ration::conformance {
namespace {

constexpr std::uint32_t wider = 24;

void bind_all(subject const& s) {
    library const loaded(s);
    tables const offered(s, s.seed);
    guest instance(loaded, s);
    instance.bind(offered);
    instance.bind(offered);  // once per schema: a host may bind again
    instance.destroy();
}

void do_with_what_it_needs(subject const& s) {
    library const loaded(s);
    tables const offered(s, s.seed);
    guest instance(loaded, s);
    if (auto const code = instance.try_bind(offered, {.only_needs = true}); code != RATION_OK)
        broken(fmt::format(
            "bind returned {} to a host that shows the columns of `needs` and no others, as a worker does: {}",
            name_of_code(code), instance.reply()));
    instance.destroy();
}

void expect_refusal(library const& loaded, subject const& s, tables const& offered, schema_options const& schema,
                    std::string const& what) {
    guest instance(loaded, s);
    if (auto const code = instance.try_bind(offered, schema); code == RATION_OK)
        broken(fmt::format("bind returned RATION_OK to a host {}", what));
    instance.destroy();
}

void refuse_what_is_missing(subject const& s) {
    if (s.needs.empty()) skip("it needs no column");
    library const loaded(s);
    tables const offered(s, s.seed);
    expect_refusal(loaded, s, offered, {.empty = true}, "without columns");
    for (auto const& need : s.needs) {
        expect_refusal(loaded, s, offered, {.without = need.name}, "without " + need.name);
        expect_refusal(loaded, s, offered, {.mistyped = need.name}, "where " + need.name + " has another type");
        expect_refusal(loaded, s, offered, {.without_slot = need.name}, "where " + need.name + " has RATION_NO_SLOT");
    }
}

/// Between the records there is garbage: a plugin that walks by their size instead of the stride follows it as a
/// pointer.
void walk_by_stride(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed, .schema = {.extra_stride = wider, .of_later_host = true}});
    for (int i = 0; i < 4; ++i) expect_answer(run, run.tick());
}

[[nodiscard]] std::vector<std::byte> with_stride(std::vector<ration_event> const& events, std::size_t stride) {
    std::vector<std::byte> bytes(events.size() * stride, std::byte{0xAB});
    for (std::size_t i = 0; i < events.size(); ++i)
        std::memcpy(bytes.data() + i * stride, &events[i], sizeof events[i]);
    return bytes;
}

void bear_unknown_events(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    if (!run.instance().listens()) skip("it has no on_event");
    expect_answer(run, run.tick());
    auto const& jobs = run.cluster().jobs();
    // A host reports no event of a job that is over
    auto const job = std::ranges::find_if(jobs, [](auto const& j) { return !j.is_over(); });
    std::vector<ration_event> events;
    for (std::uint32_t const kind : {RATION_EV_JOB_CHANGED + 0u, 5u, RATION_EV_NODE_UP + 0u, 999u, 0xFFFFFFFFu, 0u,
                                     RATION_EV_STATE_LOST + 0u, RATION_EV_JOB_CHANGED + 0u}) {
        bool const of_a_job = kind == RATION_EV_JOB_CHANGED && job != jobs.end();
        events.push_back({kind, RATION_NO_SLOT, of_a_job ? job->id : 0, run.cluster().now().count, 0, 1});
    }
    run.instance().emit(events);
    auto const wide = with_stride(events, sizeof(ration_event) + wider);
    guarded space("the events", wide.size());
    auto* const place = space.place(wide.size(), 8);
    std::memcpy(place, wide.data(), wide.size());
    space.make_read_only();
    run.instance().emit(place, events.size(), sizeof(ration_event) + wider);
    run.instance().emit(place, 0, sizeof(ration_event) + wider);
    for (int i = 0; i < 3; ++i) expect_answer(run, run.tick());
}

constexpr probe binding_probes[] = {
    {"bind/columns", "declare in the manifest's needs every column that it cannot do without, with its type", &bind_all,
     then::stop},
    {"bind/needs", "name in the manifest's needs every column that bind insists on", &do_with_what_it_needs},
    {"bind/missing", "return RATION_E_UNSUPPORTED from bind for each needed column that is absent or of another type",
     &refuse_what_is_missing},
};

constexpr probe probes_of_a_later_host[] = {
    {"bind/stride", "step from one ration_column to the next by schema->column_stride bytes", &walk_by_stride},
    {"events/unknown", "ignore unknown kinds of events, and step by `stride`", &bear_unknown_events},
};

}  // namespace

std::span<probe const> probes_of_binding() noexcept { return binding_probes; }
std::span<probe const> probes_of_later_hosts() noexcept { return probes_of_a_later_host; }

}  // namespace ration::conformance

// SPDX-License-Identifier: BSL-1.0
// A plugin of an author who has only read docs/check.md: one device for each job that runs, first come, first served.
#include <ration/job.hpp>
#include <ration/plugin/export.hpp>
#include <ration/state.hpp>

namespace {

class greedy {
    std::uint64_t ticks_ = 0;

public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{
        .id = "org.example.greedy", .version = "1.0.0", .summary = "one device for each job"};
    using inputs =
        ration::columns<ration::in<std::uint32_t, "jobs/state">, ration::in<std::int64_t, "jobs/max.gpu">,
                        ration::in_rows<double, "jobs/speedup">, ration::in<std::int64_t, "nodes/capacity.gpu">>;

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        ++ticks_;
        auto left = t.get<"nodes/capacity.gpu">()[0];
        auto const state = t.get<"jobs/state">();
        auto const most = t.get<"jobs/max.gpu">();
        for (std::size_t job = 0; job < t.jobs(); ++job) {
            if (!ration::is_active(static_cast<ration::job_state>(state[job])) || most[job] < 1) continue;
            bool const helps = left > 0 && t.get<"jobs/speedup">()[job][1] > 0;
            left -= helps;
            if (!out.set(job, 0, ration::resource_id::gpu, helps)) return ration::status::capacity;
        }
        return ration::status::ok;
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        ration::state_writer to(space);
        to.put(mark);
        to.put(ticks_);
        return to.needed();
    }
    [[nodiscard]] ration::status load(std::span<std::byte const> saved) noexcept {
        ration::state_reader from(saved);
        std::uint64_t found = 0, ticks = 0;
        if (!from.get(found) || !from.get(ticks) || !from.finished() || found != mark) return ration::status::state;
        ticks_ = ticks;
        return ration::status::ok;
    }

private:
    static constexpr std::uint64_t mark = 0x6772656564793031;  // any bytes will do that others do not begin with
};

}  // namespace

RATION_EXPORT_POLICY(greedy)

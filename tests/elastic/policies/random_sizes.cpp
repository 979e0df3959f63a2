// SPDX-License-Identifier: BSL-1.0
// A policy that is never content: each job gets a number of devices at random, and another one as soon as it has
// trained on those.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <ration/job.hpp>
#include <ration/plugin/export.hpp>
#include <ration/state.hpp>

namespace {

using namespace ration;

class rng {
public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::uint64_t, "jobs/step">,
                           in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "jobs/min.gpu">,
                           in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "org.example.rng", .version = "1.0.0", .summary = "devices at random"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto left = t.get<"nodes/capacity.gpu">()[0];
        for (std::size_t row = 0; row < t.jobs() && row < jobs_.size(); ++row) {
            if (!is_active(static_cast<job_state>(t.get<"jobs/state">()[row]))) continue;
            auto& mine = jobs_[row];
            auto const step = t.get<"jobs/step">()[row];
            if (mine.given != t.get<"jobs/held.gpu">()[row]) mine.trains_from = step;
            if (mine.given == 0 || step >= mine.trains_from + 5)
                roll(mine, t.get<"jobs/min.gpu">()[row], std::min(left, t.get<"jobs/max.gpu">()[row]), step);
            left -= mine.given;
            if (!out.set(row, 0, resource_id::gpu, mine.given)) return status::capacity;
        }
        return status::ok;
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(rng_);
        for (auto const& one : jobs_) {
            out.put(one.given);
            out.put(one.trains_from);
        }
        return out.needed();
    }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        auto read = in.get(rng_);
        for (auto& one : jobs_) read = read && in.get(one.given) && in.get(one.trains_from);
        return read && in.finished() ? status::ok : status::state;
    }

private:
    struct entry {
        std::int64_t given = 0;
        std::uint64_t trains_from = 0;  // the step at which it was first seen with what it was given
    };

    void roll(entry& job, std::int64_t least, std::int64_t most, std::uint64_t step) noexcept {
        auto const before = job.given;
        auto const choices = static_cast<std::uint64_t>(std::max<std::int64_t>(1, most - least + 1));
        do {  // xorshift64
            rng_ ^= rng_ << 13;
            rng_ ^= rng_ >> 7;
            rng_ ^= rng_ << 17;
            job.given = least + static_cast<std::int64_t>(rng_ % choices);
        } while (job.given == before && choices > 1);
        job.trains_from = step;
    }

    std::uint64_t rng_ = 88172645463325252U;
    std::array<entry, 8> jobs_{};
};
static_assert(Policy<rng>);

}  // namespace

RATION_EXPORT_POLICY(rng)

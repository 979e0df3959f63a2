// SPDX-License-Identifier: BSL-1.0
// The baseline of elastic batches. Source: as elastic.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ration/policies/elastic_batch_dp.hpp>

#include "scene.hpp"

namespace published::elastic {

using policies::elastic_batch_overflow;
using parameters = policies::elastic_batch_dp_parameters;

/// The baseline, written down on its own: the autoscaler that gives devices and ignores batches. Its dynamic programme
/// is the plain recurrence. Jobs that hold devices keep them; arrivals come in, in order, while the fewest devices of
/// all fit.
class fixed_batch_autoscaler {
public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">,
                           in_rows<double, "jobs/goodput.fixed">, in<double, "jobs/restart_cost">,
                           in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "org.example.fixed-batch-autoscaler", .version = "1.0.0"};

    explicit fixed_batch_autoscaler(parameters const& p) : parameters_(p) {}

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!decided_ || t.now() - decided_at_ >= seconds(parameters_.interval)) decide_anew(t);
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (active(t, row) && (of(t, row).given > 0 || t.get<"jobs/held.gpu">()[row] > 0))
                static_cast<void>(out.set(row, 0, resource_id::gpu, of(t, row).given));
        return status::ok;
    }

private:
    struct standing {
        std::int64_t given = 0;
        bool is_in = false, is_out = false;
    };
    struct player {
        std::size_t row;
        // By devices; 0 = impossible. In units of 2^-40: sums of integers are equal when they should be
        std::vector<std::int64_t> worth;
        std::size_t least = 0;
    };

    parameters parameters_;
    std::vector<standing> jobs_;  // by id
    bool decided_ = false;
    nanoseconds decided_at_{0};

    [[nodiscard]] static bool active(tick<inputs> const& t, std::size_t row) noexcept {
        return is_active(static_cast<job_state>(t.get<"jobs/state">()[row]));
    }
    [[nodiscard]] standing& of(tick<inputs> const& t, std::size_t row) {
        std::size_t const id = t.get<"jobs/id">()[row];
        if (jobs_.size() <= id) jobs_.resize(id + 1);
        return jobs_[id];
    }

    /// F(k) in units of the speed of each of the fewest devices; less for a change.
    [[nodiscard]] player player_of(tick<inputs> const& t, std::size_t row) const {
        auto const speed = t.get<"jobs/goodput.fixed">()[row];
        auto const held = static_cast<std::size_t>(t.get<"jobs/held.gpu">()[row]);
        double const lost = parameters_.restart_penalty +
                            (parameters_.horizon > 0 ? t.get<"jobs/restart_cost">()[row] / parameters_.horizon : 0);
        player p{row, std::vector<std::int64_t>(speed.size()), 0};
        double one = 0;
        for (std::size_t k = 1; k < speed.size(); ++k) {
            if (one == 0 && speed[k] > 0) {
                one = speed[k] / static_cast<double>(k);
                p.least = k;
            }
            double const f = one > 0 ? speed[k] / one : 0;
            p.worth[k] = static_cast<std::int64_t>(0x1p40 * (held == 0 || k == held ? f : f * (1 - lost)));
        }
        return p;
    }

    void decide_anew(tick<inputs> const& t) {
        std::vector<player> in;
        auto const capacity = static_cast<std::size_t>(t.get<"nodes/capacity.gpu">()[0]);
        std::size_t left = capacity;
        for (bool const was_in : {true, false})
            for (std::size_t row = 0; row < t.jobs(); ++row) {
                standing& s = of(t, row);
                if (!active(t, row) || s.is_in != was_in || s.is_out) continue;
                auto p = player_of(t, row);
                bool const fits = p.least > 0 && p.least <= left;
                s = {.is_in = fits || was_in, .is_out = !fits && parameters_.overflow == elastic_batch_overflow::drop};
                if (!fits) continue;
                left -= p.least;
                in.push_back(std::move(p));
            }
        divide(t, in, capacity);
        decided_ = true;
        decided_at_ = t.now();
    }

    void divide(tick<inputs> const& t, std::vector<player> const& in, std::size_t capacity) {
        std::vector<std::int64_t> before(capacity + 1, 0), now;
        std::vector<std::vector<std::uint8_t>> choice;
        for (auto const& p : in) {
            now.assign(capacity + 1, std::int64_t{-1} << 60);
            choice.emplace_back(capacity + 1, 0);
            for (std::size_t k = 1; k <= capacity; ++k)
                for (std::size_t g = 1; g < p.worth.size() && g <= k; ++g)
                    if (p.worth[g] > 0 && before[k - g] + p.worth[g] > now[k]) {
                        now[k] = before[k - g] + p.worth[g];
                        choice.back()[k] = static_cast<std::uint8_t>(g);
                    }
            before.swap(now);
        }
        for (std::size_t j = in.size(), k = capacity; j-- > 0;) {
            std::size_t const g = choice[j][k];
            of(t, in[j].row).given = static_cast<std::int64_t>(g);
            k -= g;
        }
    }
};
static_assert(Policy<fixed_batch_autoscaler>);

}  // namespace published::elastic

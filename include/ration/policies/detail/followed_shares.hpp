// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The max-min division of devices, updated from tick to tick.
///
/// Part of `max_min`, for hosts that list changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include <ration/buffer.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/device_claim.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/followed_order.hpp>
#include <ration/policies/detail/ranked_jobs.hpp>
#include <ration/policies/detail/requested_devices.hpp>
#include <ration/policies/detail/row_set.hpp>
#include <ration/policies/detail/tournament.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration::policies::detail {

/// The service of a job for its weight, as of the begin of a round.
struct weighted_service {
    bool is_measured = false;
    double for_weight = 0;

    [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.is_measured, self.for_weight); }
    [[nodiscard]] bool sane() const noexcept { return is_finite(for_weight); }
    /// That of a job with this attained service now.
    [[nodiscard]] static weighted_service of(double attained, double weight) noexcept {
        double const quotient = attained / weight;
        return {.is_measured = true, .for_weight = is_finite(quotient) ? quotient : 0};
    }
};

/// `first_claim` is the order, and `last_claim` its reverse. In both, a place without a claim comes last.
struct first_claim {
    [[nodiscard]] bool operator()(device_claim const& a, device_claim const& b) const noexcept {
        return a.place != device_claim::none && (b.place == device_claim::none || device_claim::before(a, b));
    }
};
struct last_claim {
    [[nodiscard]] bool operator()(device_claim const& a, device_claim const& b) const noexcept {
        return a.place != device_claim::none && (b.place == device_claim::none || device_claim::before(b, a));
    }
};

/// The bounds, the devices and the share of each job. Progressive filling gives the devices in one order of all claims,
/// since the claims of a job ascend. So a division is right if no claim that is refused comes before one that is
/// accepted, and few exchanges lead from one division to the next. O(log jobs) for each job that changes and each
/// device that moves. If rows have moved, or the last tick had no list, O(jobs log jobs).
class followed_shares {
    struct job {
        line attained;                           // as of its time
        std::int64_t least = 0, most = 0;        // least 0: it cannot run
        std::int64_t held = 0, given = 0;        // given: at the last division
        double weight = 1, service = 0;          // service: for its weight, as of the begin of the round
        std::uint32_t row = device_claim::none;  // at the last tick; none = it was not there
        bool is_active = false, is_in = false;   // in: it is given its minimum at least
        bool has_moved_on = false;               // its service may differ from that of the begin of the round
    };
    job_memory<job> jobs_;
    ranked_jobs order_;  // by service
    tournament<device_claim, first_claim> next_;
    tournament<device_claim, last_claim> last_;
    row_set differing_;               // active jobs that do not hold their share
    row_set moved_on_;                // see `job::has_moved_on`
    buffer<std::uint32_t> fresh_;     // rows that may have no service yet
    buffer<std::uint32_t> in_, out_;  // rows that a division admits, or no longer admits
    buffer<std::uint32_t> new_rows_, lost_;
    bool heeds_wants_;
    std::size_t most_jobs_ = 0;
    std::int64_t capacity_ = 0, all_held_ = 0, all_given_ = 0;
    std::uint64_t active_ = 0;
    std::int64_t base_ = 0;    // time of the last tick without a list
    bool is_skipped_ = true;   // the last tick had no list
    bool is_unranked_ = true;  // services have changed by other means

public:
    /// `heeds_wants`: a job gets no more than it requests while it runs.
    explicit followed_shares(bool heeds_wants) noexcept : heeds_wants_(heeds_wants) {}

    /// Allocates for the largest tables, and removes all jobs.
    void reserve(limits const& most) noexcept {
        jobs_ = {};
        jobs_.reserve(most_jobs_ = most.jobs);
        order_.reserve(most.jobs);
        next_.reserve(most.jobs);
        last_.reserve(most.jobs);
        differing_.reset(most.jobs);
        moved_on_.reset(most.jobs);
        for (auto* rows : {&fresh_, &in_, &out_, &new_rows_, &lost_}) rows->reserve(most.jobs);
        is_skipped_ = true;
    }
    /// A tick without a list.
    void skip(nanoseconds now) noexcept {
        is_skipped_ = true;
        base_ = now.count;
    }
    /// The services have been loaded.
    void forget_services() noexcept { is_unranked_ = true; }

    /// Takes in what has changed since the last tick.
    template <class Tick>
    void follow(Tick const& t, placement& places, job_memory<weighted_service>& services) noexcept {
        places.follow(t, is_skipped_);
        auto const& changed = t.changes(table_id::jobs);
        bool const is_rebuilt = needs_rebuild();
        bool const moved = is_rebuilt || (changed.moved != 0 && !jobs_.begins(t.template get<"jobs/id">()));
        std::size_t const known = moved ? 0 : jobs_.size();
        moved ? move_rows(t, services) : add_rows(t, services);
        std::int64_t const capacity = is_rebuilt || !has_same_capacity(t) ? capacity_of(t) : capacity_;
        bool const renews_all = is_rebuilt || capacity != capacity_;
        capacity_ = capacity;
        auto const attained = t.template get<"jobs/attained">();
        // A row that is not listed has the value of the last tick.
        for (std::size_t row = 0; is_skipped_ && row < t.jobs(); ++row) jobs_[row].attained = {attained[row], base_};
        for (std::size_t i = 0; i < changed.count; ++i)
            if ((changed.groups[i] & progress_columns) != 0)
                jobs_[changed.row[i]].attained = {attained[changed.row[i]],
                                                  changed.at[i] < 0 ? t.now().count : changed.at[i]};
        for (std::size_t row = renews_all ? 0 : known; row < t.jobs(); ++row)
            if (renews_all || jobs_[row].row == device_claim::none) renew(t, row);
        for (std::size_t i = 0; i < changed.count; ++i) renew(t, changed.row[i]);
        is_skipped_ = is_unranked_ = false;
    }
    /// The situation for `division::is_outdated`.
    template <class Tick>
    [[nodiscard]] division situation(Tick const& t) const noexcept {
        auto const ids = t.template get<"jobs/id">();
        return {.is_made = true,
                .at = t.now(),
                .last_id = ids.empty() ? 0 : ids.back(),
                .active = active_,
                .capacity = capacity_};
    }

    /// Records the service of new jobs, or, with `all`, of all jobs.
    void measure(job_memory<weighted_service>& services, nanoseconds now, bool all) noexcept {
        for (std::uint32_t const row : fresh_)
            if (!services[row].is_measured) measure(services[row], row, now);
        fresh_.clear();
        for (std::size_t row = all ? moved_on_.next(0) : row_set::none; row != row_set::none;
             row = moved_on_.next(row + 1)) {
            measure(services[row], row, now);
            moved_on_.set(row, jobs_[row].held != 0);
        }
    }

    /// Divides the devices that jobs hold or that are free. Precondition: `places` has started its plan.
    template <class Tick>
    void divide(Tick const& t, placement const& places) noexcept {
        std::int64_t devices = places.spare() + all_held_;
        lost_.clear();
        for (std::size_t i = 0; i < places.touched(); ++i) {
            std::uint32_t const row = places.touched_row(i);
            if (!jobs_[row].is_active) continue;
            devices -= jobs_[row].held - places.held(t, row);
            lost_.push_back(row);
        }
        admit(devices);
        while (all_given_ > devices && last_.first().place != device_claim::none) give(last_.first().place, -1);
        while (all_given_ < devices && next_.first().place != device_claim::none) give(next_.first().place, 1);
        while (last_.first().place != device_claim::none && first_claim{}(next_.first(), last_.first())) {
            std::uint32_t const from = last_.first().place, to = next_.first().place;
            give(from, -1);
            give(to, 1);
        }
    }

    /// Plans the division. Jobs that shrink come first, so that their devices are free.
    template <class Tick>
    void apply(Tick const& t, placement& places) noexcept {
        for (std::uint32_t const row : lost_) differing_.set(row, true);
        for (bool const growing : {false, true})
            for (std::size_t row = differing_.next(0); row != row_set::none; row = differing_.next(row + 1)) {
                std::int64_t const held = places.held(t, row), target = jobs_[row].given;
                if (held == target || (target > held) != growing) continue;
                places.resize(t, row, target, target > 0 ? elastic_jobs::its_share : elastic_jobs::others_first);
            }
        for (std::uint32_t const row : lost_) note_difference(row);
    }

private:
    /// True if the order of the last tick is of no use.
    [[nodiscard]] bool needs_rebuild() const noexcept { return is_skipped_ || is_unranked_; }
    [[nodiscard]] double attained_of(job const& j, nanoseconds now) const noexcept {
        return j.attained.value + static_cast<double>(j.held) * to_seconds(now - nanoseconds{j.attained.since});
    }
    void measure(weighted_service& service, std::size_t row, nanoseconds now) noexcept {
        service = weighted_service::of(attained_of(jobs_[row], now), jobs_[row].weight);
        if (jobs_[row].service == service.for_weight) return;
        jobs_[row].service = service.for_weight;
        rank(row);
    }

    /// Appends rows for new jobs.
    template <class Tick>
    void add_rows(Tick const& t, job_memory<weighted_service>& services) noexcept {
        auto const ids = t.template get<"jobs/id">();
        std::size_t const known = jobs_.size();
        jobs_.follow_new(ids);
        services.follow_new(ids);
        order_.grow(ids.size());
        for (std::size_t row = known; row < ids.size(); ++row) fresh_.push_back(static_cast<std::uint32_t>(row));
        if (next_.room() <= ids.size()) make_room(ids.size());
    }
    /// Gives the jobs their present rows.
    template <class Tick>
    void move_rows(Tick const& t, job_memory<weighted_service>& services) noexcept {
        auto const ids = t.template get<"jobs/id">();
        new_rows_.clear();
        for (std::size_t row = 0; row < jobs_.size(); ++row) {
            jobs_[row].row = static_cast<std::uint32_t>(row);
            jobs_[row].has_moved_on = needs_rebuild() || moved_on_.contains(row);
            new_rows_.push_back(device_claim::none);
        }
        jobs_.follow(ids);
        services.follow(ids);
        differing_.reset(ids.size());
        moved_on_.reset(ids.size());
        fresh_.clear();
        all_held_ = all_given_ = 0;
        active_ = 0;
        for (std::size_t row = 0; row < ids.size(); ++row) {
            job& j = jobs_[row];
            if (j.row != device_claim::none) new_rows_[j.row] = static_cast<std::uint32_t>(row);
            if (!services[row].is_measured) fresh_.push_back(static_cast<std::uint32_t>(row));
            j.service = services[row].for_weight;
            if (j.has_moved_on) moved_on_.set(row, true);
            count(j, 1);
            all_given_ += j.given;
        }
        order_.move_rows(new_rows_.view(), ids.size());
        for (std::size_t row = 0; needs_rebuild() && row < ids.size(); ++row) rank(row);
        make_room(ids.size());
    }
    /// Sets all claims, with room for further rows.
    void make_room(std::size_t rows) noexcept {
        std::size_t const room = 2 * rows < most_jobs_ ? 2 * rows : most_jobs_;
        next_.reset(room > rows ? room : rows);
        last_.reset(room > rows ? room : rows);
        for (std::size_t row = 0; row < rows; ++row) claim(row);
    }

    /// Reads a row.
    template <class Tick>
    void renew(Tick const& t, std::size_t row) noexcept {
        job& j = jobs_[row];
        std::int64_t const least_before = j.least;
        count(j, -1);
        j.is_active = is_active(static_cast<job_state>(t.template get<"jobs/state">()[row]));
        j.held = t.template get<"jobs/held.gpu">()[row];
        j.weight = valid_weight(t.template get<"jobs/weight">()[row]);
        auto const [least, most] = accepted_devices(t, row, heeds_wants_);
        j.most = most < capacity_ ? most : capacity_;
        j.least = least > 1 ? least : 1;
        if (!j.is_active || j.least > j.most) j.least = 0;
        count(j, 1);
        moved_on_.set(row, true);
        if (j.least != least_before || j.given > j.most) {
            all_given_ -= j.given;
            j.given = 0;
            j.is_in = false;
            rank(row);
        }
        claim(row);
        note_difference(row);
    }
    void count(job const& j, int sign) noexcept {
        if (!j.is_active) return;
        active_ += static_cast<std::uint64_t>(sign);
        all_held_ += sign * j.held;
    }
    void rank(std::size_t row) noexcept {
        job const& j = jobs_[row];
        order_.put(row, {j.service}, {.wanted = j.least, .holds = j.is_in, .lacks = !j.is_in});
    }
    void note_difference(std::size_t row) noexcept {
        differing_.set(row, jobs_[row].is_active && jobs_[row].held != jobs_[row].given);
    }
    /// Sets the job's claims for one more device and for the last one that it is given.
    void claim(std::size_t row) noexcept {
        job const& j = jobs_[row];
        auto const of = [&](std::int64_t devices) noexcept { return device_claim::of(devices, j.weight, j.held, row); };
        next_.set(row, j.is_in && j.given < j.most ? of(j.given) : device_claim{});
        last_.set(row, j.is_in && j.given > j.least ? of(j.given - 1) : device_claim{});
    }
    void give(std::size_t row, std::int64_t devices) noexcept {
        jobs_[row].given += devices;
        all_given_ += devices;
        claim(row);
        note_difference(row);
    }

    /// Gives each job its minimum in the order of service, if it fits; the others get nothing.
    void admit(std::int64_t devices) noexcept {
        in_.clear();
        out_.clear();
        order_.divide(
            devices, [&](std::uint32_t row) noexcept { out_.push_back(row); },
            [&](std::uint32_t row) noexcept { in_.push_back(row); });
        for (std::uint32_t const row : out_) {
            jobs_[row].is_in = false;
            give(row, -jobs_[row].given);
            rank(row);
        }
        for (std::uint32_t const row : in_) {
            jobs_[row].is_in = true;
            give(row, jobs_[row].least);
            rank(row);
        }
    }
};

}  // namespace ration::policies::detail

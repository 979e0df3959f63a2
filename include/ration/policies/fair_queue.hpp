// SPDX-License-Identifier: BSL-1.0
/// fair_queue: a queue for each tenant, served in turn by weight. Sources: the queue of C. Zheng, Q. Zhuang and F. Guo,
/// "A Multi-Tenant Framework for Cloud Container Services", ICDCS 2021, for the order wrr; S. J. Golestani, "A
/// Self-Clocked Fair Queueing Scheme for Broadband Applications", INFOCOM 1994, for the tags.
///
/// For a shared machine on which one tenant may submit many jobs at once. `drf` divides the devices by present
/// holdings, and `fair_tree` by past usage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/tenant_queues.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// The cost of a turn of a tenant: each job the same, or its devices.
enum class queue_order : std::uint8_t { wrr, virtual_time };
/// The words of `queue_order` in a configuration, in the order of its values.
inline constexpr std::string_view queue_order_names[] = {"wrr", "virtual_time"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(queue_order) noexcept { return queue_order_names; }

/// Parameters of `fair_queue`; each member has its unit and its default.
struct fair_queue_parameters {
    queue_order order = queue_order::wrr;  ///< what a turn costs
    bool backfill = false;                 ///< if the next job does not fit, others are tried

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "order",
         .meaning = "wrr counts each job of a tenant alike (weighted round robin), virtual_time counts its devices"},
        detail::backfill_note};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Each tenant has a queue in the order of submission. The next job to start has the smallest finish tag: that of its
/// tenant's job before it, or, after an empty queue, the present virtual time, and the cost of the job for the weight
/// of the tenant. The virtual time is the tag of the last start. So a tenant with an empty queue gains no credit, and a
/// tenant whose job is next waits for at most one job of each other tenant, the largest.
///
/// Running jobs are never stopped. A job beyond the limit of its tenant blocks only that tenant. Weights count among
/// all tenants; parents are not read. A start counts when it is granted.
///
/// O(changes + tenants), and O(tenants) for each start. With `backfill`, each waiting job that is tried costs as much.
/// Without a list of changes, also O(jobs). State: two tags for each tenant, by its id.
class fair_queue {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = fair_queue_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<std::uint32_t, "jobs/tenant">, in<std::uint64_t, "tenants/id">,
                                         in<std::uint32_t, "tenants/parent">, in<double, "tenants/weight">,
                                         in<std::int64_t, "tenants/limit.gpu">, in<std::int64_t, "tenants/held.gpu">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.fair-queue",
                                .version = "1.0.0",
                                .summary = "a queue for each tenant, served in turn by weight",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    fair_queue() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit fair_queue(fair_queue_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        queues_.reserve(most);
        room_.reserve(most);
        turns_.reserve(most.tenants + 1);
        accounts_.reserve(most.tenants + 1);
        former_accounts_.reserve(most.tenants + 1);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        bool const moved = jobs_.follow(t);
        queues_.follow(t, jobs_, moved);
        begin_tags(t);
        if (jobs_.plan(t, false)) start_jobs(t);
        note_waits();
        return jobs_.finish(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(number_);
        out.put(was_asked_);
        out.put(times_);
        out.put(std::uint64_t{accounts_.size()});
        for (auto const& one : accounts_) out.put(one);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        std::uint64_t number = 0, size = 0;
        bool was_asked = false;
        virtual_times times;
        buffer<account> accounts;
        if (!in.get(number) || !in.get(was_asked) || !in.get(times) || !in.get(size) ||
            size > in.left() / sizeof(std::uint64_t))
            return status::state;
        accounts.reserve(size > accounts_.capacity() ? size : accounts_.capacity());
        for (account one; size > 0; --size) {
            if (!in.get(one)) return status::state;
            accounts.push_back(one);
        }
        if (!in.finished()) return status::state;
        number_ = number;
        was_asked_ = was_asked;
        times_ = times;
        accounts_ = std::move(accounts);
        former_accounts_.reserve(accounts_.capacity());
        return status::ok;
    }

private:
    [[nodiscard]] static bool is_time(double value) noexcept { return is_finite(value) && value >= 0; }

    /// The finish tag of a tenant's last job that started.
    struct tag {
        double finish = 0;
        bool waits = false;  // jobs waited after the last answer
    };
    /// The tags of a tenant after the last answer, and before it.
    struct account {
        std::uint64_t tenant = 0;  // its id; 0 = jobs of no tenant
        tag now{}, before{};

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.tenant, self.now.finish, self.now.waits, self.before.finish, self.before.waits);
        }
        [[nodiscard]] bool sane() const noexcept { return is_time(now.finish) && is_time(before.finish); }
    };
    struct virtual_times {
        double now = 0, before = 0;

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.now, self.before); }
        [[nodiscard]] bool sane() const noexcept { return is_time(now) && is_time(before); }
    };
    /// The next job of a queue, and its finish tag.
    struct turn {
        std::uint32_t row = detail::tenant_queues::none;
        double finish = 0;
    };

    fair_queue_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::tenant_queues queues_;
    detail::tenant_room room_;
    buffer<turn> turns_;  // by queue
    virtual_times times_;
    buffer<account> accounts_;         // by queue
    buffer<account> former_accounts_;  // space for `follow_tenants`
    std::uint64_t number_ = 0;
    bool was_asked_ = false;

    /// A tick that is asked again starts from the same tags. A tenant whose queue was empty starts at the present.
    void begin_tags(tick<inputs> const& t) noexcept {
        bool const is_asked_again = was_asked_ && t.number() == number_;
        number_ = t.number();
        was_asked_ = true;
        (is_asked_again ? times_.now : times_.before) = is_asked_again ? times_.before : times_.now;
        follow_tenants(t.get<"tenants/id">());
        for (account& of : accounts_) {
            (is_asked_again ? of.now : of.before) = is_asked_again ? of.before : of.now;
            if (!of.now.waits && of.now.finish < times_.now) of.now.finish = times_.now;
        }
    }
    /// Moves the tags to the present rows of their tenants. O(tenants) if few rows have moved.
    void follow_tenants(std::span<std::uint64_t const> ids) noexcept {
        bool is_same = accounts_.size() == ids.size() + 1;
        for (std::size_t row = 0; is_same && row < ids.size(); ++row) is_same = accounts_[row + 1].tenant == ids[row];
        if (is_same) return;
        former_accounts_.assign(accounts_.data(), accounts_.size());
        accounts_.reset(ids.size() + 1);
        if (!former_accounts_.empty()) accounts_[0] = former_accounts_[0];
        std::size_t last = 0;
        for (std::size_t row = 0; row < ids.size(); ++row) {
            last = former_place(ids[row], last);
            accounts_[row + 1] = last > 0 ? former_accounts_[last] : account{.tenant = ids[row]};
        }
    }
    /// The place of a tenant among the former accounts, found fastest behind `last`; 0 if it has none.
    [[nodiscard]] std::size_t former_place(std::uint64_t tenant, std::size_t last) const noexcept {
        for (std::size_t tried = 0, place = last; tried < former_accounts_.size(); ++tried) {
            place = place + 1 < former_accounts_.size() ? place + 1 : 0;
            if (place > 0 && former_accounts_[place].tenant == tenant) return place;
        }
        return 0;
    }
    /// Remembers the queues that are not empty after the plan.
    void note_waits() noexcept {
        constexpr auto none = detail::tenant_queues::none;
        for (std::size_t queue = 0; queue < queues_.size(); ++queue)
            accounts_[queue].now.waits = queues_.first(queue) != none;
        for (std::size_t i = 0; i < jobs_.planned(); ++i)
            if (std::uint32_t const queue = queues_.of_job(jobs_.planned_row(i)); queue != none)
                accounts_[queue].now.waits = queues_.waiting(jobs_, queues_.first(queue)) != none;
    }

    [[nodiscard]] static std::uint32_t tenant_of(std::size_t queue) noexcept {
        return queue == 0 ? no_tenant : static_cast<std::uint32_t>(queue - 1);
    }
    /// The devices that the job lacks.
    [[nodiscard]] std::int64_t lack(std::uint32_t row) const noexcept { return jobs_.wanted(row) - jobs_.held(row); }

    /// The turn of the job in this row, of a queue.
    [[nodiscard]] turn turn_of(tick<inputs> const& t, std::size_t queue, std::uint32_t row) const noexcept {
        if (row == detail::tenant_queues::none) return {};
        double const cost = parameters_.order == queue_order::wrr ? 1 : static_cast<double>(lack(row));
        return {row, accounts_[queue].now.finish + cost / detail::bounded_weight(t, tenant_of(queue))};
    }
    /// The queue with the smallest finish tag; the number of queues if no job waits.
    [[nodiscard]] std::size_t next_queue() const noexcept {
        std::size_t next = turns_.size();
        for (std::size_t queue = 0; queue < turns_.size(); ++queue)
            if (turns_[queue].row != detail::tenant_queues::none &&
                (next == turns_.size() || turns_[queue].finish < turns_[next].finish))
                next = queue;
        return next;
    }

    void start_jobs(tick<inputs> const& t) noexcept {
        queues_.add_stopped(t, jobs_);
        room_.begin(t);
        turns_.clear();
        for (std::size_t queue = 0; queue < queues_.size(); ++queue)
            turns_.push_back(turn_of(t, queue, queues_.first(queue)));
        while (jobs_.spare() > 0) {
            std::size_t const queue = next_queue();
            if (queue == turns_.size() || !take_turn(t, queue)) return;
        }
    }
    /// Returns false if all other tenants have to wait for this one.
    [[nodiscard]] bool take_turn(tick<inputs> const& t, std::size_t queue) noexcept {
        turn const now = turns_[queue];
        turns_[queue] = {};
        if (jobs_.waits(now.row)) {  // otherwise the plan has given it devices for those of a lost node
            std::int64_t const devices = lack(now.row);
            if (!room_.admits(t, tenant_of(queue), devices)) return true;
            if (jobs_.start(t, now.row)) {
                room_.add(t, tenant_of(queue), devices);
                accounts_[queue].now.finish = now.finish;
                if (times_.now < now.finish) times_.now = now.finish;
            } else if (!parameters_.backfill) {
                return false;
            }
        }
        turns_[queue] = turn_of(t, queue, queues_.waiting(jobs_, queues_.next(now.row)));
        return true;
    }
};

static_assert(Policy<fair_queue>);

}  // namespace ration::policies

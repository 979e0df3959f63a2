// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/engine.hpp"
/// The sums over the jobs of each tenant: what they hold and demand, their numbers, and the decayed usage.
///
/// Used by the engine, and by other callers of `check`, which reads the limits of tenants here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/host/ledger.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>
#include <ration/tenant.hpp>

namespace ration::detail {

/// The tenants whose usage may change with time. O(1) for each call and tenant.
class used_tenants {
    buffer<std::uint32_t> rows_;       // in no particular order
    buffer<std::uint32_t> is_listed_;  // by tenant: 1 or 0

public:
    /// Allocates for this number of tenants.
    void reserve(std::size_t tenants) noexcept {
        rows_.reserve(tenants);
        is_listed_.reserve(tenants);
    }
    /// Lists all tenants, of which there are this number.
    void fill(std::size_t tenants) noexcept {
        rows_.clear();
        is_listed_.reset(tenants);
        for (std::uint32_t t = 0; t < tenants; ++t) add(t);
    }
    /// Lists a tenant.
    void add(std::uint32_t tenant) noexcept {
        if (is_listed_[tenant] != 0) return;
        is_listed_[tenant] = 1;
        rows_.push_back(tenant);
    }
    /// Calls `act` for each, and keeps those for which it returns true.
    template <class Act>
    void update(Act const& act) noexcept {
        std::size_t kept = 0;
        for (std::uint32_t const tenant : rows_) {
            is_listed_[tenant] = act(tenant) ? 1 : 0;
            if (is_listed_[tenant] != 0) rows_[kept++] = tenant;
        }
        rows_.resize(kept);
    }
};

/// Keeps tenants/held.*, demand.*, usage.*, waiting and running up to date. It remembers what each job adds, so that
/// a tick costs O(changed jobs x resources x depth of the tree), and O(tenants x resources) for the tenants whose usage
/// changes with time. Without a list of changes it compares all jobs and reads all tenants. A resource whose columns of
/// jobs have one row for all (`snapshot_store::omit`) needs no memory for each job. Tenants do not share a setting, so
/// its sums are 0 and it has no limit.
class tenant_sums {
    enum class part : std::uint32_t { none, waiting, running };
    struct job_entry {
        std::uint32_t tenant = no_tenant;
        part in = part::none;
    };
    /// Of one job and resource.
    struct job_amounts {
        std::int64_t held = 0, demand = 0;
        friend constexpr bool operator==(job_amounts const&, job_amounts const&) noexcept = default;
    };
    /// Of one tenant and resource.
    struct sums {
        std::int64_t held = 0, demand = 0, limit = unlimited;
        std::uint32_t unbounded = 0;  ///< jobs whose demand has no bound
    };

    buffer<std::uint64_t> ids_;  // by row of the jobs table, as the next two
    buffer<job_entry> entries_;
    buffer<job_amounts> amounts_;            // `stored_` for each row
    buffer<column<std::int64_t>> requests_;  // by resource; width 0: the host has none
    buffer<std::size_t> places_;             // by resource: the place among those of a row, or `same_for_all`
    buffer<sums> sums_;                      // tenant-major
    buffer<std::uint32_t> parents_;
    used_tenants used_;
    std::size_t resources_ = 0, stored_ = 0;
    nanoseconds at_{}, half_life_{};
    bool has_base_ = false, is_limited_ = false, is_read_ = false;

    static constexpr std::size_t same_for_all = ~std::size_t{0};

public:
    /// The largest numbers of rows.
    struct size_limits {
        std::size_t jobs = 0, tenants = 0;
    };

    /// Allocates. `half_life`: time in which usage halves; 0 = never. `is_read`: a policy reads the sums; otherwise
    /// only limits are a reason to keep them.
    void prepare(snapshot_store const& store, standard_columns const& columns, size_limits const& most,
                 nanoseconds half_life, bool is_read) noexcept {
        resources_ = columns.resources.size();
        half_life_ = half_life;
        is_read_ = is_read;
        has_base_ = false;
        requests_.reset(resources_);
        places_.reset(resources_);
        stored_ = 0;
        for (std::size_t r = 0; r < resources_; ++r) {
            requests_[r].width = 0;
            if (r < std::size(standard_resources)) {
                auto const name = text<2 * longest_column_name>("jobs/request.").append(standard_resources[r].name);
                if (auto const known = store.find<std::int64_t>(name.view())) requests_[r] = *known;
            }
            resource_columns const& c = columns.resources[r];
            bool const is_stored = c.held.width > 0 || c.maximum.width > 0 || requests_[r].width > 0;
            places_[r] = is_stored && !c.is_setting ? stored_++ : same_for_all;
        }
        if (most.tenants == 0) return;
        ids_.reserve(most.jobs);
        entries_.reserve(most.jobs);
        amounts_.reserve(most.jobs * stored_);
        sums_.reserve(most.tenants * resources_);
        parents_.reserve(most.tenants);
        used_.reserve(most.tenants);
    }

    /// Takes in the time and what the host has changed since `end`. The columns jobs/held.* are those after the last
    /// grants.
    void begin(snapshot_store& store, standard_columns const& columns, nanoseconds now) noexcept {
        if (store.changes().has_marked_tenants() || store.rows(table_id::tenants) != parents_.size())
            read_tenants(store, columns);
        if (!is_kept()) return static_cast<void>(has_base_ = false);
        if (has_base_) pass(store, columns, now);
        at_ = now;
        follow(store, columns);
    }
    /// Takes in what the grants of a tick have changed.
    void end(snapshot_store& store, standard_columns const& columns) noexcept {
        if (is_kept()) follow(store, columns);
    }

    /// These sums where a tenant has a limit; otherwise nullptr.
    [[nodiscard]] tenant_sums const* limits_of() const noexcept { return is_limited_ ? this : nullptr; }
    /// The number of tenants.
    [[nodiscard]] std::size_t size() const noexcept { return parents_.size(); }
    /// The tenant of a job, or `no_tenant`.
    [[nodiscard]] std::uint32_t owner(std::size_t row) const noexcept { return entries_[row].tenant; }
    /// The tenant above one, or `no_tenant`.
    [[nodiscard]] std::uint32_t parent(std::uint32_t tenant) const noexcept { return parents_[tenant]; }
    /// The amount that a tenant never exceeds.
    [[nodiscard]] std::int64_t limit(std::uint32_t tenant, resource_id r) const noexcept { return of(tenant, r).limit; }
    /// The amount that its jobs hold.
    [[nodiscard]] std::int64_t held(std::uint32_t tenant, resource_id r) const noexcept { return of(tenant, r).held; }

private:
    [[nodiscard]] bool is_kept() const noexcept { return !parents_.empty() && (is_read_ || is_limited_); }
    [[nodiscard]] sums const& of(std::uint32_t tenant, resource_id r) const noexcept {
        return sums_[tenant * resources_ + static_cast<std::size_t>(r)];
    }

    /// Reads the tree, the limits and the usage. A tree that differs makes all sums void. O(tenants x resources).
    void read_tenants(snapshot_store const& store, standard_columns const& columns) noexcept {
        std::size_t const size = store.rows(table_id::tenants);
        std::uint32_t const* const parents = store.data(columns.tenants.parent);
        has_base_ = has_base_ && size == parents_.size();
        parents_.resize(size);
        sums_.resize(size * resources_);
        for (std::size_t t = 0; t < size; ++t) {
            // A row that is not before its child would make a walk to the root endless.
            std::uint32_t const parent = parents[t] < t ? parents[t] : no_tenant;
            has_base_ = has_base_ && parents_[t] == parent;
            parents_[t] = parent;
        }
        is_limited_ = false;
        for (std::size_t r = 0; r < resources_; ++r) {
            std::int64_t const* const limit = store.data(columns.resources[r].of_tenants.limit);
            for (std::size_t t = 0; t < size; ++t) {
                bool const is_limit = limit[t] <= max_amount && !columns.resources[r].is_setting;
                sums_[t * resources_ + r].limit = is_limit ? limit[t] : unlimited;
                is_limited_ = is_limited_ || is_limit;
            }
        }
        used_.fill(size);
    }

    /// Lets usage decay and grow: dU/dt = held - U ln 2 / half-life, exactly.
    void pass(snapshot_store& store, standard_columns const& columns, nanoseconds now) noexcept {
        double const passed = to_seconds(now - at_), half = to_seconds(half_life_);
        if (!(passed > 0)) return;
        constexpr double ln2 = 0.693147180559945309;
        double const lost = half > 0 ? -__builtin_expm1(-ln2 * passed / half) : 0;
        double const gained = half > 0 ? lost * half / ln2 : passed;
        used_.update([&](std::uint32_t tenant) noexcept {
            bool changes = false;
            for (std::size_t r = 0; r < resources_; ++r) {
                double& usage = store.at(columns.resources[r].of_tenants.usage, tenant);
                std::int64_t const held = sums_[tenant * resources_ + r].held;
                usage += static_cast<double>(held) * gained - usage * lost;
                changes = changes || held != 0 || (half > 0 && usage != 0);
            }
            return changes;
        });
    }

    void follow(snapshot_store& store, standard_columns const& columns) noexcept {
        table_changes const& changes = store.changes().of(table_id::jobs);
        bool const any = changes.everything != 0 || !has_base_;
        if (!has_base_) forget(store, columns);
        if (any || changes.moved != 0) move_rows(store, columns);
        std::size_t const rows = store.rows(table_id::jobs);
        std::uint64_t const* const ids = store.data(columns.id);
        while (ids_.size() < rows) append(ids[ids_.size()]);
        if (any)
            for (std::size_t row = 0; row < rows; ++row) renew(store, columns, row);
        else
            for (std::size_t i = 0; i < changes.count; ++i) renew(store, columns, changes.row[i]);
        has_base_ = true;
    }

    /// Removes all jobs, and keeps the usage.
    void forget(snapshot_store& store, standard_columns const& columns) noexcept {
        ids_.clear();
        entries_.clear();
        amounts_.clear();
        for (std::size_t t = 0; t < parents_.size(); ++t) {
            store.at(columns.tenants.waiting, t) = store.at(columns.tenants.running, t) = 0;
            for (std::size_t r = 0; r < resources_; ++r) {
                sums_[t * resources_ + r] = {.limit = sums_[t * resources_ + r].limit};
                show(store, columns, static_cast<std::uint32_t>(t), r);
            }
        }
    }

    void append(std::uint64_t id) noexcept {
        ids_.push_back(id);
        entries_.push_back({});
        for (std::size_t k = 0; k < stored_; ++k) amounts_.push_back({});
    }

    /// Moves what is known of each job to its present row, and subtracts what the jobs without a row added. Both lists
    /// ascend. O(rows).
    void move_rows(snapshot_store& store, standard_columns const& columns) noexcept {
        std::uint64_t const* const ids = store.data(columns.id);
        std::size_t const rows = store.rows(table_id::jobs);
        std::size_t kept = remove_gone(store, columns, ids, rows);
        while (ids_.size() < rows) append(0);
        // From the last row on, so that none is written before it is read. Usually all new jobs are the last.
        for (std::size_t row = rows; row > kept; --row) {
            bool const is_known = kept > 0 && ids_[kept - 1] == ids[row - 1];
            ids_[row - 1] = ids[row - 1];
            if (is_known) {
                move_row(--kept, row - 1);
                continue;
            }
            entries_[row - 1] = {};
            for (std::size_t k = 0; k < stored_; ++k) amounts_[(row - 1) * stored_ + k] = {};
        }
    }

    /// Subtracts what the jobs without a row added, and closes the gaps. Returns the number of the others.
    [[nodiscard]] std::size_t remove_gone(snapshot_store& store, standard_columns const& columns,
                                          std::uint64_t const* ids, std::size_t rows) noexcept {
        std::size_t kept = 0, row = 0;
        for (std::size_t old = 0; old < ids_.size(); ++old) {
            while (row < rows && ids[row] < ids_[old]) ++row;
            if (row == rows || ids[row] != ids_[old]) {
                drop(store, columns, old);
                continue;
            }
            ids_[kept] = ids_[old];
            move_row(old, kept++);
        }
        ids_.resize(kept);
        entries_.resize(kept);
        amounts_.resize(kept * stored_);
        return kept;
    }

    void move_row(std::size_t from, std::size_t to) noexcept {
        entries_[to] = entries_[from];
        for (std::size_t k = 0; k < stored_; ++k) amounts_[to * stored_ + k] = amounts_[from * stored_ + k];
    }

    void drop(snapshot_store& store, standard_columns const& columns, std::size_t row) noexcept {
        bool const was_active = entries_[row].in != part::none;
        set_part(store, columns, row, {});
        for (std::size_t r = 0; r < resources_; ++r) set_amounts(store, columns, row, r, was_active, {});
        entries_[row].tenant = no_tenant;
    }

    /// Reads a row.
    void renew(snapshot_store& store, standard_columns const& columns, std::size_t row) noexcept {
        std::uint32_t const named = store.at(columns.tenant, row);
        std::uint32_t const tenant = named < parents_.size() ? named : no_tenant;
        if (tenant != entries_[row].tenant) drop(store, columns, row);
        entries_[row].tenant = tenant;
        auto const state = static_cast<job_state>(store.at(columns.state, row));
        bool const active = is_active(state), was_active = entries_[row].in != part::none;
        set_part(store, columns, row,
                 !active                      ? part::none
                 : state == job_state::queued ? part::waiting
                                              : part::running);
        for (std::size_t r = 0; r < resources_; ++r) {
            if (places_[r] == same_for_all && active == was_active) continue;
            set_amounts(store, columns, row, r, was_active, amounts_in(store, columns, row, r, active));
        }
    }

    [[nodiscard]] job_amounts amounts_in(snapshot_store const& store, standard_columns const& columns, std::size_t row,
                                         std::size_t r, bool active) const noexcept {
        resource_columns const& c = columns.resources[r];
        if (c.is_setting) return {};
        std::int64_t const demand = requests_[r].width == 0 ? store.at(c.maximum, row) : store.at(requests_[r], row);
        bool const is_amount = demand >= 0 && demand <= max_amount;  // no sum of amounts overflows
        return {ledger::counted(store.at(c.held, row)), !active ? 0
                                                        : is_amount || demand == unlimited
                                                            ? demand
                                                            : within(demand, {0, max_amount})};
    }

    void set_part(snapshot_store& store, standard_columns const& columns, std::size_t row, part in) noexcept {
        job_entry& entry = entries_[row];
        if (entry.in == in) return;
        for (std::uint32_t t = entry.tenant; t != no_tenant; t = parents_[t]) {
            store.at(columns.tenants.waiting, t) +=
                (in == part::waiting ? 1u : 0u) - (entry.in == part::waiting ? 1u : 0u);
            store.at(columns.tenants.running, t) +=
                (in == part::running ? 1u : 0u) - (entry.in == part::running ? 1u : 0u);
        }
        entry.in = in;
    }

    /// The job adds `now` to the sums. `was_active`: it was active the last time.
    void set_amounts(snapshot_store& store, standard_columns const& columns, std::size_t row, std::size_t r,
                     bool was_active, job_amounts const& now) noexcept {
        bool const is_stored = places_[r] != same_for_all;
        std::size_t const place = row * stored_ + places_[r];
        job_amounts const was = is_stored ? amounts_[place] : amounts_in(store, columns, row, r, was_active);
        if (was == now) return;
        for (std::uint32_t t = entries_[row].tenant; t != no_tenant; t = parents_[t]) {
            sums& all = sums_[t * resources_ + r];
            all.held += now.held - was.held;
            all.demand += ledger::counted(now.demand) - ledger::counted(was.demand);
            all.unbounded += (now.demand == unlimited ? 1u : 0u) - (was.demand == unlimited ? 1u : 0u);
            show(store, columns, t, r);
            used_.add(t);
        }
        if (is_stored) amounts_[place] = now;
    }

    void show(snapshot_store& store, standard_columns const& columns, std::uint32_t tenant, std::size_t r) noexcept {
        sums const& all = sums_[tenant * resources_ + r];
        auto const& c = columns.resources[r].of_tenants;
        store.at(c.held, tenant) = all.held;
        store.at(c.demand, tenant) = all.unbounded > 0 ? unlimited : all.demand;
    }
};

}  // namespace ration::detail

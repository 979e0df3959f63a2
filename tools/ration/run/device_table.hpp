// SPDX-License-Identifier: BSL-1.0
/// Who has which device. A device belongs to one job or to nobody; there is no other state that could contradict this
/// one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

/// Devices of a run, by their numbers in the table.
using device_list = std::vector<std::uint32_t>;

/// Says which devices a job shall have where several would do.
class device_chooser {
public:
    /// `count` devices for a job that has `held`: some of these, or all of them and some of `free`, of which there are
    /// enough. Those that stay come first, in their order.
    [[nodiscard]] virtual device_list choose(job_id job, device_list const& held, device_list const& free,
                                             std::int64_t count) = 0;
    /// The job has no devices any more.
    virtual void forget(job_id job) = 0;

protected:
    ~device_chooser() = default;
};

/// The choice of those who know nothing of the devices: the first of `held`, then the lowest numbers.
[[nodiscard]] device_list lowest_devices(device_list held, device_list const& free, std::int64_t count);

class device_table {
    struct row {
        std::string name;
        job_id owner{};  // 0: nobody
        bytes memory{};
        bool cordoned = false;
    };
    std::vector<row> rows_;
    std::vector<std::pair<job_id, bytes>> needs_;
    std::string whole_;  // that all devices are shares of
    device_chooser* chooser_ = nullptr;
    char const* why_frozen_ = "";

public:
    device_table() = default;
    explicit device_table(std::span<std::string const> names) {
        for (auto const& name : names) rows_.push_back({name, {}, {}, false});
    }

    /// From now on `chooser`, which has to outlive the table, says which devices a job gets; before, the lowest
    /// numbers.
    void choose_by(device_chooser& chooser) noexcept { chooser_ = &chooser; }

    /// From now on all devices are shares of this one, which is what jobs see; empty: they are devices of their own.
    void are_shares_of(std::string whole) { whole_ = std::move(whole); }

    /// The memory of each device, in the order of the numbers. Those of which nothing is said have none.
    void set_memory(std::span<bytes const> memory) noexcept;
    /// The job takes only devices with so much memory. Others leave these to it as long as there are enough of others.
    void needs(job_id job, bytes memory) {
        if (memory.count > 0) needs_.emplace_back(job, memory);
    }

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] std::string const& name(std::uint32_t device) const noexcept { return rows_[device].name; }
    /// The number of a device. A name that is not known yet gets a row, and is cordoned for good: a job of an earlier
    /// run may hold what this machine no longer shows.
    [[nodiscard]] std::uint32_t number(std::string const& name);
    /// Their names, comma-separated.
    [[nodiscard]] std::string names(std::span<std::uint32_t const> devices) const;
    [[nodiscard]] bool has_shares() const noexcept { return !whole_.empty(); }
    /// What a job with these devices sees, comma-separated: them, or the one that they are shares of.
    [[nodiscard]] std::string seen(std::span<std::uint32_t const> devices) const {
        return has_shares() && !devices.empty() ? whole_ : names(devices);
    }
    /// All shares of this device, or it alone.
    [[nodiscard]] device_list parts_of(std::string const& device);
    /// How many devices that are: one for each rank.
    [[nodiscard]] std::size_t ranks(std::span<std::uint32_t const> devices) const noexcept {
        return has_shares() ? std::min<std::size_t>(devices.size(), 1) : devices.size();
    }

    /// Those without an owner that are not cordoned.
    [[nodiscard]] std::int64_t free() const noexcept;
    /// Those that the job could take.
    [[nodiscard]] std::int64_t free(job_id job) const { return static_cast<std::int64_t>(free_for(job).size()); }
    /// Those that it could take if nobody had any.
    [[nodiscard]] std::int64_t large_enough(job_id job) const noexcept;
    [[nodiscard]] bool has_needs(job_id job) const noexcept { return need_of(job).count > 0; }
    [[nodiscard]] std::int64_t held() const noexcept;
    [[nodiscard]] std::int64_t cordoned() const noexcept;
    /// In ascending order of their numbers.
    [[nodiscard]] device_list of(job_id job) const;

    /// Takes `count` free devices for a job that has none; none when there are not so many that it could take.
    /// O(devices), and what choosing costs.
    [[nodiscard]] device_list take(job_id job, std::int64_t count);
    /// The `count` devices that a job with `held` shall have; those that are new to it are taken, and no other is free
    /// yet. There have to be so many.
    [[nodiscard]] device_list change(job_id job, device_list const& held, std::int64_t count);
    /// Gives the job these devices, which have to be free or its own already. False, and nothing has changed, when one
    /// is another's.
    [[nodiscard]] bool claim(job_id job, std::span<std::uint32_t const> devices);
    /// What the job has besides these is free again.
    void keep_only(job_id job, std::span<std::uint32_t const> devices);
    void release(job_id job) { keep_only(job, {}); }

    /// Until the next call no job that has devices begins to change them; why: static text, empty where they may.
    void freeze(char const* why) noexcept { why_frozen_ = why; }
    [[nodiscard]] char const* why_frozen() const noexcept { return why_frozen_; }

    /// A cordoned device is not assigned. Its present owner keeps it until it gives it back.
    void cordon(std::uint32_t device, bool cordoned) noexcept { rows_[device].cordoned = cordoned; }
    [[nodiscard]] bool is_cordoned(std::uint32_t device) const noexcept { return rows_[device].cordoned; }
    [[nodiscard]] job_id owner(std::uint32_t device) const noexcept { return rows_[device].owner; }
    /// Those of them that are not cordoned, in their order.
    [[nodiscard]] device_list sound(std::span<std::uint32_t const> devices) const;

private:
    [[nodiscard]] bytes need_of(job_id job) const noexcept;
    [[nodiscard]] device_list free_for(job_id job) const;
    [[nodiscard]] device_list least_needed(device_list const& of, job_id job, std::int64_t count) const;
};

[[nodiscard]] inline std::vector<std::string> names_of(device_table const& table,
                                                       std::span<std::uint32_t const> devices) {
    std::vector<std::string> out;
    for (auto const device : devices) out.push_back(table.name(device));
    return out;
}

}  // namespace ration::program

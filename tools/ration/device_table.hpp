// SPDX-License-Identifier: BSL-1.0
/// Who has which device. A device belongs to one job or to nobody; there is no other state that could contradict this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

/// Devices of a run, by their numbers in the table.
using device_list = std::vector<std::uint32_t>;

class device_table {
    struct row {
        std::string name;
        job_id owner{};  // 0: nobody
        bool aside = false;
    };
    std::vector<row> rows_;

public:
    device_table() = default;
    explicit device_table(std::span<std::string const> names) {
        for (auto const& name : names) rows_.push_back({name, {}, false});
    }

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] std::string const& name(std::uint32_t device) const noexcept { return rows_[device].name; }
    /// The number of a device; a name that is not known yet gets a row: a job of an earlier run may hold what this machine no longer shows.
    [[nodiscard]] std::uint32_t number(std::string const& name);
    /// Their names, comma-separated.
    [[nodiscard]] std::string names(std::span<std::uint32_t const> devices) const;

    /// Those that nobody has and that are not set aside.
    [[nodiscard]] std::int64_t free() const noexcept;
    [[nodiscard]] std::int64_t held() const noexcept;
    [[nodiscard]] std::int64_t aside() const noexcept;
    /// In ascending order of their numbers.
    [[nodiscard]] device_list of(job_id job) const;

    /// Takes `count` free devices for the job, those of the lowest numbers; none when there are not so many. O(devices).
    [[nodiscard]] device_list take(job_id job, std::int64_t count);
    /// Gives the job these devices, which have to be free or its own already. False, and nothing has changed, when one is another's.
    [[nodiscard]] bool claim(job_id job, std::span<std::uint32_t const> devices);
    /// What the job has besides these is free again.
    void keep_only(job_id job, std::span<std::uint32_t const> devices);
    void release(job_id job) { keep_only(job, {}); }

    /// One that is set aside is given to nobody. Who has it keeps it until it gives it back.
    void set_aside(std::uint32_t device, bool aside) noexcept { rows_[device].aside = aside; }
    [[nodiscard]] bool is_aside(std::uint32_t device) const noexcept { return rows_[device].aside; }
    [[nodiscard]] job_id owner(std::uint32_t device) const noexcept { return rows_[device].owner; }
    /// Those of them that are not set aside, in their order.
    [[nodiscard]] device_list sound(std::span<std::uint32_t const> devices) const;
};

}  // namespace ration::program

// SPDX-License-Identifier: BSL-1.0
/// The files that jobs read, as the items of a cache: a backend that orders a thread to lock and to release them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <ration/host/backend.hpp>
#include <ration/process/account.hpp>

#include "run/file_loader.hpp"

namespace ration::program {

/// A file is one item, whatever paths lead to it. An operation succeeds when it is ordered; `take` has the outcome.
class cached_files {
public:
    struct file {
        job_id item;
        std::string path;  ///< that was added first
        std::optional<process::account> owner;
        dev_t device = 0;
        ino_t inode = 0;
        std::int64_t bytes = 0, held = 0;  ///< held: ordered to be in memory
        std::string reason{};              ///< the policy's, for the last order
    };
    using backend_concept = backend_tag;
    struct operation {
        job_id item;
        std::int64_t before = 0, after = 0;  ///< bytes
    };

    /// The item of this file, which is added unless it is there. `owner`: whose rights count for the path; null: those
    /// of ration. Errors: those of `open_data_file`.
    [[nodiscard]] result<job_id> add(std::string const& path, process::account const* owner);
    /// In ascending order of their items.
    [[nodiscard]] std::span<file const> files() const noexcept { return files_; }
    [[nodiscard]] file const* find(job_id item) const noexcept;
    /// Pre: there is such an item.
    void give_reason(job_id item, std::string_view reason);
    /// Pre: the item is not held.
    void remove(std::size_t row);

    /// The outcomes of operations. A file that could not be locked is not held from then on.
    [[nodiscard]] std::vector<file_loader::outcome> take();
    /// Whether an operation has no outcome yet.
    [[nodiscard]] bool is_busy() const noexcept { return pending_ > 0; }

    // --- Backend
    [[nodiscard]] std::span<resource_id const> resources() const noexcept;
    [[nodiscard]] result<observation> observe(job_id item) noexcept;
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept;
    [[nodiscard]] result<void> apply(operation const& op) noexcept { return order(op.item, op.before, op.after); }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> undo(operation const& op) noexcept { return order(op.item, op.after, op.before); }
    [[nodiscard]] operation_text describe(operation const& op) const noexcept;

private:
    std::vector<file> files_;
    std::uint64_t last_item_ = 0;
    std::size_t pending_ = 0;  // orders without an outcome
    file_loader loader_;

    [[nodiscard]] file* entry(job_id item) noexcept;
    [[nodiscard]] result<void> order(job_id item, std::int64_t before, std::int64_t after) noexcept;
};

static_assert(Backend<cached_files>);

}  // namespace ration::program

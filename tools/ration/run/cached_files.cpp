// SPDX-License-Identifier: BSL-1.0
#include "run/cached_files.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include <ration/assert.hpp>
#include <ration/process/data_file.hpp>

namespace ration::program {
namespace {

constexpr auto remedy_of_reads = "correct the path in 'reads', which is relative to the job's directory";

[[nodiscard]] error unknown_item(char const* operation, job_id item) {
    return {.code = errc::not_found,
            .operation = operation,
            .subject = std::string_view(fmt::format("item {}", item.value)),
            .remedy = "add the item first"};
}

}  // namespace

result<job_id> cached_files::add(std::string const& path, process::account const* owner) {
    process::file_rights const rights(owner);
    auto const opened = process::open_data_file(path, remedy_of_reads);
    if (!opened) return opened.failure();
    auto const same = std::ranges::find_if(
        files_, [&](file const& one) { return one.device == opened->device && one.inode == opened->inode; });
    if (same != files_.end()) {
        if (same->held == 0) same->bytes = opened->bytes;  // it may have grown since
        return same->item;
    }
    files_.push_back({.item = {++last_item_},
                      .path = path,
                      .owner = owner != nullptr ? std::optional(*owner) : std::nullopt,
                      .device = opened->device,
                      .inode = opened->inode,
                      .bytes = opened->bytes});
    return files_.back().item;
}

cached_files::file const* cached_files::find(job_id item) const noexcept {
    auto const at = std::ranges::find(files_, item, &file::item);
    return at == files_.end() ? nullptr : &*at;
}

cached_files::file* cached_files::entry(job_id item) noexcept {
    auto const at = std::ranges::find(files_, item, &file::item);
    return at == files_.end() ? nullptr : &*at;
}

void cached_files::give_reason(job_id item, std::string_view reason) {
    auto* const known = entry(item);
    RATION_ASSERT(known != nullptr, "a file with a decision is known");
    known->reason = reason;
}

void cached_files::remove(std::size_t row) {
    RATION_ASSERT(files_[row].held == 0, "a file is released before it is removed");
    files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(row));
}

std::vector<file_loader::outcome> cached_files::take() {
    auto outcomes = loader_.take();
    pending_ -= outcomes.size();
    for (auto const& one : outcomes)
        if (auto* const known = entry(one.item); known != nullptr && !one.problem.empty()) known->held = 0;
    return outcomes;
}

std::span<resource_id const> cached_files::resources() const noexcept {
    static constexpr std::array granted{resource_id::cache};
    return granted;
}

result<observation> cached_files::observe(job_id item) noexcept {
    auto const* const known = find(item);
    if (known == nullptr) return unknown_item("observe a file", item);
    observation seen;
    seen.memory = {known->held};
    return seen;
}

result<void> cached_files::plan(setting const& wanted, ration::plan<operation>& out) noexcept {
    auto const* const known = find(wanted.job);
    if (known == nullptr) return unknown_item("plan a file", wanted.job);
    if (wanted.resource != resource_id::cache || (wanted.amount != 0 && wanted.amount != known->bytes))
        return error{.code = errc::invalid_value,
                     .operation = "plan a file",
                     .subject = std::string_view(known->path),
                     .remedy = "grant the whole file or 0"};
    if (wanted.amount != known->held)
        out.push_back({.item = wanted.job, .before = known->held, .after = wanted.amount});
    return {};
}

operation_text cached_files::describe(operation const& op) const noexcept {
    auto const* const known = find(op.item);
    operation_text shown;
    shown.job = op.item;
    shown.resource = resource_id::cache;
    if (known != nullptr) shown.subject = std::string_view(known->path);
    shown.old_value = std::string_view(fmt::format("{} bytes", op.before));
    shown.new_value = std::string_view(fmt::format("{} bytes", op.after));
    return shown;
}

result<void> cached_files::order(job_id item, std::int64_t before, std::int64_t after) noexcept {
    auto* const known = entry(item);
    if (known == nullptr) return unknown_item("order a file", item);
    known->held = after;
    ++pending_;
    loader_.give({.item = item, .path = known->path, .owner = known->owner, .before = before, .after = after});
    return {};
}

}  // namespace ration::program

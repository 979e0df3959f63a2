// SPDX-License-Identifier: BSL-1.0
/// A backend that keeps files in the page cache, for hosts whose jobs are the items of a cache (docs/shared-cache.md).
/// Sources: mmap(2), mlock(2), mincore(2), posix_fadvise(2).
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/process/data_file.hpp>
#include <ration/process/descriptor.hpp>

namespace ration::process {

namespace detail {

/// A whole number as text.
[[nodiscard]] inline text<24> decimal(auto number) noexcept {
    std::array<char, 24> digits{};
    auto const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return std::string_view(digits.begin(), static_cast<std::size_t>(end - digits.begin()));
}

/// The pages of a file that this process has locked, or none. Move-only; the pages are never read through it, so that a
/// file which shrinks does no harm.
class locked_pages {
    void* at_ = nullptr;
    std::size_t bytes_ = 0;

public:
    /// No pages.
    locked_pages() noexcept = default;
    locked_pages(locked_pages&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    locked_pages& operator=(locked_pages&& other) noexcept {
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~locked_pages() {
        if (at_ != nullptr) ::munmap(at_, bytes_);
    }

    /// Reads and locks the whole file, which takes as long as reading it. Error: `busy` after a request to stop,
    /// besides those of the system.
    [[nodiscard]] static result<locked_pages> of(descriptor const& file, std::size_t bytes, std::string_view path,
                                                 std::stop_token const& stop) noexcept {
        void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
        if (at == MAP_FAILED) return system_error("map a file", path, errno, "grant less of the cache");
        locked_pages pages;
        pages.at_ = at;
        pages.bytes_ = bytes;
        constexpr std::size_t at_once = 16 << 20;  // whole pages; a stop waits for at most one such read
        for (std::size_t from = 0; from < bytes; from += at_once) {
            if (stop.stop_requested())
                return error{.code = errc::busy,
                             .operation = "lock a file in memory",
                             .subject = path,
                             .remedy = "the backend is being stopped"};
            // Address sanitizers replace mlock by a function that does nothing
            if (::mlock2(static_cast<char*>(at) + from, std::min(at_once, bytes - from), 0) != 0)
                return system_error("lock a file in memory", path, errno,
                                    "raise RLIMIT_MEMLOCK (ulimit -l), or grant less of the cache");
        }
        return pages;
    }

    [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

    /// The bytes in memory, in whole pages but for the end of the file.
    [[nodiscard]] std::size_t resident() const noexcept {
        auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        std::array<unsigned char, 4096> states{};
        std::size_t found = 0;
        for (std::size_t from = 0; from < bytes_; from += states.size() * page) {
            std::size_t const size = std::min(states.size() * page, bytes_ - from);
            if (::mincore(static_cast<char*>(at_) + from, size, states.data()) != 0) return found;
            for (std::size_t i = 0; i * page < size; ++i)
                if ((states[i] & 1) != 0) found += std::min(page, size - i * page);
        }
        return found;
    }
};

}  // namespace detail

/// Keeps files in memory by locking their pages in this process, until they are released or the backend ends. The
/// amount of an item is the size of its file, or 0. A released file is dropped from the page cache, unless another
/// process maps it. For one thread. A grant takes as long as reading the file.
class page_cache {
public:
    /// Declares the class as a backend.
    using backend_concept = backend_tag;
    /// One change of an item.
    struct operation {
        job_id item;
        std::int64_t before = 0, after = 0;  ///< bytes
    };

    /// An operation that reads a file ends early, with the error `busy`, once `stop` is requested.
    explicit page_cache(std::stop_token stop = {}) noexcept : stop_(std::move(stop)) {}

    /// Adds an item, which is not cached at first. Its size is that of the file now. Errors: `already_exists`,
    /// those of `open_data_file`, `no_memory`.
    [[nodiscard]] result<void> add(job_id item, std::string const& path) noexcept {
        if (find(item) != nullptr)
            return error{.code = errc::already_exists, .operation = "add an item", .subject = std::string_view(path)};
        auto opened = open_data_file(path, "name a file with data as an item of the cache");
        if (!opened) return opened.failure();
        return or_no_memory("add an item", path, [&]() -> result<void> {
            items_.push_back(
                {.id = item, .path = path, .file = std::move(opened->file), .bytes = opened->bytes, .pages = {}});
            return {};
        });
    }
    /// Releases the item and forgets it. Nothing for an unknown one.
    void remove(job_id item) noexcept {
        static_cast<void>(set(item, 0));
        std::erase_if(items_, [item](auto const& one) { return one.id == item; });
    }
    /// The size of an item. Error: `not_found`.
    [[nodiscard]] result<std::int64_t> size(job_id item) const noexcept {
        auto const* const found = find(item);
        if (found == nullptr) return unknown("read the size of an item", item);
        return found->bytes;
    }

    /// Only `cache` can be granted.
    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr std::array granted{resource_id::cache};
        return granted;
    }
    /// The bytes in memory of an item that is held; 0 for others. Error: `not_found`.
    [[nodiscard]] result<observation> observe(job_id item) noexcept {
        auto const* const found = find(item);
        if (found == nullptr) return unknown("observe an item", item);
        observation seen;
        seen.memory = {static_cast<std::int64_t>(found->pages.resident())};
        return seen;
    }

    /// Errors: `not_found`; `not_supported` for another resource; `invalid_value` for a part of an item; `no_memory`.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        auto const* const found = find(wanted.job);
        if (found == nullptr) return unknown("plan an item", wanted.job);
        if (wanted.resource != resource_id::cache)
            return error{.code = errc::not_supported, .operation = "plan an item", .subject = found->shown_path()};
        if (wanted.amount != 0 && wanted.amount != found->bytes)
            return error{.code = errc::invalid_value,
                         .operation = "plan an item",
                         .subject = found->shown_path(),
                         .remedy = "grant the item whole: set its minimum and maximum of cache to its bytes"};
        std::int64_t const held = found->pages ? found->bytes : 0;
        if (wanted.amount == held) return {};
        return or_no_memory("plan an item", found->path, [&]() -> result<void> {
            out.push_back({wanted.job, held, wanted.amount});
            return {};
        });
    }
    /// Locks or releases the file. Errors: `not_found`; `limit` and others of mlock(2).
    [[nodiscard]] result<void> apply(operation const& op) noexcept { return set(op.item, op.after); }
    /// Errors: `not_found`; `unverified` if a page is not in memory.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        auto const* const found = find(op.item);
        if (found == nullptr) return unknown("verify an item", op.item);
        if (static_cast<std::int64_t>(found->pages.resident()) == op.after) return {};
        return error{.code = errc::unverified,
                     .operation = "verify an item",
                     .subject = found->shown_path(),
                     .remedy = "add the item again if its file has changed"};
    }
    /// Returns to the amount before the operation. Errors: those of `apply`.
    [[nodiscard]] result<void> undo(operation const& op) noexcept { return set(op.item, op.before); }
    /// The operation as text: the file, and the bytes before and after.
    [[nodiscard]] operation_text describe(operation const& op) const noexcept {
        auto const* const found = find(op.item);
        operation_text shown;
        shown.job = op.item;
        shown.resource = resource_id::cache;
        if (found != nullptr) shown.subject = found->shown_path();
        shown.old_value.append(detail::decimal(op.before)).append(" bytes");
        shown.new_value.append(detail::decimal(op.after)).append(" bytes");
        return shown;
    }

private:
    struct item {
        job_id id;
        std::string path;
        descriptor file;
        std::int64_t bytes = 0;
        detail::locked_pages pages;

        [[nodiscard]] std::string_view shown_path() const noexcept { return path; }
    };
    std::stop_token stop_;
    std::vector<item> items_;

    [[nodiscard]] item const* find(job_id id) const noexcept {
        auto const at = std::ranges::find(items_, id, &item::id);
        return at == items_.end() ? nullptr : &*at;
    }
    [[nodiscard]] static error unknown(char const* operation, job_id id) noexcept {
        return {.code = errc::not_found,
                .operation = operation,
                .subject = text<120>("item ").append(detail::decimal(id.value)),
                .remedy = "add the item first"};
    }

    [[nodiscard]] result<void> set(job_id id, std::int64_t amount) noexcept {
        auto const at = std::ranges::find(items_, id, &item::id);
        if (at == items_.end()) return unknown("change an item", id);
        if (amount == 0) {
            at->pages = {};
            ::posix_fadvise(at->file.get(), 0, 0, POSIX_FADV_DONTNEED);
            return {};
        }
        if (at->pages) return {};
        auto pages = detail::locked_pages::of(at->file, static_cast<std::size_t>(at->bytes), at->path, stop_);
        if (!pages) return pages.failure();
        at->pages = std::move(*pages);
        return {};
    }
};

static_assert(Backend<page_cache>);

}  // namespace ration::process

// SPDX-License-Identifier: BSL-1.0
/// Memory that a host and its workers share.
#pragma once

#include <cstddef>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ration/column_memory.hpp>
#include <ration/plugin/host/descriptor.hpp>

namespace ration::plugin {

/// A memory file of this size, shared with the worker; for it alone to read when `read_only`.
struct shared_file {
    descriptor fd;
    mapping map;

    [[nodiscard]] static shared_file make(char const* name, std::size_t size, int protection, int seals) noexcept {
        shared_file made;
        made.fd = descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!made.fd || ::ftruncate(made.fd.get(), static_cast<off_t>(size)) != 0) return {};
        made.map = mapping(made.fd.get(), size, protection);
        if (::fcntl(made.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | seals) != 0) return {};
        return made;
    }
    explicit operator bool() const noexcept { return fd && map; }
};

/// Columns that a worker reads where the host writes them: give it to the store (`snapshot_store(&columns)`) and to the workers
/// (`worker_options::columns`), and no tick copies a column. The worker sees all columns of the store, and can write none.
class shared_columns final : public column_memory {
    shared_file file_;
    std::size_t used_ = 0;

public:
    /// Takes address space only, until columns are written. Since tables grow by half at least, three times the size of the largest
    /// ones is enough; beyond it a table says `no_capacity`.
    explicit shared_columns(std::size_t most = std::size_t{4} << 30) noexcept
        : file_(shared_file::make("ration-columns", most, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE)) {}
    shared_columns(shared_columns const&) = delete;
    shared_columns& operator=(shared_columns const&) = delete;
    ~shared_columns() = default;

    [[nodiscard]] void* allocate(std::size_t bytes) noexcept override {
        if (bytes > size() - used_) return nullptr;
        void* const place = file_.map.data() + used_;
        used_ += bytes;
        return place;
    }
    /// The pages go back to the system; the addresses are not used again.
    void release(void* place, std::size_t bytes) noexcept override {
        constexpr std::size_t page = 4096;
        auto const start = static_cast<std::size_t>(static_cast<std::byte*>(place) - file_.map.data());
        std::size_t const first = (start + page - 1) / page * page, last = (start + bytes) / page * page;
        if (first < last) ::madvise(file_.map.data() + first, last - first, MADV_REMOVE);
    }

    [[nodiscard]] int fd() const noexcept { return file_.fd.get(); }
    /// 0 when there was no memory.
    [[nodiscard]] std::size_t size() const noexcept { return file_.map.bytes().size(); }
    [[nodiscard]] bool holds(void const* place) const noexcept {
        auto const* const first = file_.map.data();
        return place >= first && place < first + used_;
    }
    /// Of a place that it holds.
    [[nodiscard]] std::size_t offset_of(void const* place) const noexcept {
        return static_cast<std::size_t>(static_cast<std::byte const*>(place) - file_.map.data());
    }
};

}  // namespace ration::plugin

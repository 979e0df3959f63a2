// SPDX-License-Identifier: BSL-1.0
/// Memory that a host and its workers share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/column_memory.hpp>
#include <ration/plugin/host/descriptor.hpp>

namespace ration::plugin {

/// A sealed memory file and its mapping, shared with the worker.
struct shared_file {
    /// The file.
    descriptor fd;
    /// The mapping in this process.
    mapping map;

    /// Creates a file of this size. `seals` are added to those against a change of the size. Empty
    /// after an error, with errno set.
    [[nodiscard]] static shared_file make(char const* name, std::size_t size, int protection, int seals) noexcept {
        shared_file made;
        made.fd = descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!made.fd || ::ftruncate(made.fd.get(), static_cast<off_t>(size)) != 0) return {};
        made.map = mapping(made.fd.get(), size, protection);
        if (::fcntl(made.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | seals) != 0) return {};
        return made;
    }
    /// True if file and mapping exist.
    explicit operator bool() const noexcept { return fd && map; }
};

/// Columns that a worker reads where the host writes them. Pass the object to the store
/// (`snapshot_store(&columns)`) and to the workers (`worker_options::columns`); then no tick copies
/// a column. The worker can read all columns of the store, and can write none.
class shared_columns final : public column_memory {
    /// Released memory.
    struct gap {
        std::size_t at, size;
        [[nodiscard]] std::size_t end() const noexcept { return at + size; }
    };
    shared_file file_;
    std::size_t used_ = 0;
    std::vector<gap> gaps_;  // below `used_`, sorted, never adjacent

public:
    /// Reserves `most` bytes of address space; memory is used when columns are written. Tables grow
    /// at least by half, so three times the size of the largest tables is enough. Beyond it, a
    /// table returns `no_capacity`.
    explicit shared_columns(std::size_t most = std::size_t{4} << 30) noexcept
        : file_(shared_file::make("ration-columns", most, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE)) {}
    shared_columns(shared_columns const&) = delete;
    shared_columns& operator=(shared_columns const&) = delete;
    ~shared_columns() = default;

    /// Returns memory; released memory is reused first. O(gaps). Null if there is none.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept override {
        auto const fits = std::ranges::find_if(gaps_, [&](gap const& g) { return g.size >= bytes; });
        if (fits == gaps_.end()) return bytes > size() - used_ ? nullptr : at(std::exchange(used_, used_ + bytes));
        std::size_t const place = fits->at;
        fits->at += bytes;
        fits->size -= bytes;
        if (fits->size == 0) gaps_.erase(fits);
        return at(place);
    }
    /// Makes memory available for later columns. Its pages return to the system only at the end:
    /// the seal that keeps workers from writing also prevents holes in the file (memfd_create(2),
    /// F_SEAL_FUTURE_WRITE).
    void release(void* place, std::size_t bytes) noexcept override {
        gap freed{offset_of(place), bytes};
        auto next = std::ranges::find_if(gaps_, [&](gap const& g) { return g.at > freed.at; });
        // Merge with the gap behind, then with the gap before.
        if (next != gaps_.end() && next->at == freed.end()) {
            freed.size += next->size;
            next = gaps_.erase(next);
        }
        if (next != gaps_.begin() && std::prev(next)->end() == freed.at) {
            freed = {std::prev(next)->at, std::prev(next)->size + freed.size};
            next = gaps_.erase(std::prev(next));
        }
        if (freed.end() == used_)
            used_ = freed.at;
        else
            gaps_.insert(next, freed);
    }

    /// The file, for a worker.
    [[nodiscard]] int fd() const noexcept { return file_.fd.get(); }
    /// The size in bytes; 0 if it could not be created.
    [[nodiscard]] std::size_t size() const noexcept { return file_.map.bytes().size(); }
    /// True if this address is in allocated memory of the file.
    [[nodiscard]] bool holds(void const* place) const noexcept {
        auto const* const first = file_.map.data();
        return place >= first && place < first + used_;
    }
    /// The offset of an address in the file. Precondition: `holds(place)`.
    [[nodiscard]] std::size_t offset_of(void const* place) const noexcept {
        return static_cast<std::size_t>(static_cast<std::byte const*>(place) - file_.map.data());
    }

private:
    /// The address of an offset.
    [[nodiscard]] std::byte* at(std::size_t offset) const noexcept { return file_.map.data() + offset; }
};

}  // namespace ration::plugin

// SPDX-License-Identifier: BSL-1.0
/// The files that a worker can open: the libraries of the system and those that its plugin is
/// linked with. Needs Landlock, which Linux has from 5.13 on unless it was disabled; without it a
/// worker can open every file that its user can read. Source: landlock(7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <ration/host/sanitizer.hpp>
#include <ration/plugin/host/descriptor.hpp>
#include <ration/plugin/host/elf_file.hpp>

namespace ration::plugin {

/// The version of Landlock in this kernel; 0 if there is none.
[[nodiscard]] inline int landlock_version() noexcept {
    return static_cast<int>(
        std::max(0L, ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION)));
}

/// A list of files and folders. Once it is enforced, this thread can open nothing else. It can
/// still see whether other files exist, their size and their age: Landlock has no right for that.
class readable_files {
    // All rights of version 1. Later rights are writing, connecting and signalling, which the
    // worker's filter of system calls refuses.
    static constexpr std::uint64_t rights = 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1;
    static constexpr std::size_t most_libraries = 64;

    descriptor rules_;
    std::vector<std::string> libraries_;  // seen already

public:
    /// An empty list.
    readable_files() noexcept {
        landlock_ruleset_attr handled{};
        handled.handled_access_fs = rights;
        rules_ = descriptor(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
    }

    /// Adds a file, or a folder and everything below it. A path that does not exist is ignored.
    void add(std::string const& path) noexcept {
        if (descriptor const place(::open(path.c_str(), O_PATH | O_CLOEXEC)); place) add(place);
    }

    /// Adds the folders of the dynamic linker.
    void add_system() noexcept {
        for (char const* const path :
             {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/etc/ld.so.cache"})
            add(path);
        if (RATION_SANITIZED) add("/proc/self");  // its run-time library looks up what is mapped
    }

    /// Adds the libraries of a file in the folders that it names, and their own libraries. A plugin
    /// can name any file there, so only shared objects are added.
    void add_libraries_of(elf_facts const& file, std::string_view its_folder = {}) {
        for (auto const& folders : file.search)
            for (std::string_view rest = folders; !rest.empty();
                 rest.remove_prefix(std::min(rest.find(':'), rest.size() - 1) + 1)) {
                std::string folder(rest.substr(0, rest.find(':')));
                if (folder.starts_with("$ORIGIN")) folder.replace(0, 7, its_folder);
                if (folder.starts_with('/'))
                    for (auto const& name : file.needed) add_library(folder, name);
            }
    }

    /// Adds the libraries of this plugin and enforces the list. A kernel without Landlock allows
    /// everything (see `landlock_version`). Returns false if a kernel with Landlock refuses.
    [[nodiscard]] bool enforce_for(elf_facts const& plugin, std::string_view its_folder = {}) {
        if (landlock_version() == 0) return true;
        add_system();
        add_libraries_of(plugin, its_folder);
        return enforce();
    }

    /// Enforces the list; this cannot be undone. Returns false if the kernel refuses.
    [[nodiscard]] bool enforce() noexcept {
        return rules_ && ::syscall(SYS_landlock_restrict_self, rules_.get(), 0) == 0;
    }

private:
    /// Adds the rule for an open file or folder.
    void add(descriptor const& place) noexcept {
        struct stat about{};
        landlock_path_beneath_attr rule{};
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
        if (::fstat(place.get(), &about) == 0 && S_ISDIR(about.st_mode))
            rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
        rule.parent_fd = place.get();
        ::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }

    /// Adds one library and, recursively, its libraries. Files that are not shared objects are
    /// ignored.
    void add_library(std::string const& folder, std::string const& name) {
        std::string const path = folder + '/' + name;
        if (libraries_.size() == most_libraries || std::ranges::find(libraries_, path) != libraries_.end()) return;
        descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        struct stat about{};
        if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return;
        mapping const bytes(file.get(), static_cast<std::size_t>(about.st_size), PROT_READ);
        auto const facts = inspect(bytes.bytes());
        if (!facts) return;
        libraries_.push_back(path);
        add(file);
        add_python_of(folder, name);
        add_libraries_of(*facts, folder);
    }

    /// Adds the modules of a CPython: the folder `python3.11` beside `libpython3.11.so.1.0`.
    void add_python_of(std::string const& folder, std::string_view library) noexcept {
        auto const version = library.substr(0, library.find(".so"));
        if (!version.starts_with("libpython3.") || version.find('/') != version.npos) return;
        auto const modules = folder + '/' + std::string(version.substr(3));
        if (::access((modules + "/os.py").c_str(), R_OK) == 0) add(modules);
    }
};

}  // namespace ration::plugin

// SPDX-License-Identifier: BSL-1.0
/// Which files a worker can open: the libraries of the system and those that its plugin is linked with. Needs Landlock,
/// which Linux has from 5.13 on where it was not left out; without it a worker opens whatever its user may read.
/// Source: landlock(7).
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

/// The version of Landlock that this kernel offers; 0 where it offers none.
[[nodiscard]] inline int landlock_version() noexcept {
    return static_cast<int>(
        std::max(0L, ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION)));
}

/// A list of files and folders, and this thread opens nothing else once it is in force. Of what it does not open it
/// still sees whether it is there, how large and how old: Landlock has no right for that.
class readable_files {
    // All rights of version 1. The later ones are to write, to connect and to signal, which the worker's filter of
    // calls refuses.
    static constexpr std::uint64_t rights = 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1;
    static constexpr std::size_t most_libraries = 64;

    descriptor rules_;
    std::vector<std::string> libraries_;  // seen already

public:
    readable_files() noexcept {
        landlock_ruleset_attr handled{};
        handled.handled_access_fs = rights;
        rules_ = descriptor(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
    }

    /// A file, or a folder and all below it. What is not there is no loss.
    void add(std::string const& path) noexcept {
        if (descriptor const place(::open(path.c_str(), O_PATH | O_CLOEXEC)); place) add(place);
    }

    /// What the dynamic linker finds by itself.
    void add_system() noexcept {
        for (char const* const path :
             {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/etc/ld.so.cache"})
            add(path);
        if (RATION_SANITIZED) add("/proc/self");  // its run-time library looks up what is mapped
    }

    /// What a file is linked with in folders that it names itself, and what that is linked with. A plugin may name any
    /// file there, so these are shared objects or they are not added.
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

    /// Adds the libraries of this plugin and enforces the list. A kernel without Landlock allows everything: see
    /// `landlock_version`. False when one that has it refuses.
    [[nodiscard]] bool enforce_for(elf_facts const& plugin, std::string_view its_folder = {}) {
        if (landlock_version() == 0) return true;
        add_system();
        add_libraries_of(plugin, its_folder);
        return enforce();
    }

    /// No way back. False when the kernel refuses.
    [[nodiscard]] bool enforce() noexcept {
        return rules_ && ::syscall(SYS_landlock_restrict_self, rules_.get(), 0) == 0;
    }

private:
    void add(descriptor const& place) noexcept {
        struct stat about{};
        landlock_path_beneath_attr rule{};
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
        if (::fstat(place.get(), &about) == 0 && S_ISDIR(about.st_mode))
            rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
        rule.parent_fd = place.get();
        ::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }

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

    /// The modules that belong to a CPython: beside `libpython3.11.so.1.0` the folder `python3.11`.
    void add_python_of(std::string const& folder, std::string_view library) noexcept {
        auto const version = library.substr(0, library.find(".so"));
        if (!version.starts_with("libpython3.") || version.find('/') != version.npos) return;
        auto const modules = folder + '/' + std::string(version.substr(3));
        if (::access((modules + "/os.py").c_str(), R_OK) == 0) add(modules);
    }
};

}  // namespace ration::plugin

// SPDX-License-Identifier: BSL-1.0
#include "run/record_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "run/private_folder.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// Below the output folder of a run, or the state folder of a service.
constexpr std::string_view records = ".ration", unfinished = ".new";
constexpr char const* other_system = "start ration in a folder whose file system has locks";

[[nodiscard]] bool is_own_folder(char const* path) {
    struct stat about{};
    return *path == '/' && ::stat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
           ::access(path, W_OK) == 0;
}

/// A folder of this user in one that others may share.
struct place {
    std::string above, name;

    [[nodiscard]] std::string path() const { return above + '/' + name; }
    [[nodiscard]] result<process::descriptor> open(bool make) const {
        auto const parent = open_trusted_folder(above);
        if (!parent) return parent.failure();
        return make ? make_private_folder(*parent, name, path()) : open_private_folder(*parent, name, path());
    }
    /// It exists, or can be made.
    [[nodiscard]] bool is_usable() const {
        auto const found = open(false);
        return found || found.failure().code == errc::not_found;
    }
};

[[nodiscard]] place lasting_place() { return {"/var/tmp", fmt::format("ration-{}", ::geteuid())}; }

/// In the order of preference.
[[nodiscard]] std::vector<place> places_of_sockets() {
    std::vector<place> out;
    char const* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && is_own_folder(runtime)) out.push_back({runtime, "ration"});
    out.push_back({"/tmp", fmt::format("ration-{}", ::geteuid())});
    out.push_back(lasting_place());
    return out;
}

[[nodiscard]] place place_for_this_process() {
    static std::string const name = [] {
        auto path = fmt::format("/tmp/ration-{}-XXXXXX", ::geteuid());
        return ::mkdtemp(path.data()) != nullptr ? fs::path(path).filename().string() : std::string("ration");
    }();
    return {"/tmp", name};
}

[[nodiscard]] place place_of_sockets() {
    auto const places = places_of_sockets();
    auto const usable = std::ranges::find_if(places, &place::is_usable);
    return usable != places.end() ? *usable : place_for_this_process();
}

void warn_of_choice(place const& chosen) {
    auto const wanted = places_of_sockets().front();
    if (wanted.path() == chosen.path()) return;
    auto const why = wanted.open(false);
    if (!why) std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(why.failure())).c_str());
    std::fprintf(stderr, "ration: warning: the sockets of this run are in %s\n", printable(chosen.path()).c_str());
}

[[nodiscard]] error cannot_lock(std::string const& path) {
    return process::path_error("lock", path, errno, other_system);
}

/// The file is open for writing, since NFS locks no other one.
[[nodiscard]] process::descriptor open_lock(process::descriptor const& folder) {
    return process::above_standard(
        process::descriptor(::openat(folder.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
}

/// Locked under a name that no search finds, and then renamed.
[[nodiscard]] result<locked_folder> make_locked(process::descriptor const& above, std::string const& path) {
    auto const name = fs::path(path).filename().string(), fresh = name + std::string(unfinished);
    auto folder = make_private_folder(above, fresh, path);
    if (!folder) return folder.failure();
    auto lock = open_lock(*folder);
    locked_folder made(path, std::move(folder).value(), std::move(lock));
    if (!made.try_lock()) return cannot_lock(path);
    if (::renameat(above.get(), fresh.c_str(), above.get(), name.c_str()) == 0) return made;
    return process::path_error("make folder", path, errno, other_system);
}

[[nodiscard]] bool has_record(std::string const& folder) {
    std::error_code failure;
    return fs::exists(folder + "/run.json", failure);
}

/// The record of a run by the folder of its sockets. A record that was moved counts once it is complete.
[[nodiscard]] std::string record_of(std::string const& sockets) {
    std::error_code failure;
    auto const target = fs::read_symlink(sockets + '/' + link_to_record, failure).string();
    if (failure || !fs::is_directory(target, failure)) return sockets;
    return has_record(target) || !has_record(sockets) ? target : sockets;
}

/// Removes the folders for sockets of runs whose record is elsewhere among these: a kill came before the two were
/// linked.
void remove_unlinked(std::vector<std::string>& folders) {
    std::set<std::string> recorded;
    for (auto const& folder : folders)
        if (has_record(folder)) recorded.insert(fs::path(folder).filename().string());
    std::erase_if(folders, [&](std::string const& folder) {
        return !has_record(folder) && recorded.contains(fs::path(folder).filename().string());
    });
}

/// The folders in this one, by their paths.
[[nodiscard]] std::vector<std::string> folders_in(std::string const& above) {
    std::vector<std::string> found;
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(above, failure)) {
        auto const name = entry.path().filename().string();
        if (entry.symlink_status(failure).type() == fs::file_type::directory && !name.starts_with('.') &&
            !name.ends_with(unfinished))
            found.push_back(entry.path().string());
    }
    return found;
}

}  // namespace

bool locked_folder::try_lock() const noexcept {
    return ::flock(is_apart(path_) ? lock_.get() : folder_.get(), LOCK_EX | LOCK_NB) == 0;
}

std::string folder_of_sockets() { return place_of_sockets().path(); }

result<std::string> make_node_folder() {
    auto place = lasting_place();
    if (!place.is_usable()) place = place_of_sockets();
    if (auto const made = place.open(true); !made) return made.failure();
    return place.path();
}

/// The base is locked, so that the folder has its own lock before another process sees it.
result<locked_folder> make_socket_folder(std::string const& run) {
    auto const place = place_of_sockets();
    warn_of_choice(place);
    auto const above = place.open(true);
    if (!above) return above.failure();
    if (::flock(above->get(), LOCK_EX) != 0) return cannot_lock(place.path());
    auto const path = place.path() + '/' + run;
    auto folder = make_private_folder(*above, run, path);
    if (!folder) return folder.failure();
    locked_folder made(path, std::move(folder).value());
    if (!made.try_lock()) return cannot_lock(path);
    return made;
}

result<locked_folder> remake_socket_folder(std::string const& path) {
    fs::path const folder(path), above = folder.parent_path();
    place const at{above.parent_path().string(), above.filename().string()};
    auto const base = at.open(true);
    if (!base) return base.failure();
    auto made = make_private_folder(*base, folder.filename().string(), path);
    if (!made) return made.failure();
    locked_folder out(path, std::move(made).value());
    // A launch that was cut short has the lock of its dead owner until its program starts
    for (int tries = 0; tries < 100; ++tries, ::usleep(2'000))
        if (out.try_lock()) return out;
    return cannot_lock(path);
}

result<locked_folder> make_record_folder(std::string const& parent, std::string const& run) {
    auto const above = open_folder(parent);
    if (!above) return above.failure();
    auto const all = parent + '/' + std::string(records), path = all + '/' + run;
    auto const folder = make_private_folder(*above, std::string(records), all);
    if (!folder) return folder.failure();
    auto earlier = open_private_folder(*folder, run, path);
    if (!earlier) return make_locked(*folder, path);
    auto lock = open_lock(*earlier);
    locked_folder made(path, std::move(earlier).value(), std::move(lock));
    if (!made.try_lock()) return cannot_lock(path);
    return made;
}

result<locked_folder> open_record_folder(std::string const& path) {
    auto const above = open_folder(fs::path(path).parent_path());
    if (!above) return above.failure();
    auto folder = open_private_folder(*above, fs::path(path).filename(), path);
    if (!folder) return folder.failure();
    auto lock = is_apart(path) ? open_lock(*folder) : process::descriptor{};
    return locked_folder(path, std::move(folder).value(), std::move(lock));
}

bool is_apart(std::string const& record_folder) { return fs::path(record_folder).parent_path().filename() == records; }

std::vector<std::string> find_record_folders(std::span<std::string const> parents) {
    std::vector<std::string> candidates;
    for (auto const& place : places_of_sockets())
        if (place.open(false))
            for (auto const& sockets : folders_in(place.path())) candidates.push_back(record_of(sockets));
    std::vector<std::string> above(parents.begin(), parents.end());
    for (auto const& run : folders_in(std::string(folder_of_runs)))
        above.push_back(fs::absolute(run).lexically_normal().string());
    for (auto const& one : above)
        for (auto const& record : folders_in(one + '/' + std::string(records))) candidates.push_back(record);
    remove_unlinked(candidates);
    std::vector<std::string> found;
    std::set<std::pair<dev_t, ino_t>> known;
    for (auto& path : candidates)
        if (struct stat about{}; ::stat(path.c_str(), &about) == 0 && known.insert({about.st_dev, about.st_ino}).second)
            found.push_back(std::move(path));
    return found;
}

void remove_record_folder(std::string const& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    if (is_apart(path)) ::rmdir(fs::path(path).parent_path().c_str());
}

}  // namespace ration::program

// SPDX-License-Identifier: BSL-1.0
#include "serve/old_ends.hpp"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// LABEL.INCARNATION in the folder of the service's user, LABEL.INCARNATION.end in those of others.
[[nodiscard]] std::optional<std::string> label_in(std::string name, std::string_view suffix) {
    if (name.ends_with(".new")) name.resize(name.size() - 4);  // it was being written
    if (!name.ends_with(suffix)) return std::nullopt;
    name.resize(name.size() - suffix.size());
    auto const dot = name.rfind('.');
    if (dot == name.npos || name.find_first_not_of("0123456789", dot + 1) != name.npos) return std::nullopt;
    return name.substr(0, dot);
}

/// Whether the list has the job of this label. It could not be read: no.
[[nodiscard]] bool has_job(job_store& store, std::string const& label) {
    std::int64_t id = 0;
    auto const* const end = label.data() + label.size();
    auto const read = std::from_chars(label.data() + label.rfind('-') + 1, end, id);
    if (read.ec != std::errc() || read.ptr != end) return false;
    auto const found = store.find(id);
    return found && *found && label_of((*found)->what.name, id) == label;
}

void remove_ends_in(std::string const& path, std::string_view suffix, job_store& store,
                    std::set<std::string> const& launched) {
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(path, failure)) {
        auto const label = label_in(entry.path().filename().string(), suffix);
        if (label && !launched.contains(*label) && has_job(store, *label)) ::unlink(entry.path().c_str());
    }
}

}  // namespace

void remove_old_ends(job_store& store, service_folder const& folder, std::set<std::string> const& launched) {
    remove_ends_in(folder.ends(), "", store, launched);
    std::error_code failure;
    if (!folder.of_root) return;
    for (auto const& user : fs::directory_iterator(folder.users(), failure)) {
        std::int64_t uid = 0;
        auto const name = user.path().filename().string();
        auto const read = std::from_chars(name.data(), name.data() + name.size(), uid);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
        auto const rights_of = folder.rights_of(uid);
        process::file_rights const rights(rights_of ? &*rights_of : nullptr);
        remove_ends_in(user.path().string(), ".end", store, launched);
    }
}

}  // namespace ration::program

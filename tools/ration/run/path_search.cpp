// SPDX-License-Identifier: BSL-1.0
#include "run/path_search.hpp"

#include <climits>
#include <filesystem>
#include <fnmatch.h>
#include <system_error>
#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] std::string joined(std::string const& folder, std::string_view name) {
    std::string out(folder);
    if (!out.empty() && !out.ends_with('/')) out += '/';
    return out += name;
}

}  // namespace

std::vector<std::string> path_search::expand(std::string const& pattern) {
    if (pattern.size() >= PATH_MAX) return {};
    std::vector<std::string> paths{pattern.starts_with('/') ? "/" : ""};
    for (std::size_t at = 0; at < pattern.size() && !exceeded_;) {
        auto const end = std::min(pattern.find('/', at), pattern.size());
        if (end > at) descend(pattern.substr(at, end - at), paths);
        at = end + 1;
    }
    if (exceeded_) paths.clear();
    return paths;
}

void path_search::descend(std::string const& part, std::vector<std::string>& folders) {
    std::vector<std::string> found;
    bool const has_wildcard = part.find_first_of("*?[\\") != std::string::npos;
    for (auto const& folder : folders) {
        if (exceeded_) return;
        if (has_wildcard) {
            add_entries(folder, part, found);
        } else {
            found.push_back(joined(folder, part));
            bytes_ += part.size();
        }
    }
    folders = std::move(found);
}

void path_search::add_entries(std::string const& folder, std::string const& pattern, std::vector<std::string>& into) {
    take(0);  // an empty folder costs as much as an entry
    std::error_code failure;
    std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failure);
    for (std::filesystem::directory_iterator const end; !failure && at != end && !exceeded_; at.increment(failure)) {
        auto const name = at->path().filename().string();
        bool const fits = ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
        take(fits ? folder.size() + name.size() : 0);
        if (fits) into.push_back(joined(folder, name));
    }
}

void path_search::take(std::size_t bytes) noexcept {
    bytes_ += bytes;
    exceeded_ = exceeded_ || ++entries_ > most_entries || bytes_ > most_bytes;
}

}  // namespace ration::program

// SPDX-License-Identifier: BSL-1.0
#include "measure/jobs_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/descriptor.hpp>
#include <ration/process/input_file.hpp>

#include "config/config.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

struct replaceable_file {
    fs::path path;  // without symbolic links
    struct stat about;
};

[[nodiscard]] diagnostic refused(std::string const& file, std::string_view cause) {
    return {.file = file, .text = fmt::format("it cannot be replaced: {}; put the list into it yourself", cause)};
}

[[nodiscard]] result<replaceable_file, diagnostic> find_target(std::string const& file) {
    std::error_code failure;
    replaceable_file out{.path = fs::canonical(file, failure), .about = {}};
    if (failure || ::stat(out.path.c_str(), &out.about) != 0) return refused(file, "it is not there any more");
    if (!S_ISREG(out.about.st_mode)) return refused(file, "it is not a regular file");
    if (out.about.st_uid != ::geteuid()) return refused(file, "it belongs to another user");
    if (out.about.st_nlink > 1) return refused(file, "it has hard links, which would keep the old text");
    if (::access(out.path.c_str(), W_OK) != 0) return refused(file, "it is write-protected");
    if (::access(out.path.parent_path().c_str(), W_OK) != 0)
        return refused(file, fmt::format("no file can be made in its folder ({})", std::strerror(errno)));
    return out;
}

/// A new file beside the old one, which is removed unless it took the place of the old one.
class new_file {
    std::string path_;
    process::descriptor file_;
    bool kept_ = false;

public:
    explicit new_file(fs::path const& beside)
        : path_(beside.string() + ".XXXXXX"), file_(::mkostemp(path_.data(), O_CLOEXEC)) {}
    new_file(new_file const&) = delete;
    new_file& operator=(new_file const&) = delete;
    ~new_file() {
        if (file_ && !kept_) ::unlink(path_.c_str());
    }

    [[nodiscard]] bool write(std::string_view text, mode_t mode) const noexcept {
        return file_ && ::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
               ::fchmod(file_.get(), mode) == 0 && ::fsync(file_.get()) == 0;
    }
    [[nodiscard]] bool replace(fs::path const& old) noexcept {
        kept_ = ::rename(path_.c_str(), old.c_str()) == 0;
        return kept_;
    }
};

}  // namespace

result<void, diagnostic> check_replaceable(std::string const& file) {
    auto const found = find_target(file);
    return found ? result<void, diagnostic>() : found.failure();
}

result<void, diagnostic> replace_jobs_file(std::string const& file, std::string_view expected, std::string_view text) {
    auto const old = find_target(file);
    if (!old) return old.failure();
    auto const now = process::read_input(old->path.string(), {.most_bytes = max_config_bytes});
    if (!now || *now != expected) return refused(file, "it changed during the measurement");
    new_file fresh(old->path);
    if (!fresh.write(text, old->about.st_mode & 07777) || !fresh.replace(old->path))
        return refused(file, std::strerror(errno));
    return {};
}

}  // namespace ration::program

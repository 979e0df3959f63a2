// SPDX-License-Identifier: BSL-1.0
/// Keeps every call and its answer, prints them for people, and makes them again on another `io`.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ration/cgroup/detail/filter.hpp>

namespace ration::cgroup {

/// One call with its answer.
struct recorded {
    call_kind kind{};
    int directory = -1;
    std::string name, text;
    int failed = 0;
    std::string answer;  ///< the text that was read, or the names listed, one in a line
    int opened = -1;
};

class recorder final : public filter {
    std::vector<recorded> log_;
    std::map<int, std::string> paths_;  // of open directories

public:
    using filter::filter;

    [[nodiscard]] std::vector<recorded> const& log() const noexcept { return log_; }
    void clear() noexcept { log_.clear(); }

    /// `write /sys/fs/cgroup/cpu/a/cpu.shares "100" = 0`, one line for each call. Paths are those of the directories
    /// open now or last.
    [[nodiscard]] std::string print() const noexcept {
        std::string all;
        for (recorded const& each : log_) {
            all.append(name_of(each.kind)).append(" ");
            if (auto const path = paths_.find(each.directory); path != paths_.end())
                all.append(path->second).append(each.name.empty() ? "" : "/");
            all.append(each.name).append(each.text.empty() ? "" : " \"" + each.text + "\"");
            all.append(" = ").append(std::to_string(each.failed)).append("\n");
        }
        return all;
    }

protected:
    int after(call const& what, answer const& got) noexcept override {
        recorded entry{.kind = what.kind,
                       .directory = what.directory,
                       .name = std::string(what.name),
                       .text = std::string(what.text),
                       .failed = got.failed,
                       .answer = {},
                       .opened = -1};
        if (got.failed == 0 && got.text != nullptr) entry.answer = *got.text;
        if (got.failed == 0 && got.names != nullptr)
            for (std::string const& name : *got.names) entry.answer.append(name).append("\n");
        if (got.failed == 0 && got.opened != nullptr) {
            entry.opened = *got.opened;
            paths_[*got.opened] = what.directory < 0 ? entry.name : paths_[what.directory] + "/" + entry.name;
        }
        log_.push_back(std::move(entry));
        return got.failed;
    }
};

/// Where a replay went another way.
struct difference {
    std::size_t at = 0;
    int failed = 0;
    std::string answer;
};

namespace detail {

/// Makes one recorded call again; `directories` leads from recorded numbers to those of this machine.
[[nodiscard]] inline recorded repeat(io& machine, recorded again, std::map<int, int>& directories) noexcept {
    int const where = directories.contains(again.directory) ? directories[again.directory] : -1;
    char const* const name = again.name.c_str();
    int opened = -1;
    std::size_t reached = 0;
    identity who;
    std::vector<std::string> names;
    std::string const text = std::move(again.text);
    again.answer.clear();
    switch (again.kind) {
        case call_kind::open_directory: again.failed = machine.open_directory(name, opened); break;
        case call_kind::open_child: again.failed = machine.open_child(where, name, opened); break;
        case call_kind::identify: again.failed = machine.identify(where, who); break;
        case call_kind::read: again.failed = machine.read(where, name, again.answer); break;
        case call_kind::write: again.failed = machine.write(where, name, text); break;
        case call_kind::make: again.failed = machine.make(where, name); break;
        case call_kind::remove: again.failed = machine.remove(where, name); break;
        case call_kind::list: again.failed = machine.list(where, names); break;
        case call_kind::signal_members:
            again.failed = machine.signal_members(where, std::atoi(text.c_str()), reached);
            break;
        case call_kind::wait_change: again.failed = machine.wait_change(where, name, text, milliseconds(100)); break;
        case call_kind::read_system: again.failed = machine.read_system(name, again.answer); break;
        case call_kind::read_link: again.failed = machine.read_link(name, again.answer); break;
    }
    for (std::string const& each : names) again.answer.append(each).append("\n");
    if (again.failed == 0 && again.opened >= 0) directories[again.opened] = opened;
    return again;
}

}  // namespace detail

/// Makes the recorded calls again, in their order, and stops at the first that answers otherwise. Directories are held
/// to the end.
[[nodiscard]] inline std::optional<difference> replay(io& machine, std::vector<recorded> const& log) noexcept {
    std::map<int, int> directories;
    std::optional<difference> found;
    std::vector<int> opened;
    for (std::size_t i = 0; i < log.size() && !found; ++i) {
        recorded const again = detail::repeat(machine, log[i], directories);
        if (again.failed == 0 && log[i].opened >= 0) opened.push_back(directories[log[i].opened]);
        if (again.failed != log[i].failed || (again.failed == 0 && again.answer != log[i].answer))
            found = difference{i, again.failed, again.answer};
    }
    for (int const each : opened) machine.close(each);
    return found;
}

}  // namespace ration::cgroup

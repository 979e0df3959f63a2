// SPDX-License-Identifier: BSL-1.0
// Short scripts of raw calls, run in the same way on two machines and compared answer by answer.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"

namespace cgroup_test {

enum class verb {
    make,    // group `group`; from then on it is held open
    remove,  // group `group`
    write,   // `text` to `file` of `group`, then read the file
    emit,    // write only
    read,    // `file` of `group`
    enter,   // the helper process into `group`
    use,     // the helper uses `text` MiB of memory
    settle,  // give things time
    helper,  // whether the helper lives; then a new one
};

struct step {
    verb what;
    char const* group = "";  // below the script's own group; "/" is the group that we are in
    char const* file = "";
    char const* text = "";  // {last} and {beyond}: the highest cpu, and the number after it
};

struct script {
    char const* name;
    version kind;
    controller which;  // in whose hierarchy
    bool hand_down;    // v2: all controllers, to the groups of the script
    std::vector<step> steps;
};

// The answers of one machine: an errno, and a text where one was read.
class stage {
    machine& on_;
    std::uint32_t cpus_;
    directory const& own_;
    std::string base_;
    std::map<std::string, directory> held_;
    int helper_ = 0;

public:
    stage(machine& on, std::uint32_t cpus, directory const& own)
        : on_(on), cpus_(cpus), own_(own), base_("ration-" + run_name_here()) {}
    ~stage() {
        if (helper_ > 0) static_cast<void>(own_.write("cgroup.procs", std::to_string(helper_)));
        held_.clear();
        static_cast<void>(remove_tree(own_, base_, 0, seconds(2)));
    }
    stage(stage const&) = delete;
    stage& operator=(stage const&) = delete;

    [[nodiscard]] bool prepare(script const& wanted) {
        if (!own_.make(base_)) return false;
        auto opened = own_.child(base_);
        if (!opened) return false;
        held_.emplace("", std::move(opened).value());
        bool const v1_cpuset = wanted.kind == version::v1 && wanted.which == controller::cpuset;
        for (char const* const file : {"cpuset.cpus", "cpuset.mems"}) {
            std::string text;
            if (v1_cpuset && !held_.at("").write(file, own_.read(file, text).value_or("0"))) return false;
        }
        return !wanted.hand_down || held_.at("").write("cgroup.subtree_control", "+cpu +cpuset +memory +pids");
    }

    [[nodiscard]] std::string play(step const& each) {
        switch (each.what) {
            case verb::make: return make(each.group);
            case verb::remove: return std::to_string(on_.calls().remove(above(each.group).handle(), last(each.group)));
            case verb::write: {
                std::string const text = filled(each.text);
                int const failed = on_.calls().write(at(each.group).handle(), each.file, text);
                return std::to_string(failed) + " " + shown(each.group, each.file);
            }
            case verb::emit: return std::to_string(on_.calls().write(at(each.group).handle(), each.file, each.text));
            case verb::read: return shown(each.group, each.file);
            case verb::enter:
                return std::to_string(
                    on_.calls().write(at(each.group).handle(), "cgroup.procs", std::to_string(helper())));
            case verb::use: on_.use_memory(helper(), std::int64_t{std::stoi(each.text)} << 20); return "";
            case verb::settle: on_.calls().sleep(milliseconds(60)); return "";
            case verb::helper: {
                on_.calls().sleep(milliseconds(100));
                bool const lives = on_.alive(helper());
                helper_ = lives ? helper_ : 0;
                return lives ? "lives" : "dead";
            }
        }
        return "?";
    }

private:
    [[nodiscard]] directory const& at(std::string const& group) { return group == "/" ? own_ : held_.at(group); }
    [[nodiscard]] static char const* last(char const* group) {
        char const* const slash = std::strrchr(group, '/');
        return slash != nullptr ? slash + 1 : group;
    }
    [[nodiscard]] directory const& above(std::string const& group) {
        auto const slash = group.rfind('/');
        return at(slash == std::string::npos ? "" : group.substr(0, slash));
    }
    [[nodiscard]] int helper() {
        helper_ = helper_ > 0 ? helper_ : on_.spawn();
        return helper_;
    }
    [[nodiscard]] std::string filled(std::string text) const {
        for (auto const& [mark, number] : {std::pair{"{last}", cpus_ - 1}, std::pair{"{beyond}", cpus_}})
            if (auto const found = text.find(mark); found != std::string::npos)
                text.replace(found, std::strlen(mark), std::to_string(number));
        return text;
    }
    [[nodiscard]] std::string make(char const* group) {
        int const failed = on_.calls().make(above(group).handle(), last(group));
        if (failed == 0) {
            auto opened = above(group).child(last(group));
            held_.insert_or_assign(group, std::move(opened).value());
        }
        return std::to_string(failed);
    }
    // Members are counted, because the pids of the machines differ.
    [[nodiscard]] std::string shown(std::string const& group, std::string const& file) {
        std::string text;
        int const failed = on_.calls().read(at(group).handle(), file.c_str(), text);
        if (failed != 0) return "reads " + std::to_string(failed);
        if (file == "cgroup.procs" || file == "tasks")
            return std::to_string(std::count(text.begin(), text.end(), '\n')) + " processes";
        if (file == "cpu.stat" || file == "memory.stat" || file.find("usage") != std::string::npos ||
            file == "memory.current") {
            return "";  // numbers that depend on the machine
        }
        return text;
    }
};

}  // namespace cgroup_test

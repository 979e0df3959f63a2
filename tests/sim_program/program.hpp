// SPDX-License-Identifier: BSL-1.0
// `ration sim` without its `main`: from words to tables and pages.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "command_line/command_line.hpp"
#include "common/diagnostics.hpp"
#include "policies/policy_registry.hpp"
#include "report/simulation_page.hpp"
#include "sim/estimate_options.hpp"
#include "sim/options.hpp"
#include "sim/runs.hpp"
#include "sim/table.hpp"
#include "support/catch.hpp"
#include "tools/options_of.hpp"
#include "tools/temporary.hpp"

namespace simulate_test {

using namespace ration;
using namespace ration::program;
using nlohmann::json;

using words = std::vector<std::string>;

inline std::string const fits = RATION_BENCH_DATA "/loss/fits.csv";

[[nodiscard]] inline parsed_command_line parsed(words w) {
    w.insert(w.begin(), "sim");
    return parse_command_line(std::move(w), all_commands(), policy_names());
}

[[nodiscard]] inline simulation_options options_of(words w) {
    return ::options_of<simulation_options>(parsed(std::move(w)));
}

[[nodiscard]] inline std::string refusal(words w) {
    auto const c = parsed(std::move(w));
    auto const* const reply = std::get_if<answer>(&c);
    if (reply == nullptr || reply->code != exit_code::bad_input) return "not refused";
    return reply->text.substr(0, reply->text.size() - 1);
}

/// A trace of three jobs for one device: done at 10, 30 and 60 s under fifo.
class three_jobs {
    temporary_file file_;

public:
    three_jobs() {
        std::ofstream(file_.path()) << "job_id,submit_time,num_gpus,duration\na,0,1,10\nb,0,1,20\nc,10,1,30\n";
    }
    [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }
};

/// Runs as the program does, without printing.
struct ran {
    simulation_options options;
    diagnostics problems;
    simulation_input input;
    std::vector<policy_text> policies;

    explicit ran(words w) : options(options_of(std::move(w))), input(read_simulation(options, problems)) {
        if (problems.empty()) policies = try_policies(options, input, problems);
        if (problems.empty()) compare_with_exact(options, input, policies, problems);
    }
    [[nodiscard]] simulation_results results() const {
        REQUIRE(problems.empty());
        runs_progress progress;
        return {options, input, policies, run_all(options, input, progress)};
    }
    [[nodiscard]] std::string problem() const {
        return problems.size() == 1 ? to_text(problems.front()) : std::to_string(problems.size()) + " problems";
    }
};

[[nodiscard]] inline std::string without_measured(std::string page) {
    std::size_t const from = page.find("<!-- measured -->"), to = page.find("<!-- /measured -->");
    REQUIRE(from < to);
    return page.erase(from, to - from);
}

/// The data in the script element of this name.
[[nodiscard]] inline json element_of(std::string const& page, std::string const& id) {
    std::string const mark = "<script type=\"application/json\" id=\"" + id + "\">";
    std::size_t const from = page.find(mark) + mark.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// Every element is closed where it has to be; empty when it is so.
[[nodiscard]] inline std::string imbalance(std::string const& page) {
    words open;
    for (std::size_t at = 0; (at = page.find('<', at)) != page.npos; ++at) {
        if (page.compare(at, 2, "<!") == 0) continue;
        bool const closes = page[at + 1] == '/';
        std::size_t const from = at + 1 + closes, to = page.find_first_of(" >/", from), end = page.find('>', at);
        std::string const name = page.substr(from, to - from);
        if (!closes && (name == "meta" || name == "link" || page[end - 1] == '/')) continue;
        if (!closes)
            open.push_back(name);
        else if (open.empty() || open.back() != name)
            return "</" + name + "> closes nothing";
        else
            open.pop_back();
        if (!closes && (name == "script" || name == "style")) at = page.find("</" + name, at) - 1;
    }
    return open.empty() ? "" : "<" + open.back() + "> stays open";
}

}  // namespace simulate_test

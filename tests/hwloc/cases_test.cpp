// SPDX-License-Identifier: BSL-1.0
// Compares the tables of cases.md and of docs/placement.md with the placer's results: every row, every cell, on the
// machine that is named above its table.
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/hwloc/explain.hpp>
#include <ration/hwloc/reader.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::hwloc;

namespace {

struct row {
    std::string machine;
    std::vector<std::string> cells;  // number, others, has, asks, CPUs, memory, GPUs, why
};

[[nodiscard]] std::vector<std::string> cells_of(std::string const& line) {
    std::vector<std::string> out;
    for (std::size_t from = 2; from < line.size();) {
        auto const end = line.find(" | ", from), last = line.rfind(" |");
        out.push_back(line.substr(from, std::min(end, last) - from));
        from = end == std::string::npos ? line.size() : end + 3;
    }
    return out;
}

[[nodiscard]] std::vector<row> rows_of(char const* page) {
    std::ifstream in(page);
    std::vector<row> out;
    std::string line, machine;
    while (std::getline(in, line)) {
        if (auto const at = line.find("Machine: `"); at != std::string::npos)
            machine = line.substr(at + 10, line.find('`', at + 10) - at - 10);
        if (line.starts_with("| ") && line[2] >= '1' && line[2] <= '9') out.push_back({machine, cells_of(line)});
    }
    return out;
}

[[nodiscard]] std::vector<std::uint32_t> numbers_after(std::string const& cell, std::string const& word) {
    std::vector<std::uint32_t> out;
    auto const at = cell.find(word);
    if (at == std::string::npos) return out;
    auto const set = cgroup::cpu_set::parse(cell.substr(at + word.size(), cell.find(';', at) - at - word.size()));
    REQUIRE(set);
    for (std::uint32_t i = 0; i < 128; ++i)
        if (set->contains(i)) out.push_back(i);
    return out;
}

[[nodiscard]] holding holding_of(std::string const& cell) {
    return {.cores = numbers_after(cell, "cores "), .gpus = numbers_after(cell, "GPUs ")};
}

/// "8 cores, 2 GPUs"
[[nodiscard]] request request_of(std::string const& cell) {
    auto const comma = cell.find(", ");
    auto const number = [](std::string const& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
    return {.cores = number(cell), .gpus = comma == std::string::npos ? 0 : number(cell.substr(comma + 2))};
}

[[nodiscard]] std::string as_line(std::vector<std::string> const& cells) {
    std::string out = "|";
    for (std::string const& cell : cells) out += ' ' + cell + " |";
    return out;
}

/// The row as it has to be.
[[nodiscard]] std::string answered(placer const& on, row const& r) {
    occupied others(on.where());
    others.add(holding_of(r.cells[1]));
    auto const has = holding_of(r.cells[2]);
    auto const given = on.place(request_of(r.cells[3]), has, others);
    REQUIRE(given);
    std::string why;
    for (std::string const& sentence : explain(on, has, *given, others)) why += (why.empty() ? "" : " ") + sentence;
    std::string const gpus = given->now.gpus.empty() ? "-" : list_of(given->now.gpus);
    return as_line(
        {r.cells[0], r.cells[1], r.cells[2], r.cells[3], list_of(given->cpus), list_of(given->memory), gpus, why});
}

/// Places each row of a page. The number of its rows by machine.
[[nodiscard]] std::map<std::string, int> check_rows(char const* page) {
    std::map<std::string, int> of_machine;
    for (row const& r : rows_of(page)) {
        REQUIRE(r.cells.size() == 8);
        ++of_machine[r.machine];
        auto read = read_xml(std::string(RATION_MACHINES) + '/' + r.machine + ".xml");
        REQUIRE(read);
        auto const on = placer::of(std::move(*read));
        REQUIRE(on);
        CHECK(as_line(r.cells) == answered(*on, r));
    }
    return of_machine;
}

}  // namespace

TEST_CASE("each case is placed as its row reports") {
    CHECK(check_rows(RATION_PLACEMENT_CASES) ==
          std::map<std::string, int>{
              {"desktop", 12}, {"dgx_1", 12}, {"four_sockets", 12}, {"hybrid", 12}, {"sub_numa", 12}});
}

TEST_CASE("docs/placement.md reports placements of one machine") {
    CHECK(check_rows(RATION_PLACEMENT_PAGE) == std::map<std::string, int>{{"dgx_1", 1}});
}

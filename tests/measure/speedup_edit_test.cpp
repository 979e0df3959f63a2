// SPDX-License-Identifier: BSL-1.0
// The list in the text of a jobs file: all other bytes stay.
#include "config/speedup_edit.hpp"

#include <vector>

#include "support/catch.hpp"

using ration::program::speedup_text;
using ration::program::with_speedup;

namespace {

[[nodiscard]] std::string edited(std::string const& text, std::size_t job = 0) {
    auto const out = with_speedup(text, job, std::vector<double>{0, 1, 1.75});
    return out ? *out : "refused: " + out.failure().text;
}

constexpr auto no_line = "refused: the job has neither 'bounds' nor 'name' on a separate line";
constexpr auto no_list = "refused: its list 'speedup' has comments, or is not a list of numbers";

}  // namespace

TEST_CASE("speedup_text: four significant digits") {
    CHECK(speedup_text(std::vector<double>{0, 1, 1.82345, 57.318, 0}) == "[0, 1, 1.823, 57.32, 0]");
}

TEST_CASE("with_speedup: another list in the place of the present one") {
    CHECK(edited("# a\n[[job]] # b\nname = 'x'  # c\nspeedup = [0, 1,\n  1.5 , 2]   # d\nbatch = [0, 1]\n") ==
          "# a\n[[job]] # b\nname = 'x'  # c\nspeedup = [0, 1, 1.75]   # d\nbatch = [0, 1]\n");
    CHECK(edited("[[job]]\r\nspeedup=[0,1]\r\nname = 'x'\r\n") == "[[job]]\r\nspeedup=[0, 1, 1.75]\r\nname = 'x'\r\n");
    // Columns count characters, and these have two and four bytes
    CHECK(edited("job = [{ name = 'äö𝄞', speedup = [0, 1], k = 'ü' }]") ==
          "job = [{ name = 'äö𝄞', speedup = [0, 1, 1.75], k = 'ü' }]");
}

TEST_CASE("with_speedup: only the list of this job") {
    std::string const text = "[[job]]\nname = 'x'\nspeedup = [0, 1]\n[[job]]\nname = 'y'\nspeedup = [0, 1]\n";
    CHECK(edited(text, 1) == "[[job]]\nname = 'x'\nspeedup = [0, 1]\n[[job]]\nname = 'y'\nspeedup = [0, 1, 1.75]\n");
    CHECK(edited(text, 2) == "refused: it has no such job");
}

TEST_CASE("with_speedup: a new line, indented and ended like the one above") {
    CHECK(edited("[[job]]\n  name = 'x'\n\tbounds = { gpu = 2 } # two\n  at = '1s'\n") ==
          "[[job]]\n  name = 'x'\n\tbounds = { gpu = 2 } # two\n\tspeedup = [0, 1, 1.75]\n  at = '1s'\n");
    CHECK(edited("[[job]]\r\nname = 'x'\r\nbounds.gpu.min = 1\r\nbounds.gpu.max = 2\r\n") ==
          "[[job]]\r\nname = 'x'\r\nbounds.gpu.min = 1\r\nspeedup = [0, 1, 1.75]\r\nbounds.gpu.max = 2\r\n");
    CHECK(edited("[[job]]\nname = 'x'") == "[[job]]\nname = 'x'\nspeedup = [0, 1, 1.75]");
    // A line below [job.bounds] would belong to the bounds
    CHECK(edited("[[job]]\nname = 'x'\n[job.bounds]\ngpu = { max = 2 }\n") ==
          "[[job]]\nname = 'x'\nspeedup = [0, 1, 1.75]\n[job.bounds]\ngpu = { max = 2 }\n");
    CHECK(edited("[[job]]\nname = 'x'\nhint = '''\nbounds = 1\n'''\n") ==
          "[[job]]\nname = 'x'\nspeedup = [0, 1, 1.75]\nhint = '''\nbounds = 1\n'''\n");
}

TEST_CASE("with_speedup: refuses a file that it cannot change safely") {
    CHECK(edited("[[job]]\nname = 'x'\nspeedup = [0, 1, # measured by hand\n 2]\n") == no_list);
    CHECK(edited("[[job]]\nname = 'x'\nspeedup = [0, [1]]\n") == no_list);
    CHECK(edited("[[job]]\nname = 'x'\nspeedup = 'all'\n") == no_list);
    CHECK(edited("job = [{ name = 'x' }]\n") == no_line);
    CHECK(edited("job = [{ name = 'x' }, { name = 'y' }]\n", 1) == no_line);
    CHECK(edited("[[job]]\nname = '''\nx'''\n") == no_line);
    CHECK(edited("[[job]]\n") == no_line);
    CHECK(edited("[[job]]\nname = ").starts_with("refused: this is not TOML"));
    CHECK(edited("") == "refused: it has no such job");
}

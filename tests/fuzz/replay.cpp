// SPDX-License-Identifier: BSL-1.0
// Runs a fuzz target once on each file below the folders of the command line: what compilers without libFuzzer can do.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

[[nodiscard]] std::vector<std::filesystem::path> files_below(char const* folder) {
    std::vector<std::filesystem::path> files;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

void run(std::filesystem::path const& path) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // the last line names the input that ended the process
    std::ifstream file(path, std::ios::binary);
    std::vector<char> const bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** words) {
    std::size_t inputs = 0;
    for (int i = 1; i < count; ++i)
        for (auto const& path : files_below(words[i])) {
            run(path);
            ++inputs;
        }
    std::printf("%zu inputs\n", inputs);
    return inputs > 0 ? 0 : 1;
}

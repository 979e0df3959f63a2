// SPDX-License-Identifier: BSL-1.0
/// A checkpoint of a training: its steps, its parameters and the moments of its optimiser, in one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include "adam.hpp"

namespace trainers {

class checkpoint {
    std::filesystem::path file_;

public:
    explicit checkpoint(std::filesystem::path const& folder) : file_(folder / "training") {}

    /// Replaces the file as a whole. Returns false if it could not be written.
    [[nodiscard]] bool save(std::uint64_t steps, adam<float>& optimiser) const {
        auto fresh = file_;
        fresh += ".new";
        std::ofstream out(fresh, std::ios::binary);
        write(out, std::span(&steps, 1));
        for (auto const values : optimiser.state()) write(out, values);
        out.close();
        std::error_code failed;
        if (out) std::filesystem::rename(fresh, file_, failed);
        return out && !failed;
    }

    /// Restores what was saved, and returns its steps; 0 without a file of this size.
    [[nodiscard]] std::uint64_t load(adam<float>& optimiser) const {
        std::uint64_t steps = 0;
        std::uintmax_t bytes = sizeof steps;
        for (auto const values : optimiser.state()) bytes += values.size_bytes();
        std::error_code failed;
        if (std::filesystem::file_size(file_, failed) != bytes || failed) return 0;
        std::ifstream in(file_, std::ios::binary);
        read(in, std::span(&steps, 1));
        for (auto const values : optimiser.state()) read(in, values);
        optimiser.resume(steps);
        return steps;
    }

private:
    template <class T>
    static void write(std::ofstream& out, std::span<T> values) {
        out.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    }
    template <class T>
    static void read(std::ifstream& in, std::span<T> values) {
        in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    }
};

}  // namespace trainers

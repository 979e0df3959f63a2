// SPDX-License-Identifier: BSL-1.0
#include "idx.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <zlib.h>

namespace trainers {
namespace {

constexpr std::uint8_t unsigned_byte = 0x08;

struct closer {
    void operator()(gzFile file) const { gzclose_r(file); }
};
using gzip_file = std::unique_ptr<gzFile_s, closer>;

std::string sentence(std::filesystem::path const& path, std::string const& what) { return path.string() + ": " + what; }

/// Empty when all of `to` was filled.
std::string fill(gzFile file, std::span<std::uint8_t> to) {
    int const n = gzread(file, to.data(), static_cast<unsigned>(to.size()));
    if (n == static_cast<int>(to.size())) return {};
    int code = Z_OK;
    std::string const message = gzerror(file, &code);
    if (code == Z_ERRNO) return std::strerror(errno);
    if (n < 0) return "damaged (" + message + ")";
    return "ends too early";
}

/// Empty when the file ends here, and its checksum is right.
std::string expect_end(gzFile file) {
    std::uint8_t more = 0;
    int const n = gzread(file, &more, 1);
    if (n > 0) return "continues after its last element";
    int code = Z_OK;
    std::string const message = gzerror(file, &code);
    if (code == Z_BUF_ERROR) return "ends too early";
    return n == 0 && code == Z_OK ? std::string() : "damaged (" + message + ")";
}

std::string read_sizes(gzFile file, unsigned axes, std::vector<std::uint32_t>& sizes) {
    std::array<std::uint8_t, 4> word{};
    if (auto problem = fill(file, word); !problem.empty()) return problem;
    if (word != std::array<std::uint8_t, 4>{0, 0, unsigned_byte, static_cast<std::uint8_t>(axes)})
        return "not an idx file of unsigned bytes with " + std::to_string(axes) + " axes";
    std::uint64_t elements = 1;
    for (unsigned axis = 0; axis < axes; ++axis) {
        if (auto problem = fill(file, word); !problem.empty()) return problem;
        sizes.push_back(std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 | std::uint32_t{word[2]} << 8 |
                        word[3]);
        elements *= sizes.back();  // both below 2^32: no overflow
        if (elements == 0 || elements > idx_limit)
            return "its header asks for " + std::to_string(elements) + " elements";
    }
    return {};
}

std::string read(gzFile file, unsigned axes, idx& to) {
    if (auto problem = read_sizes(file, axes, to.sizes); !problem.empty()) return problem;
    std::size_t elements = 1;
    for (auto const size : to.sizes) elements *= size;
    to.elements.resize(elements);
    if (auto problem = fill(file, to.elements); !problem.empty()) return problem;
    return expect_end(file);
}

}  // namespace

attempt<idx> read_idx(std::filesystem::path const& path, unsigned axes) {
    errno = 0;
    gzip_file const file(gzopen(path.c_str(), "rb"));
    if (file == nullptr) return sentence(path, errno != 0 ? std::strerror(errno) : "out of memory");
    idx content;
    if (auto const problem = read(file.get(), axes, content); !problem.empty()) return sentence(path, problem);
    return content;
}

}  // namespace trainers

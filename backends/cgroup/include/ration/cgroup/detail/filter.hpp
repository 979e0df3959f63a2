// SPDX-License-Identifier: BSL-1.0
/// An `io` in front of another: sees each call, may answer in its place, sees each answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/io.hpp>

namespace ration::cgroup {

/// The calls that can fail.
enum class call_kind : std::uint8_t {
    open_directory,
    open_child,
    identify,
    read,
    write,
    make,
    remove,
    list,
    signal_members,
    wait_change,
    read_system,
    read_link
};

[[nodiscard]] constexpr std::string_view name_of(call_kind kind) noexcept {
    constexpr std::string_view names[] = {"open_directory", "open_child",  "identify",    "read",
                                          "write",          "make",        "remove",      "list",
                                          "signal_members", "wait_change", "read_system", "read_link"};
    return names[static_cast<std::size_t>(kind)];
}

struct call {
    call_kind kind{};
    int directory = -1;
    std::string_view name;  ///< a file, a group or a path
    std::string_view text;  ///< what is written; what is known, for wait_change; the number of a signal
};

/// The results of the call. The pointers are null for calls that have no such answer; through them an answer may be
/// changed.
struct answer {
    int failed = 0;
    std::string* text = nullptr;
    int* opened = nullptr;
    std::vector<std::string>* names = nullptr;
};

class filter : public io {
    io& inner_;

public:
    explicit filter(io& inner) noexcept : inner_(inner) {}

    int open_directory(char const* path, int& directory) noexcept override {
        return pass({call_kind::open_directory, -1, path, {}}, {.opened = &directory},
                    [&] { return inner_.open_directory(path, directory); });
    }
    int open_child(int parent, char const* name, int& directory) noexcept override {
        return pass({call_kind::open_child, parent, name, {}}, {.opened = &directory},
                    [&] { return inner_.open_child(parent, name, directory); });
    }
    void close(int directory) noexcept override { inner_.close(directory); }
    int identify(int directory, identity& who) noexcept override {
        return pass({call_kind::identify, directory, {}, {}}, {}, [&] { return inner_.identify(directory, who); });
    }
    int native(int directory) noexcept override { return inner_.native(directory); }
    int read(int directory, char const* file, std::string& into) noexcept override {
        return pass({call_kind::read, directory, file, {}}, {.text = &into},
                    [&] { return inner_.read(directory, file, into); });
    }
    int write(int directory, char const* file, std::string_view text) noexcept override {
        return pass({call_kind::write, directory, file, text}, {}, [&] { return inner_.write(directory, file, text); });
    }
    int make(int parent, char const* name) noexcept override {
        return pass({call_kind::make, parent, name, {}}, {}, [&] { return inner_.make(parent, name); });
    }
    int remove(int parent, char const* name) noexcept override {
        return pass({call_kind::remove, parent, name, {}}, {}, [&] { return inner_.remove(parent, name); });
    }
    int list(int directory, std::vector<std::string>& children) noexcept override {
        return pass({call_kind::list, directory, {}, {}}, {.names = &children},
                    [&] { return inner_.list(directory, children); });
    }
    int signal_members(int directory, int number, std::size_t& reached) noexcept override {
        std::string const text = std::to_string(number);
        return pass({call_kind::signal_members, directory, {}, text}, {},
                    [&] { return inner_.signal_members(directory, number, reached); });
    }
    int wait_change(int directory, char const* file, std::string_view known, nanoseconds at_most) noexcept override {
        return pass({call_kind::wait_change, directory, file, known}, {},
                    [&] { return inner_.wait_change(directory, file, known, at_most); });
    }
    int read_system(char const* path, std::string& into) noexcept override {
        return pass({call_kind::read_system, -1, path, {}}, {.text = &into},
                    [&] { return inner_.read_system(path, into); });
    }
    int read_link(char const* path, std::string& into) noexcept override {
        return pass({call_kind::read_link, -1, path, {}}, {.text = &into},
                    [&] { return inner_.read_link(path, into); });
    }
    int self() noexcept override { return inner_.self(); }
    nanoseconds now() noexcept override { return inner_.now(); }
    void sleep(nanoseconds duration) noexcept override { inner_.sleep(duration); }

protected:
    /// Before a call. Anything but 0 is its answer, and the call is not made.
    [[nodiscard]] virtual int before(call const&) noexcept { return 0; }
    /// After a call that was made. The result is what the caller gets.
    [[nodiscard]] virtual int after(call const&, answer const& got) noexcept { return got.failed; }

private:
    template <class Made>
    [[nodiscard]] int pass(call const& what, answer got, Made made) noexcept {
        if (int const refused = before(what)) return refused;
        got.failed = made();
        return after(what, got);
    }
};

}  // namespace ration::cgroup

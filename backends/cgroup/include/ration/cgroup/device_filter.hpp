// SPDX-License-Identifier: BSL-1.0
/// Device files that the processes of a v2 group may not open, by an eBPF program of a few instructions. Loading one
/// needs CAP_BPF and CAP_NET_ADMIN, or CAP_SYS_ADMIN. Source: bpf(2), the kernel's documents of
/// BPF_PROG_TYPE_CGROUP_DEVICE and of the instruction set.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <linux/bpf.h>
#include <span>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/devices.hpp>
#include <ration/process/descriptor.hpp>

namespace ration::cgroup {

namespace detail {

/// Lets everything pass but the character devices named: the program is asked of each device that is opened or made,
/// and answers 0 (no) or 1.
[[nodiscard]] inline std::vector<bpf_insn> device_program(std::span<device_number const> denied) {
    constexpr std::uint8_t load_word = BPF_LDX | BPF_MEM | BPF_W, and_number = BPF_ALU64 | BPF_AND | BPF_K,
                           jump_unequal = BPF_JMP32 | BPF_JNE | BPF_K, move_number = BPF_ALU64 | BPF_MOV | BPF_K,
                           end = BPF_JMP | BPF_EXIT;
    auto const insn = [](std::uint8_t code, unsigned to, unsigned from, int offset, unsigned number) {
        bpf_insn out{};
        out.code = code;
        out.dst_reg = to & 0xF;
        out.src_reg = from & 0xF;
        out.off = static_cast<std::int16_t>(offset);
        out.imm = static_cast<std::int32_t>(number);
        return out;
    };
    std::vector<bpf_insn> out{insn(load_word, BPF_REG_2, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, access_type), 0),
                              insn(and_number, BPF_REG_2, 0, 0, 0xffff),  // the lower half is the kind of device
                              insn(load_word, BPF_REG_3, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, major), 0),
                              insn(load_word, BPF_REG_4, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, minor), 0)};
    for (device_number const each : denied) {
        out.push_back(insn(jump_unequal, BPF_REG_2, 0, 4, BPF_DEVCG_DEV_CHAR));
        out.push_back(insn(jump_unequal, BPF_REG_3, 0, 3, each.major));
        out.push_back(insn(jump_unequal, BPF_REG_4, 0, 2, each.minor));
        out.push_back(insn(move_number, BPF_REG_0, 0, 0, 0));
        out.push_back(insn(end, 0, 0, 0, 0));
    }
    out.push_back(insn(move_number, BPF_REG_0, 0, 0, 1));
    out.push_back(insn(end, 0, 0, 0, 0));
    return out;
}

[[nodiscard]] inline int call_bpf(int command, bpf_attr& what) noexcept {
    return static_cast<int>(::syscall(SYS_bpf, command, &what, sizeof what));
}

}  // namespace detail

/// A program that is attached to a group until this goes, or for the group's life if the controller is killed.
/// Move-only. Others' programs on the group or above it (systemd's DeviceAllow) stay, and each must agree.
class device_filter {
    process::descriptor group_, program_;

    device_filter(process::descriptor group, process::descriptor program) noexcept
        : group_(std::move(group)), program_(std::move(program)) {}

public:
    /// The most devices of one filter; the kernel's own limit on a program without privilege is 4096 instructions.
    static constexpr std::size_t most = 800;

    device_filter(device_filter&&) noexcept = default;
    device_filter& operator=(device_filter&&) = delete;
    ~device_filter() {
        if (program_) {
            bpf_attr what = attachment();
            static_cast<void>(detail::call_bpf(BPF_PROG_DETACH, what));
        }
    }

    /// From now on no process in the group, or below it, opens these; what is open stays open, so deny before a job is
    /// placed. Errors: `not_supported` (not a v2 group of the running kernel; a kernel without such programs),
    /// `denied`, `out_of_range` (too many).
    [[nodiscard]] static result<device_filter> deny(directory const& group, std::span<device_number const> devices) {
        int const native = group.machine().native(group.handle());
        if (group.kind() != version::v2 || native < 0) {
            return make_error(errc::not_supported, "filter devices in", group.path(), 0,
                              "an eBPF program goes with a group of cgroup v2: on v1 use the devices hierarchy");
        }
        if (devices.size() > most) {
            return make_error(errc::out_of_range, "filter devices in", group.path(), 0,
                              "a group can be kept from 800 devices at most");
        }
        auto const program = detail::device_program(devices);
        bpf_attr what;
        std::memset(&what, 0, sizeof what);
        what.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
        what.insns = reinterpret_cast<std::uintptr_t>(program.data());
        what.insn_cnt = static_cast<std::uint32_t>(program.size());
        what.license = reinterpret_cast<std::uintptr_t>("BSL-1.0");
        process::descriptor loaded(detail::call_bpf(BPF_PROG_LOAD, what));
        if (!loaded) return refusal("load a device filter for", group, errno);
        process::descriptor held(::fcntl(native, F_DUPFD_CLOEXEC, 0));
        device_filter out(std::move(held), std::move(loaded));
        what = out.attachment();
        what.attach_flags = BPF_F_ALLOW_MULTI;
        if (detail::call_bpf(BPF_PROG_ATTACH, what) != 0) {
            int const why = errno;
            out.program_.reset();  // nothing to detach
            return refusal("attach a device filter to", group, why);
        }
        return out;
    }

private:
    [[nodiscard]] bpf_attr attachment() const noexcept {
        bpf_attr what;
        std::memset(&what, 0, sizeof what);
        what.target_fd = static_cast<std::uint32_t>(group_.get());
        what.attach_bpf_fd = static_cast<std::uint32_t>(program_.get());
        what.attach_type = BPF_CGROUP_DEVICE;
        return what;
    }

    [[nodiscard]] static error refusal(char const* operation, directory const& group, int why) noexcept {
        if (why == EPERM || why == EACCES) {
            return make_error(
                errc::denied, operation, group.path(), why,
                "only root may load eBPF programs (CAP_BPF and CAP_NET_ADMIN): without it masks are advice");
        }
        bool const old = why == EINVAL || why == ENOSYS;
        return make_error(
            old ? errc::not_supported : code_of(why), operation, group.path(), why,
            old ? "the kernel has no device programs (CONFIG_CGROUP_BPF, Linux 5.1): masks are advice" : "");
    }
};

/// By which version a group can be kept from device files here, found out by doing it with a group of this name: v2
/// wherever it can, as the job's own group serves there. Errors: why neither can.
[[nodiscard]] inline result<version> find_device_control(io& machine, std::string const& name) {
    auto const found = tree::discover(machine);
    if (!found) return found.failure();
    error why = found->owner(controller::core).why;
    if (branch const* const v2 = found->branch_of(controller::core); v2 != nullptr) {
        auto const made = v2->own.make(name);
        fresh_group fresh(v2->own, name, milliseconds(200));
        if (!made) fresh.keep();
        auto const group = made ? v2->own.child(name) : result<directory>(made.failure());
        auto const filter = group ? device_filter::deny(*group, {}) : result<device_filter>(group.failure());
        if (group) {
            static_cast<void>(remove_tree(v2->own, name, group->inode(), milliseconds(200)));
            fresh.keep();
        }
        if (filter) return version::v2;
        why = filter.failure();
    }
    auto const guard = device_guard::create(machine, name);
    if (guard) return version::v1;
    return guard.failure().code == errc::not_supported ? why : guard.failure();
}

}  // namespace ration::cgroup

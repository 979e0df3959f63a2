// SPDX-License-Identifier: BSL-1.0
#include "endpoint.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;
constexpr char const* making = "make the socket";
constexpr int backlog = SOMAXCONN;  // connections that wait to be accepted, so that many clients start at once

[[nodiscard]] result<endpoint, diagnostic> parse_unix(std::string_view path) {
    if (path.empty())
        return diagnostic{.text = "'unix:' needs the path of a socket after it, as in unix:/run/user/1000/ration.sock"};
    if (path.size() > longest_path || path.find('\0') != path.npos)
        return diagnostic{.text = quoted(path) +
                                  " cannot be a socket's path: that has at most 107 bytes, so choose a shorter folder"};
    return endpoint(unix_endpoint{std::string(path)});
}

[[nodiscard]] bool is_loopback(std::string const& host, bool bracketed) {
    in_addr four{};
    in6_addr six{};
    if (bracketed) return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
    return ::inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

[[nodiscard]] error failed(char const* operation, std::string_view subject, char const* remedy) {
    auto out = process::path_error(operation, subject, errno, remedy);
    if (out.system == EADDRINUSE) out.code = errc::already_exists;
    return out;
}

/// The address of a socket. Error: out_of_range, since the kernel cuts no path but has no room for a longer one.
[[nodiscard]] result<sockaddr_un> address_of(std::string const& path) {
    sockaddr_un address{};
    if (path.size() > longest_path)
        return error{.code = errc::out_of_range,
                     .operation = making,
                     .subject = std::string_view(path),
                     .remedy = "the path of a socket has at most 107 bytes: choose a shorter folder"};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    return address;
}

/// Removes the socket of a listener that is gone. A socket with a listener, or another file, stays and is an error.
[[nodiscard]] result<void> clear_stale(sockaddr_un const& address) {
    std::string_view const path = address.sun_path;
    struct stat about{};
    if (::lstat(address.sun_path, &about) != 0)
        return errno == ENOENT ? result<void>() : failed(making, path, "choose a path in a folder of your own");
    if (!S_ISSOCK(about.st_mode))
        return error{.code = errc::already_exists,
                     .operation = making,
                     .subject = path,
                     .remedy = "the file there is not a socket: move it away, or choose another path"};
    process::descriptor const probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // EAGAIN: a program listens, and its queue of callers is full.
    if (::connect(probe.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 || errno == EAGAIN)
        return error{.code = errc::already_exists,
                     .operation = making,
                     .subject = path,
                     .remedy = "another program listens there: stop it, or choose another path"};
    return ::unlink(address.sun_path) == 0 ? result<void>() : failed(making, path, "choose another path");
}

}  // namespace

result<endpoint, diagnostic> parse_endpoint(std::string_view word) {
    if (word.starts_with(unix_prefix)) return parse_unix(word.substr(unix_prefix.size()));
    auto const colon = word.rfind(':');
    if (colon == word.npos)
        return diagnostic{.text = quoted(word) +
                                  " is not an address for metrics: write unix:PATH, 127.0.0.1:PORT or [::1]:PORT"};
    auto host = word.substr(0, colon);
    bool const bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (!is_loopback(std::string(host), bracketed))
        return diagnostic{
            .text =
                quoted(host) +
                " is not a loopback address, and metrics are not for other machines: write 127.0.0.1:PORT, [::1]:PORT or "
                "unix:PATH, and let a proxy of yours pass them on"};
    auto const digits = word.substr(colon + 1);
    std::uint16_t port = 0;
    auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (failure != std::errc() || end != digits.data() + digits.size() || port == 0)
        return diagnostic{.text =
                              quoted(digits) + " is not a port: take a number from 1 to 65535, as in 127.0.0.1:9555"};
    return endpoint(loopback_endpoint{std::string(host), port});
}

bool names_this_machine(std::string_view host) {
    if (host.find('/') != host.npos) return true;
    bool const bracketed = host.starts_with('[');
    auto const name = bracketed ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
    return name == "localhost" || is_loopback(std::string(name), bracketed);
}

result<listening_socket> listening_socket::open(endpoint const& where) {
    listening_socket opened;
    if (auto listens = opened.listen_at(where); !listens) return listens.failure();
    return opened;
}

result<void> listening_socket::restore() {
    struct stat about{};
    if (path_.empty() || ::lstat(path_.c_str(), &about) == 0 || errno != ENOENT) return {};
    return listen_at(unix_endpoint{path_, mode_});
}

result<void> listening_socket::listen_at(endpoint const& where) {
    int const family = std::holds_alternative<unix_endpoint>(where)                             ? AF_UNIX
                       : std::get<loopback_endpoint>(where).host.find(':') != std::string::npos ? AF_INET6
                                                                                                : AF_INET;
    socket_ = process::descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return failed("open a socket", "", "free some resources of the machine");
    if (auto bound = std::visit([&](auto const& at) { return bind_to(at); }, where); !bound) return bound;
    if (::listen(fd(), backlog) != 0) return failed("listen at a socket", "", "choose another address");
    return {};
}

result<void> listening_socket::bind_to(unix_endpoint const& where) {
    auto const address = address_of(where.path);
    if (!address) return address.failure();
    if (auto cleared = clear_stale(*address); !cleared) return cleared;
    if (::bind(fd(), reinterpret_cast<sockaddr const*>(&*address), sizeof *address) != 0)
        return failed(making, where.path, "choose a path in a folder that is there and that you may write to");
    path_ = where.path;
    mode_ = where.mode;
    struct stat about{};
    // No client can connect before `listen`, and by then the mode is set.
    if (::chmod(path_.c_str(), mode_) != 0 || ::lstat(path_.c_str(), &about) != 0)
        return failed(making, where.path, "choose a path in a folder of your own");
    device_ = about.st_dev;
    inode_ = about.st_ino;
    return {};
}

result<void> listening_socket::bind_to(loopback_endpoint const& where) {
    int const on = 1;  // a run may follow another while the kernel still remembers the first one's connections
    ::setsockopt(fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in four{.sin_family = AF_INET, .sin_port = htons(where.port), .sin_addr = {}, .sin_zero = {}};
    sockaddr_in6 six{.sin6_family = AF_INET6,
                     .sin6_port = htons(where.port),
                     .sin6_flowinfo = 0,
                     .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                     .sin6_scope_id = 0};
    bool const is_four = ::inet_pton(AF_INET, where.host.c_str(), &four.sin_addr) == 1;
    int const bound = is_four ? ::bind(fd(), reinterpret_cast<sockaddr const*>(&four), sizeof four)
                              : ::bind(fd(), reinterpret_cast<sockaddr const*>(&six), sizeof six);
    if (bound == 0) return {};
    auto out = process::system_error("listen at", where.host + ':' + std::to_string(where.port), errno,
                                     "choose a port that is free, from 1024 on");
    if (out.system == EADDRINUSE) out.code = errc::already_exists;
    return out;
}

listening_socket::~listening_socket() {
    struct stat about{};
    if (socket_ && inode_ != 0 && ::lstat(path_.c_str(), &about) == 0 && about.st_dev == device_ &&
        about.st_ino == inode_)
        ::unlink(path_.c_str());
}

}  // namespace ration::program

// SPDX-License-Identifier: BSL-1.0
/*
 * Receives the commands of ration in a training job: the job's side of C1 (docs/progress-protocol.md), in C99 and C++.
 * The sender is control.hpp; progress is reported with client.h.
 *
 *     ration_progress_listen(p);                // before hello, which reports the socket
 *     ration_progress_hello(p, 1, 1);
 *     for (step = 1; step <= steps; ++step) {
 *         int saved = 0, hold, asked;
 *         double by;
 *         ration_progress_step(p, step, train(), steps);
 *         asked = ration_progress_command(p, &by, &hold);
 *         while (asked == RATION_PROGRESS_SAVE || asked == RATION_PROGRESS_STOP) {
 *             if (asked == RATION_PROGRESS_SAVE || !saved)
 *                 ration_progress_checkpoint(p, step, saved = saved || save(step));
 *             if (asked == RATION_PROGRESS_STOP) return stopped(p);  // bye with "stop", close, exit status 0
 *             asked = saved && hold ? ration_progress_hold(p, by, &by, &hold)
 *                                   : ration_progress_command(p, &by, &hold);
 *         }
 *     }
 *
 * Outside ration, and in ranks other than 0, no command arrives. In a job of several processes, rank 0 polls at each
 * step boundary and informs the others. Only ration_progress_hold blocks.
 */
#ifndef RATION_PROGRESS_CLIENT_COMMANDS_H
#define RATION_PROGRESS_CLIENT_COMMANDS_H

#include <sys/stat.h>

#include <ration/progress/client.h>

enum {
    RATION_PROGRESS_NOTHING, /* no command */
    RATION_PROGRESS_SAVE, /* save now and call ration_progress_checkpoint; with hold: then call ration_progress_hold */
    RATION_PROGRESS_GO,   /* a hold is over */
    RATION_PROGRESS_STOP  /* save unless just saved, send bye with "stop", exit 0 */
};

/*
 * Opens the socket for commands in the directory of the progress socket. Returns 1 if there is one. A job that calls
 * this has to call ration_progress_command at its step boundaries: ration sends it a command instead of SIGTERM.
 */
static inline int ration_progress_listen(ration_progress* p) {
    int const saved = errno;
    struct sockaddr_un address;
    int folder, attempt;
    size_t at;
    if (!ration_progress_usable_(p) || p->rank_ != 0) return 0;
    if (p->control_[0] != '\0') return 1;
    folder = (int)(strrchr(p->path_, '/') - p->path_);
    for (at = 0; at < (size_t)folder; ++at)
        if (p->path_[at] <= ' ' || p->path_[at] >= 0x7f || p->path_[at] == '=')
            return 0; /* no message could contain it */
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    for (attempt = 0; attempt < 8; ++attempt) { /* a process in another namespace may use the name */
        int const n = snprintf(address.sun_path, sizeof address.sun_path, "%.*s/rx.%ld.%d", folder, p->path_,
                               (long)getpid(), attempt);
        if (n < 0 || (size_t)n >= sizeof address.sun_path) break;
        p->control_socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (p->control_socket_ < 0) break;
        if (bind(p->control_socket_, (struct sockaddr const*)&address, (socklen_t)sizeof address) == 0) {
            chmod(address.sun_path, 0600); /* other users cannot enter the directory anyway */
            memcpy(p->control_, address.sun_path, sizeof p->control_);
            break;
        }
        close(p->control_socket_);
        p->control_socket_ = -1;
    }
    errno = saved;
    return p->control_[0] != '\0';
}

/* A command that is being parsed; `seen_` has a bit for each of e, k, q, by, hold. */
typedef struct ration_progress_order {
    int type_, hold_;
    unsigned seen_;
    uint64_t sequence_;
    double by_;
} ration_progress_order;

/* Parses seconds: digits, optionally a point and digits; at most 1e9. Without strtod, which depends on the locale.
 * Returns 1 for a valid number. */
static inline int ration_progress_seconds_(char const* text, double* out) {
    double value = 0, unit = 1;
    char const* at = text;
    for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + (*at - '0');
    if (at == text || value > 1e9) return 0;
    if (*at == '.') {
        if (at[1] == '\0') return 0;
        for (++at; *at >= '0' && *at <= '9'; ++at) value += (unit /= 10) * (*at - '0');
    }
    *out = value;
    return *at == '\0';
}

/* Parses one pair. Returns 0 if the message is not for this job. */
static inline int ration_progress_take_pair_(ration_progress const* p, ration_progress_order* order, char const* key,
                                             char const* value) {
    static char const* const keys[] = {"e", "k", "q", "by", "hold"};
    uint64_t number = 0;
    unsigned at = 0;
    while (at < 5 && strcmp(keys[at], key) != 0) ++at;
    if (at == 5) return 1; /* a key of a later version */
    if ((order->seen_ >> at & 1U) != 0) return 0;
    order->seen_ |= 1U << at;
    switch (at) {
        case 0: return ration_progress_whole_(value, UINT32_MAX, &number) && number == p->incarnation_;
        case 1: return strcmp(value, p->token_) == 0;
        case 2: return ration_progress_whole_(value, UINT64_MAX, &order->sequence_) && order->sequence_ != 0;
        case 3: return ration_progress_seconds_(value, &order->by_);
        default: order->hold_ = strcmp(value, "1") == 0; return order->hold_ || strcmp(value, "0") == 0;
    }
}

/* Parses a message, and changes its text. Returns 1 for a command to this incarnation of the job. Type -1: ping,
 * -2: unknown. */
static inline int ration_progress_read_order_(ration_progress const* p, char* text, ration_progress_order* order) {
    static char const* const types[] = {"save", "go", "stop"};
    char *rest = text + 3, *word;
    memset(order, 0, sizeof *order);
    if (strncmp(text, "C1 ", 3) != 0) return 0;
    for (word = rest; word != NULL; word = rest) {
        char* value;
        rest = strchr(word, ' ');
        if (rest != NULL) *rest++ = '\0';
        if (word == text + 3) {
            int at = 0;
            while (at < 3 && strcmp(types[at], word) != 0) ++at;
            order->type_ = at < 3 ? at + RATION_PROGRESS_SAVE : strcmp(word, "ping") == 0 ? -1 : -2;
            continue;
        }
        value = strchr(word, '=');
        if (value == NULL || value == word || value[1] == '\0') return 0;
        *value = '\0';
        if (!ration_progress_take_pair_(p, order, word, value + 1)) return 0;
    }
    return (order->seen_ & 7U) == 7U;
}

/*
 * Returns the next command, which is acknowledged already; call it at each step boundary. `by` becomes the number of
 * seconds that the job has, 0: no limit; `hold` becomes 1 if the job has to hold after saving. Both can be NULL.
 * Messages that are not commands to this incarnation of the job are dropped. Never blocks.
 */
static inline int ration_progress_command(ration_progress* p, double* by, int* hold) {
    int const saved = errno;
    int attempt, type = RATION_PROGRESS_NOTHING;
    if (!ration_progress_usable_(p)) return RATION_PROGRESS_NOTHING;
    for (attempt = 0; attempt < 16 && type == RATION_PROGRESS_NOTHING && p->control_socket_ >= 0; ++attempt) {
        char text[RATION_PROGRESS_DATAGRAM + 1], body[48];
        ration_progress_order order;
        ssize_t n = recv(p->control_socket_, text, RATION_PROGRESS_DATAGRAM, MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0) break;
        if (n == 0 || n > RATION_PROGRESS_DATAGRAM) continue;
        if (text[n - 1] == '\n') --n;
        text[n] = '\0';
        if (strlen(text) != (size_t)n || !ration_progress_read_order_(p, text, &order)) continue;
        snprintf(body, sizeof body, " c=%" PRIu64 " ok=%d", order.sequence_, order.type_ != -2);
        ration_progress_post_(p, "ack", body);
        if (order.type_ > 0) type = order.type_;
        if (by != NULL) *by = order.by_;
        if (hold != NULL) *hold = order.hold_;
    }
    errno = saved;
    return type;
}

/*
 * Waits at most `seconds` for the command after a save with hold. Returns RATION_PROGRESS_GO if none arrives in time,
 * or if none can arrive. The only call that blocks.
 */
static inline int ration_progress_hold(ration_progress* p, double seconds, double* by, int* hold) {
    double const from = ration_progress_now_();
    int const saved = errno;
    int type = ration_progress_command(p, by, hold);
    while (type == RATION_PROGRESS_NOTHING && ration_progress_usable_(p) && p->control_socket_ >= 0) {
        double const left = seconds - (ration_progress_now_() - from);
        struct pollfd waiting;
        if (!(left > 0) || left > seconds + 1) break;
        waiting.fd = p->control_socket_;
        waiting.events = POLLIN;
        waiting.revents = 0;
        poll(&waiting, 1, left < 3600 ? (int)(1000 * left) + 1 : 3600000);
        type = ration_progress_command(p, by, hold);
    }
    errno = saved;
    return type != RATION_PROGRESS_NOTHING ? type : RATION_PROGRESS_GO;
}

#endif

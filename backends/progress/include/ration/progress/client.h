// SPDX-License-Identifier: BSL-1.0
/*
 * Reports the progress of a training job: the sender of protocol P1 (docs/progress-protocol.md), in C99 and C++.
 *
 *     ration_progress *p = ration_progress_open();
 *     ration_progress_hello(p, 1, 1);
 *     ration_progress_phase(p, "train");
 *     for (step = 1; step <= steps; ++step) ration_progress_step(p, step, train(), steps);
 *     ration_progress_bye(p, 0, "done");
 *     ration_progress_close(p);
 *
 * Outside ration (RATION_PROGRESS is not set) every call does nothing. No call blocks (but see close), prints, ends the
 * program or changes errno; each accepts NULL as the handle. A handle belongs to one thread, a process opens one, and
 * a forked child's copy sends nothing. A message that cannot be sent now is kept and sent by a later call, so that each
 * loss is counted while the job lives. The header needs only libc and sets no feature macro.
 */
#ifndef RATION_PROGRESS_CLIENT_H
#define RATION_PROGRESS_CLIENT_H

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    RATION_PROGRESS_DATAGRAM = 1024, /* the longest message of P1 */
    RATION_PROGRESS_WORD = 64,       /* the longest name, metric, phase, reason or name of a device */
    RATION_PROGRESS_DEVICES = 768,   /* the longest list of devices */
    RATION_PROGRESS_OUTBOX = 8       /* messages other than steps kept while the receiver is busy or away */
};

typedef struct ration_progress_note {
    char const* type_;
    char body_[RATION_PROGRESS_DATAGRAM];
} ration_progress_note;

typedef struct ration_progress {
    char path_[108], job_[RATION_PROGRESS_WORD + 1], token_[RATION_PROGRESS_WORD + 1];
    uint32_t incarnation_, rank_;
    pid_t owner_;       /* 0: nothing is ever sent */
    char control_[108]; /* socket for commands (client_commands.h); empty: none */
    int socket_, control_socket_;
    uint64_t sequence_;         /* of the last message sent */
    double sent_at_, retry_at_; /* seconds; sent_at_ < 0: no step sent yet */
    double step_at_;            /* time of the last step; < 0: none in this phase */
    double busy_;               /* time between steps since the last message */
    uint64_t intervals_, step_, total_, batch_, finite_, non_finite_;
    double mean_;
    int outbox_size_;
    ration_progress_note outbox_[RATION_PROGRESS_OUTBOX];
} ration_progress;

/* Seconds, for differences. Strict -std=c99 may hide the monotonic clock; the wall clock replaces it. */
static inline double ration_progress_now_(void) {
#ifdef CLOCK_MONOTONIC
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    struct timeval t;
    gettimeofday(&t, NULL);
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
#endif
}

/* Reads the bits as volatile bytes, because -ffast-math lets a compiler assume that no value is NaN or infinite. */
static inline int ration_progress_finite_(double value) {
    unsigned char const volatile* const from = (unsigned char const volatile*)&value;
    unsigned char bytes[sizeof value];
    uint64_t bits;
    size_t at;
    for (at = 0; at < sizeof value; ++at) bytes[at] = from[at];
    memcpy(&bits, bytes, sizeof bits);
    return ((bits >> 52) & 0x7ff) != 0x7ff;
}

/* Copies at most RATION_PROGRESS_WORD characters. '_' replaces a character that P1 forbids, and an empty value. */
static inline void ration_progress_word_(char* out, char const* in) {
    size_t n = 0;
    for (; in != NULL && in[n] != '\0' && n < RATION_PROGRESS_WORD; ++n)
        /* NOLINTNEXTLINE(readability-redundant-casting): in C the expression is an int */
        out[n] = (char)(in[n] > ' ' && in[n] < 0x7f && in[n] != '=' ? in[n] : '_');
    if (n == 0) out[n++] = '_';
    out[n] = '\0';
}

/* Replaces the decimal separator of the program's locale, even of several bytes, by one '.'. */
static inline void ration_progress_plain_(char* number) {
    char* to = number;
    char const* from = number;
    for (; *from != '\0'; ++from) {
        int const plain = (*from >= '0' && *from <= '9') || *from == '-' || *from == '+' || *from == 'e';
        if (plain)
            *to++ = *from;
        else if (to == number || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
}

/* Writes a finite number so that it reads back as the same value. */
static inline void ration_progress_number_(char out[40], double value) {
    snprintf(out, 40, "%.17g", value);
    ration_progress_plain_(out);
}

/* Parses digits, at most `most`. Returns 1 for a valid number. */
static inline int ration_progress_whole_(char const* text, uint64_t most, uint64_t* out) {
    uint64_t value = 0;
    if (text == NULL || *text == '\0') return 0;
    for (; *text != '\0'; ++text) {
        uint64_t const digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || value > (most - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

/* True for names of 1 to RATION_PROGRESS_WORD characters that P1 allows in a value, separated by single commas. */
static inline int ration_progress_is_device_list_(char const* text) {
    size_t at, length = 0;
    for (at = 0; text != NULL && text[at] != '\0'; ++at) {
        if (at == RATION_PROGRESS_DEVICES || text[at] <= ' ' || text[at] >= 0x7f || text[at] == '=') return 0;
        if (text[at] == ',' ? length == 0 : length == RATION_PROGRESS_WORD) return 0;
        length = text[at] == ',' ? 0 : length + 1;
    }
    return length != 0;
}

static inline int ration_progress_connect_(ration_progress* p) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, p->path_, sizeof address.sun_path);
    p->socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->socket_ < 0) return 0;
    if (connect(p->socket_, (struct sockaddr const*)&address, (socklen_t)sizeof address) == 0) return 1;
    close(p->socket_);
    p->socket_ = -1;
    return 0;
}

/* Returns 1 if the kernel accepted the message. Retries once, for a receiver that was restarted. */
static inline int ration_progress_send_(ration_progress* p, char const* type, char const* body) {
    char datagram[RATION_PROGRESS_DATAGRAM + 1];
    int attempt;
    int const n = snprintf(datagram, sizeof datagram, "P1 %s e=%" PRIu32 " k=%s j=%s r=%" PRIu32 " q=%" PRIu64 "%s",
                           type, p->incarnation_, p->token_, p->job_, p->rank_, p->sequence_ + 1, body);
    if (n < 0 || n > RATION_PROGRESS_DATAGRAM) return 0;
    for (attempt = 0; attempt < 2; ++attempt) {
        if (p->socket_ < 0 && !ration_progress_connect_(p)) break;
        if (send(p->socket_, datagram, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n) {
            ++p->sequence_;
            return 1;
        }
        if (errno != ECONNREFUSED && errno != ENOTCONN && errno != ENOENT && errno != ECONNRESET && errno != EPIPE)
            return 0;
        close(p->socket_);
        p->socket_ = -1;
    }
    p->retry_at_ = ration_progress_now_() + 0.2; /* no receiver: do not retry at every step */
    return 0;
}

static inline int ration_progress_usable_(ration_progress const* p) {
    return p != NULL && p->owner_ != 0 && p->owner_ == getpid();
}

static inline void ration_progress_drain_(ration_progress* p) {
    int sent = 0;
    while (sent < p->outbox_size_ && ration_progress_send_(p, p->outbox_[sent].type_, p->outbox_[sent].body_)) ++sent;
    p->outbox_size_ -= sent;
    memmove(p->outbox_, p->outbox_ + sent, (size_t)p->outbox_size_ * sizeof p->outbox_[0]);
}

/* Sends the sums over the steps since the last message; keeps them if that fails. */
static inline void ration_progress_flush_(ration_progress* p) {
    char body[256], number[40];
    int n;
    if (p->finite_ + p->non_finite_ == 0) return;
    n = snprintf(body, sizeof body, " s=%" PRIu64 " c=%" PRIu64 " nf=%" PRIu64, p->step_, p->finite_, p->non_finite_);
    if (p->finite_ != 0) {
        ration_progress_number_(number, p->mean_);
        n += snprintf(body + n, sizeof body - (size_t)n, " l=%s", number);
    }
    if (p->total_ != 0) n += snprintf(body + n, sizeof body - (size_t)n, " x=%" PRIu64, p->total_);
    if (p->batch_ != 0) n += snprintf(body + n, sizeof body - (size_t)n, " b=%" PRIu64, p->batch_);
    if (p->intervals_ != 0) {
        ration_progress_number_(number, p->busy_ / (double)p->intervals_);
        snprintf(body + n, sizeof body - (size_t)n, " d=%s", number);
    }
    if (!ration_progress_send_(p, "step", body)) return;
    p->sent_at_ = ration_progress_now_();
    p->finite_ = p->non_finite_ = p->intervals_ = 0;
    p->mean_ = p->busy_ = 0;
}

/* Sends a message of another type after the steps before it, or keeps it; the oldest kept one is dropped if needed. */
static inline void ration_progress_post_(ration_progress* p, char const* type, char const* body) {
    int const saved = errno;
    ration_progress_note* note;
    ration_progress_drain_(p);
    ration_progress_flush_(p);
    if (p->outbox_size_ == RATION_PROGRESS_OUTBOX) {
        --p->outbox_size_;
        memmove(p->outbox_, p->outbox_ + 1, (size_t)p->outbox_size_ * sizeof p->outbox_[0]);
    }
    note = &p->outbox_[p->outbox_size_++];
    note->type_ = type;
    snprintf(note->body_, sizeof note->body_, "%s", body);
    ration_progress_drain_(p);
    errno = saved;
}

/* Reads RATION_PROGRESS (unix:/path), RATION_{JOB,INCARNATION,TOKEN} and RANK. NULL only when memory is out. */
static inline ration_progress* ration_progress_open(void) {
    char const* const where = getenv("RATION_PROGRESS");
    char const* const job = getenv("RATION_JOB");
    char const* const token = getenv("RATION_TOKEN");
    uint64_t number = 0;
    int const saved = errno;
    ration_progress* const p = (ration_progress*)calloc(1, sizeof *p);
    errno = saved;
    if (p == NULL) return NULL;
    p->socket_ = p->control_socket_ = -1;
    p->sent_at_ = p->step_at_ = -1;
    if (where == NULL || strncmp(where, "unix:/", 6) != 0 || strlen(where + 5) >= sizeof p->path_) return p;
    if (!job || !token || !ration_progress_whole_(getenv("RATION_INCARNATION"), UINT32_MAX, &number)) return p;
    p->incarnation_ = (uint32_t)number;
    memcpy(p->path_, where + 5, strlen(where + 5));
    ration_progress_word_(p->job_, job);
    ration_progress_word_(p->token_, token);
    p->rank_ = ration_progress_whole_(getenv("RANK"), UINT32_MAX, &number) ? (uint32_t)number : 0;
    p->owner_ = getpid();
    return p;
}

/* Reports that the job runs: its number of processes, the threads of this one (0: not known) and the devices that this
 * one sees: names with commas between, GPUs by the driver's UUID. NULL, or a malformed or long list: not known. */
static inline void ration_progress_hello_on(ration_progress* p, uint32_t world_size, uint32_t threads,
                                            char const* devices) {
    char body[RATION_PROGRESS_DATAGRAM];
    size_t envelope;
    int n;
    if (!ration_progress_usable_(p)) return;
    envelope = 64 + strlen(p->job_) + strlen(p->token_); /* 64: the keys, and the longest numbers, before the body */
    n = snprintf(body, sizeof body, " w=%" PRIu32 " t=%" PRIu32 " v=c1", world_size, threads);
    if (p->control_[0] != '\0') n += snprintf(body + n, sizeof body - (size_t)n, " rx=%s", p->control_);
    if (ration_progress_is_device_list_(devices) &&
        envelope + (size_t)n + 3 + strlen(devices) <= RATION_PROGRESS_DATAGRAM)
        snprintf(body + n, sizeof body - (size_t)n, " g=%s", devices);
    ration_progress_post_(p, "hello", body);
}

/* The same, with unknown devices or none. */
static inline void ration_progress_hello(ration_progress* p, uint32_t world_size, uint32_t threads) {
    ration_progress_hello_on(p, world_size, threads, NULL);
}

/* Requests a number of devices, at most 4096; 0 withdraws the request. */
static inline void ration_progress_want(ration_progress* p, uint32_t devices) {
    char body[32];
    if (!ration_progress_usable_(p)) return;
    snprintf(body, sizeof body, " n=%" PRIu32, devices < 4096 ? devices : 4096);
    ration_progress_post_(p, "want", body);
}

/* Sets the samples per step over all ranks, reported with later steps; 0, or more than 2^32: unknown. */
static inline void ration_progress_batch(ration_progress* p, uint64_t samples) {
    if (ration_progress_usable_(p)) p->batch_ = samples <= (UINT64_C(1) << 32) ? samples : 0;
}

/* Reports one training step: `step` counts over the whole job, a `loss` that is not finite is counted and not averaged,
 * `total_steps` 0 means not known. Rank 0 sends the first message at once and at most five a second; others none. */
static inline void ration_progress_step(ration_progress* p, uint64_t step, double loss, uint64_t total_steps) {
    int const saved = errno;
    double now;
    if (!ration_progress_usable_(p) || p->rank_ != 0) return;
    now = ration_progress_now_();
    if (p->step_at_ >= 0 && now >= p->step_at_) {
        p->busy_ += now - p->step_at_;
        ++p->intervals_;
    }
    p->step_at_ = now;
    p->step_ = step;
    p->total_ = total_steps;
    if (ration_progress_finite_(loss)) {
        ++p->finite_; /* divided first: the mean of finite numbers is finite, their sum need not be */
        p->mean_ += loss / (double)p->finite_ - p->mean_ / (double)p->finite_;
    } else {
        ++p->non_finite_;
    }
    if (now >= p->retry_at_ || p->retry_at_ - now > 1) {
        if (p->outbox_size_ != 0) ration_progress_drain_(p);
        if (p->sent_at_ < 0 || now - p->sent_at_ >= 0.2 || now < p->sent_at_) ration_progress_flush_(p);
    }
    errno = saved;
}

/* Reports a value of a metric on held-out data. */
static inline void ration_progress_eval(ration_progress* p, uint64_t step, char const* metric, double value) {
    char body[176], name[RATION_PROGRESS_WORD + 1], number[40];
    if (!ration_progress_usable_(p)) return;
    ration_progress_word_(name, metric);
    ration_progress_number_(number, value);
    if (ration_progress_finite_(value))
        snprintf(body, sizeof body, " s=%" PRIu64 " m=%s v=%s", step, name, number);
    else
        snprintf(body, sizeof body, " s=%" PRIu64 " m=%s nf=1", step, name);
    ration_progress_post_(p, "eval", body);
}

/* Sets the phase: init, load, compile, train, eval, save or idle. A missing step is a stall only in `train`. */
static inline void ration_progress_phase(ration_progress* p, char const* phase) {
    char body[176], name[RATION_PROGRESS_WORD + 1];
    if (!ration_progress_usable_(p)) return;
    ration_progress_word_(name, phase);
    snprintf(body, sizeof body, " ph=%s", name);
    ration_progress_post_(p, "phase", body);
    p->step_at_ = -1;
}

/* Reports that a checkpoint is durable (ok != 0) or has failed (ok == 0), and its duration; <= 0: unknown. */
static inline void ration_progress_checkpoint_in(ration_progress* p, uint64_t step, int ok, double seconds) {
    char body[176], number[40];
    int n;
    if (!ration_progress_usable_(p)) return;
    n = snprintf(body, sizeof body, " s=%" PRIu64 " ok=%d", step, ok != 0);
    ration_progress_number_(number, seconds);
    if (ration_progress_finite_(seconds) && seconds > 0) snprintf(body + n, sizeof body - (size_t)n, " d=%s", number);
    ration_progress_post_(p, "ckpt", body);
}

static inline void ration_progress_checkpoint(ration_progress* p, uint64_t step, int ok) {
    ration_progress_checkpoint_in(p, step, ok, 0);
}

/* Reports that the job is alive without a step. Not kept if it cannot be sent. */
static inline void ration_progress_heartbeat(ration_progress* p) {
    int const saved = errno;
    if (!ration_progress_usable_(p)) return;
    ration_progress_drain_(p);
    ration_progress_flush_(p);
    ration_progress_send_(p, "hb", "");
    errno = saved;
}

/* Reports the end of the job; `why` is done, stop, diverged or error; NULL: derived from the exit code. */
static inline void ration_progress_bye(ration_progress* p, int exit_code, char const* why) {
    char body[176], name[RATION_PROGRESS_WORD + 1];
    if (!ration_progress_usable_(p)) return;
    ration_progress_word_(name, why != NULL ? why : exit_code == 0 ? "done" : "error");
    snprintf(body, sizeof body, " rc=%d why=%s", exit_code, name);
    ration_progress_post_(p, "bye", body);
}

/* Retries for at most a tenth of a second while the queue of the receiver is full. */
static inline void ration_progress_linger_(ration_progress* p) {
    double const until = ration_progress_now_() + 0.1;
    int attempt;
    for (attempt = 0; attempt < 100; ++attempt) {
        struct pollfd room;
        int left;
        ration_progress_drain_(p);
        ration_progress_flush_(p);
        left = (int)(1000 * (until - ration_progress_now_()));
        if (p->socket_ < 0 || left <= 0 || left > 100 || (uint64_t)p->outbox_size_ + p->finite_ + p->non_finite_ == 0)
            return;
        room.fd = p->socket_;
        room.events = POLLOUT;
        room.revents = 0;
        poll(&room, 1, left);
    }
}

/* Ends the handle. Only this call may wait, for at most a tenth of a second, to send the kept messages. */
static inline void ration_progress_close(ration_progress* p) {
    int const saved = errno;
    if (p == NULL) return;
    if (ration_progress_usable_(p)) {
        ration_progress_linger_(p);
        if (p->control_[0] != '\0') unlink(p->control_);
    }
    if (p->control_socket_ >= 0) close(p->control_socket_);
    if (p->socket_ >= 0) close(p->socket_);
    free(p);
    errno = saved;
}

#endif

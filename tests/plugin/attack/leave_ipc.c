// SPDX-License-Identifier: BSL-1.0
/* Leaves shared memory, semaphores and message queues behind. */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "attack.h"

int32_t on_create(void) {
    shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    shm_open("/ration-attack", O_CREAT | O_RDWR, 0600);
    mq_open("/ration-attack", O_CREAT | O_RDWR, 0600, NULL);
    return 0;
}

// SPDX-License-Identifier: BSL-1.0
/* Talks to itself over the loopback interface. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    struct sockaddr_in here;
    socklen_t size = sizeof here;
    memset(&here, 0, sizeof here);
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr*)&here, size) != 0 || listen(server, 1) != 0) return 0;
    getsockname(server, (struct sockaddr*)&here, &size);
    if (connect(client, (struct sockaddr*)&here, size) == 0) printf("connected\n");
    fflush(stdout);
    close(client);
    close(server);
    return 0;
}

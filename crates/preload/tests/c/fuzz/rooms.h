/* While a stream waits for the host, no thread makes a call in which a driver may wait for the device and keep out the
 * thread that would release the stream: natively that hangs. Nor does a whole context wait during a capture. So there
 * are three rooms, and a thread in one keeps every thread out of the others: one for held streams and for captures, one
 * for waits, and one for a capture in which the thread waits for a copy of the legacy stream. That copy waits behind
 * held streams and keeps out their threads: on an H100 such programs hung, natively too. */
#ifndef ROOMS_H
#define ROOMS_H

#include <pthread.h>

#include "../client.h"

enum { NO_ROOM = -1, HELD_ROOM, WAITING_ROOM, LEGACY_ROOM, ROOMS };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;
    int inside[ROOMS];
} rooms = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static inline int has_others(int room)
{
    int others = 0;
    for (int i = 0; i < ROOMS; i++)
        others += i != room ? rooms.inside[i] : 0;
    return others > 0;
}

static inline void enter_room(int room)
{
    REQUIRE(pthread_mutex_lock(&rooms.lock) == 0);
    while (has_others(room))
        REQUIRE(pthread_cond_wait(&rooms.left, &rooms.lock) == 0);
    rooms.inside[room]++;
    REQUIRE(pthread_mutex_unlock(&rooms.lock) == 0);
}

static inline void leave_room(int room)
{
    REQUIRE(pthread_mutex_lock(&rooms.lock) == 0);
    if (--rooms.inside[room] == 0)
        REQUIRE(pthread_cond_broadcast(&rooms.left) == 0);
    REQUIRE(pthread_mutex_unlock(&rooms.lock) == 0);
}

#endif

/* Tasks, as random.c uses them. It includes this among its operations. */
#ifndef RANDOM_TASKS_H
#define RANDOM_TASKS_H

typedef struct {
    void *target;
    const void *source;
    size_t bytes;
    int kind, turns;
} Errand;

static int run_errand(struct overtake_lane *lane, void *data)
{
    const Errand *errand = data;
    struct CUstream_st *stream = NULL;
    uint32_t turn = 0;
    int priority = 0;
    REQUIRE(overtake_lane_turn(lane, &turn) == OVERTAKE_OK && overtake_lane_stream(lane, &stream) == OVERTAKE_OK);
    REQUIRE(overtake_lane_priority(lane, &priority) == OVERTAKE_OK && priority >= 1 && stream != NULL);
    if ((int)turn + 1 < errand->turns)
        return overtake_lane_again(lane);
    REQUIRE(turn != 1 || overtake_lane_sync_point(lane) == OVERTAKE_OK);
    return overtake_lane_copy(lane, errand->target, errand->source, errand->bytes, errand->kind);
}

static int run_nothing(void *data)
{
    REQUIRE(data == NULL);
    return OVERTAKE_OK;
}

static void touch_task(User *user, struct overtake_tasks *tasks, struct overtake_task *task)
{
    int done = -1, is_valid, priority = any_priority(user, &is_valid);
    switch (draw(user, 5)) {
    case 0: TRY(overtake_task_raise(task, priority)); break;
    case 1: WORKS(overtake_task_is_done(task, &done)); break;
    case 2: TRY(overtake_task_before(task, draw(user, 2) ? task : NULL)); break;
    case 3:
        if (TRY(overtake_task_hold(task)) == OVERTAKE_OK)
            WORKS(overtake_task_release(task));
        break;
    default: REQUIRE(TRY(overtake_group_end(tasks)) != OVERTAKE_OK);
    }
}

/* A chain of copies by a dispatcher of its own, so that the model knows their order. */
static void tasks(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    struct overtake_dispatcher *dispatcher = NULL;
    struct overtake_tasks *set = NULL;
    struct overtake_task *last = NULL, *next = NULL;
    Errand errands[6];
    int is_grouped = draw(user, 2) != 0, is_stopped = draw(user, 3) == 0;
    OK(cuStreamSynchronize(lane->stream));
    WORKS(overtake_dispatcher_open(NULL, &dispatcher));
    WORKS(overtake_tasks_open(dispatcher, draw(user, 2) ? "set" : NULL, &set));
    if (is_stopped)
        WORKS(overtake_tasks_stop(set));
    if (is_grouped)
        WORKS(overtake_group_begin(set));
    for (int i = 0, count = 1 + (int)draw(user, 6); i < count; i++) {
        int way = (int)draw(user, 3), is_valid, turns = 1 + (int)draw(user, 3);
        size_t bytes = any_bytes(user), to = draw(user, BYTES / 2 - bytes + 1) + (way == 2 ? BYTES / 2 : 0);
        size_t from = draw(user, BYTES / 2 - bytes + 1);
        errands[i] = (Errand){target_of(lane, way, to), source_of(lane, way, from), bytes, kinds[way], turns};
        struct overtake_task_spec spec = {.struct_size = sizeof spec, .kind = OVERTAKE_TASK_KERNEL, .name = "errand",
                                          .launch = run_errand, .data = &errands[i], .after = last ? &last : NULL,
                                          .after_count = last != NULL};
        spec.priority = any_priority(user, &is_valid);
        if (draw(user, 4) == 0) /* a function between two of the device */
            spec.kind = OVERTAKE_TASK_HOST, spec.launch = NULL, spec.run = run_nothing, spec.data = NULL;
        if (TRY(overtake_submit(set, &spec, &next)) != OVERTAKE_OK) {
            REQUIRE(!is_valid);
            continue;
        }
        if (spec.kind == OVERTAKE_TASK_KERNEL)
            model(lane, way, to, from, bytes);
        if (last != NULL)
            WORKS(overtake_task_free(last));
        last = next;
        if (!is_grouped)
            touch_task(user, set, last);
    }
    if (is_grouped)
        WORKS(overtake_group_end(set));
    if (is_stopped)
        WORKS(overtake_tasks_start(set));
    WORKS(draw(user, 2) && last != NULL ? overtake_task_wait(last) : overtake_tasks_wait(set));
    WORKS(overtake_tasks_wait(set));
    TRY(overtake_tasks_free(draw(user, 2) ? set : NULL));
    WORKS(overtake_dispatcher_close(dispatcher));
    REQUIRE(TRY(overtake_task_free(last)) != OVERTAKE_OK);
}

#endif

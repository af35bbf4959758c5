/* The calls of storm.c about arrays, pipelines and copies. */
#ifndef STORM_DATA_H
#define STORM_DATA_H

static void array_sets(Thread *thread)
{
    Arrays *arrays = NULL;
    int is_done = 0;
    struct overtake_arrays_statistics counts = {.struct_size = sizeof counts};
    struct overtake_arrays_options options = {.struct_size = sizeof options, .selection = (int)draw(thread, 4)};
    switch (draw(thread, 8)) {
    case 0:
    case 1:
    case 2:
        if (TRY(overtake_arrays_open, any(thread, DISPATCHER), &options, &arrays) == OVERTAKE_OK)
            share(thread, ARRAYS, arrays);
        break;
    case 3: TRY(overtake_arrays_close, any(thread, ARRAYS)); break;
    case 4: TRY(overtake_arrays_wait_for, any(thread, ARRAYS), draw(thread, 300000), &is_done); break;
    case 5: TRY(overtake_arrays_read_statistics, any(thread, ARRAYS), &counts); break;
    default: {
        Kernel *kernel = NULL;
        if (TRY(overtake_kernel_load, any(thread, ARRAYS), the_kernels, the_kernels_bytes, "work_add", &kernel) == 0)
            share(thread, KERNEL, kernel);
    }
    }
}

static void adopt_array(Thread *thread)
{
    Array *array = NULL;
    struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .count = ELEMENTS, .element_bytes = 4};
    spec.is_on_device = draw(thread, 2), spec.device = draw(thread, 20) == 0;
    spec.memory = spec.is_on_device ? (void *)the_device : (void *)the_pinned;
    spec.stream = draw(thread, 4) == 0 && thread->stream != NULL ? thread->stream : NULL;
    spec.data = new_datum(thread, "overtake_array_adopt"), spec.free_data = free_datum;
    if (TRY(overtake_array_adopt, any(thread, ARRAYS), &spec, &array) == OVERTAKE_OK)
        share(thread, ARRAY, array);
}

static void open_access(Thread *thread)
{
    void *memory = NULL;
    Access *access = NULL;
    AccessSpec spec = {.struct_size = sizeof spec, .mode = (int)draw(thread, 6), .is_on_device = draw(thread, 4) == 0};
    spec.first = draw(thread, 8) == 0 ? draw(thread, 2 * ELEMENTS) : 0;
    int waits = (int)draw(thread, 2);
    if (TRY(overtake_array_open, any(thread, ARRAY), &spec, waits ? &memory : NULL, &access) != OVERTAKE_OK)
        return;
    if (!waits && draw(thread, 3))
        TRY(overtake_access_wait_for, access, draw(thread, 300000), &memory);
    if (draw(thread, 4))
        TRY(overtake_access_close, access);
    else
        share(thread, ACCESS, access);
}

static void arrays(Thread *thread)
{
    Array *array = NULL;
    Task *task = NULL;
    void *memory = NULL;
    AccessSpec spec = {.struct_size = sizeof spec, .is_on_device = draw(thread, 2), .priority = any_priority(thread)};
    switch (draw(thread, 12)) {
    case 0:
    case 1:
        if (TRY(overtake_array_new, any(thread, ARRAYS), ELEMENTS, draw(thread, 30) ? 4 : 0, &array) == OVERTAKE_OK)
            share(thread, ARRAY, array);
        break;
    case 2:
    case 3: adopt_array(thread); break;
    case 4:
        if (TRY(overtake_array_view, any(thread, ARRAY), draw(thread, ELEMENTS), 0, &array) == OVERTAKE_OK)
            share(thread, ARRAY, array);
        break;
    case 5: TRY(overtake_array_free, any(thread, ARRAY)); break;
    case 6: TRY(overtake_array_release, any(thread, ARRAY)); break;
    case 7:
        if (draw(thread, 2))
            TRY(overtake_access_wait_for, any(thread, ACCESS), draw(thread, 300000), &memory);
        else
            TRY(overtake_access_close, any(thread, ACCESS));
        break;
    case 8: share_task(thread, TRY(overtake_array_bring, any(thread, ARRAY), &spec, &task), task); break;
    case 9: TRY(overtake_kernel_free, any(thread, KERNEL)); break;
    default: open_access(thread);
    }
}

static void computations(Thread *thread)
{
    Task *task = NULL, *after = any(thread, TASK);
    Argument all[4];
    for (int i = 0; i < 3; i++)
        all[i] = use(any(thread, ARRAY), 1 + (int)draw(thread, draw(thread, 20) ? 4 : 9));
    all[3] = value(&the_elements, sizeof the_elements);
    Computation spec = {.struct_size = sizeof spec, .name = "squall", .priority = any_priority(thread)};
    spec.arguments = all, spec.arguments_count = 1 + draw(thread, 3);
    spec.data = new_datum(thread, "overtake_compute"), spec.free_data = free_datum;
    spec.references = draw(thread, 16) == 0, spec.after_count = draw(thread, 6) == 0;
    if (spec.after_count != 0 || draw(thread, 40) == 0)
        spec.after = &after;
    spec.is_on_device = draw(thread, 8) == 0, spec.device = draw(thread, 8) == 0;
    switch (draw(thread, 3)) {
    case 0:
        all[0].mode = all[1].mode = OVERTAKE_USE_READ, all[2].mode = OVERTAKE_USE_DISCARD;
        spec.kernel = any(thread, KERNEL), spec.arguments_count = 4, spec.block[0] = ELEMENTS;
        break;
    case 1: spec.launch = launch_uses; break;
    default: spec.run = run_uses; break;
    }
    share_task(thread, TRY(overtake_compute, any(thread, ARRAYS), &spec, &task), task);
}

static void pipelines(Thread *thread)
{
    struct overtake_pipeline *line = NULL;
    struct overtake_pipeline_end *producer = NULL, *consumer = NULL;
    struct overtake_admission *places = NULL;
    struct overtake_pipeline_statistics counts = {.struct_size = sizeof counts};
    struct overtake_frame_record record = {.struct_size = sizeof record};
    struct overtake_pipeline_options options = {.struct_size = sizeof options, .bytes = 4096};
    options.stages = draw(thread, 4);
    switch (draw(thread, 7)) {
    case 0:
    case 1:
        options.behind = (int)draw(thread, 4), options.period_ns = draw(thread, 4) ? 0 : 1000000;
        options.priority = any_priority(thread), options.admission = draw(thread, 4) ? NULL : any(thread, ADMISSION);
        if (TRY(overtake_pipeline_open, any(thread, SET), &options, &line, &producer, &consumer) != OVERTAKE_OK)
            return;
        share(thread, PIPELINE, line), share(thread, END, producer), share(thread, END, consumer);
        break;
    case 2: TRY(overtake_pipeline_free, any(thread, PIPELINE)); break;
    case 3: TRY(overtake_pipeline_leave, any(thread, END)); break;
    case 4: TRY(overtake_pipeline_read_statistics, any(thread, PIPELINE), &counts); break;
    case 5: TRY(overtake_pipeline_take_record, any(thread, PIPELINE), &record); break;
    default:
        if (TRY(overtake_admission_open, draw(thread, 3), &places) == OVERTAKE_OK)
            share(thread, ADMISSION, places);
    }
}

static void frames(Thread *thread)
{
    void *end = any(thread, END);
    Task *task = NULL, *after[2];
    struct overtake_frame frame = {.struct_size = draw(thread, 30) ? sizeof frame : 8};
    int64_t timeout_ns = (int64_t)draw(thread, 200000) - (draw(thread, 30) == 0 ? 100000 : 0);
    switch (draw(thread, 10)) {
    case 0: TRY(overtake_pipeline_acquire, end, thread->is_inside ? 0 : timeout_ns, &frame); break;
    case 1: TRY(overtake_pipeline_wait, end, thread->is_inside ? 0 : timeout_ns, &frame); break;
    case 2: TRY(overtake_pipeline_commit, end); break;
    case 3: TRY(overtake_pipeline_hand_over, end); break;
    case 4: TRY(overtake_pipeline_give_up, end); break;
    case 5: TRY(overtake_pipeline_release, end); break;
    case 6: TRY(overtake_pipeline_complete, end); break;
    case 7: TRY(overtake_pipeline_captured, end, draw(thread, 1000000)); break;
    case 8:
        share_task(thread, TRY(overtake_pipeline_copy, end, the_device, the_pinned, 4096, (int)draw(thread, 6), &task),
                   task);
        break;
    default: {
        Spec spec = any_spec(thread, "overtake_pipeline_submit", after);
        share_task(thread, TRY(overtake_pipeline_submit, end, &spec, &task), task);
    }
    }
}

static void queues(Thread *thread)
{
    struct overtake_copy_queue *queue = NULL;
    void *known = any(thread, QUEUE);
    size_t at = draw(thread, MEMORY / 2), bytes = 1 + draw(thread, MEMORY / 2);
    if (thread->stream == NULL)
        return;
    switch (draw(thread, 6)) {
    case 0:
        at = (size_t)atomic_fetch_add(&queues_opened, 1);
        if (at < QUEUES &&
            TRY(overtake_copy_queue_open, thread->stream, any_priority(thread), draw(thread, 9), &queue) == OVERTAKE_OK)
            atomic_store(&all_queues[at], queue), share(thread, QUEUE, queue);
        break;
    case 1: TRY(overtake_copy_queue_close, known); break;
    case 2: TRY(overtake_copy_queue_copy, known, the_device + at, the_pinned + at, bytes, (int)draw(thread, 6)); break;
    case 3: TRY(overtake_copy_queue_set, known, the_device + at, 7, bytes & ~(size_t)3); break;
    case 4: TRY(overtake_copy_queue_flush, known); break;
    default:
        TRY(overtake_memcpy_async, the_device + at, the_pinned + at, bytes, OVERTAKE_COPY_DEFAULT, thread->stream,
            any_priority(thread));
    }
}

/* What belongs to no dispatcher, once all threads have ended. */
static void free_the_rest(void)
{
    Thread last = {.random = 1}, *thread = &last;
    static const int kinds[] = {TEMPLATE, ADMISSION};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int at = 0; at < PLACES; at++)
            free_handle(thread, kinds[i], atomic_load(&pools[kinds[i]][at]));
    for (int at = 0; at < QUEUES; at++)
        free_handle(thread, QUEUE, atomic_load(&all_queues[at]));
}

#endif

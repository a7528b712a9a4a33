/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 5
 * transports: tcp nocma
 * Memory that the host cannot reach, whose domain fails: each read and each write by its number, in every kind of transfer. Both ends
 * hear of it, all ranks of a collective call do, nobody waits for ever, and nothing stays in MPI. A domain that is full. */
#include "collective.h"
#include "device.h"
#include "query.h"

static tnr_domain *heap;
static device chip;
static tnr_world *observer; /* counts what the worlds of this process hold */
static tnr_world
    *worlds[2]; /* by setting, as long as they have not ended: making one takes time where ranks share cores */

static tnr_world *world_of(int setting)
{
    if (worlds[setting] == NULL) {
        worlds[setting] = collective_world(setting);
    }
    return worlds[setting];
}

static void start(void)
{
    CHECK_OK(tnr_heap_create(&heap));
    collective_heap = heap;
    device_make(&chip, heap);
    observer = collective_world(0);
}

static void end(void)
{
    for (int setting = 0; setting < 2; setting++) {
        if (worlds[setting] != NULL) {
            collective_end(&worlds[setting]);
        }
    }
    collective_end(&observer);
    device_end(&chip);
    CHECK_OK(tnr_domain_close(&heap));
}

/* The same on all ranks: any of them. */
static bool anywhere(bool here)
{
    int mine = here ? 1 : 0;
    int any = 0;
    CHECK(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    return any != 0;
}

static bool is_poisoned(const tnr_world *world)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    return info.poisoned != TNR_OK;
}

/* If it has ended at any rank it goes, and nothing of it is left. */
static void after(int setting)
{
    tnr_world_info info;
    tnr_world **world = &worlds[setting];
    CHECK_OK(tnr_world_describe(*world, &info));
    CHECK(info.tickets == 0);
    if (anywhere(info.poisoned != TNR_OK)) {
        CHECK_OK(tnr_world_destroy(world));
        CHECK_OK(tnr_world_describe(observer, &info));
    }
    CHECK(info.requests == 0 && info.datatypes == 0);
}

static void make_view(tnr_domain *domain, int64_t count, tnr_tensor **tensor, tnr_view_mut *view)
{
    tnr_draft *draft = NULL;
    CHECK_OK(tnr_draft_begin(domain, TNR_I64, 1, &count, &draft));
    CHECK_OK(tnr_draft_commit(&draft, tensor));
    CHECK_OK(tnr_tensor_view_mut(*tensor, view));
}

static void fill(tnr_tensor *tensor, uint64_t seed)
{
    tnr_tensor_info info;
    CHECK_OK(tnr_tensor_describe(tensor, &info));
    void *data = NULL;
    if (info.access == TNR_ACCESS_NONE) {
        data = device_bytes(&chip, tensor);
    } else {
        CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
    }
    for (int64_t n = 0; n < info.count; n++) {
        ((int64_t *)data)[n] = (int64_t)seed + n;
    }
}

static bool has(tnr_tensor *tensor, uint64_t seed)
{
    tnr_tensor_info info;
    CHECK_OK(tnr_tensor_describe(tensor, &info));
    const void *data = NULL;
    if (info.access == TNR_ACCESS_NONE) {
        data = device_bytes(&chip, tensor);
    } else {
        CHECK_OK(tnr_tensor_host_data(tensor, &data));
    }
    for (int64_t n = 0; n < info.count; n++) {
        if (((const int64_t *)data)[n] != (int64_t)seed + n) {
            return false;
        }
    }
    return true;
}

/* ---- Two ranks ----------------------------------------------------------------------------------------------------------------------- */

enum { SENDER_READS, RECEIVER_WRITES, WHOSE };

/* How each end takes part; both are in the device or one is. */
typedef enum ends { BOTH_AWAY, ONE_AWAY, ENDS } ends;

static bool is_away(ends how, int whose, bool sends) { return how == BOTH_AWAY || (whose == SENDER_READS) == sends; }

static void check_failed(tnr_status status, bool own, const char *words)
{
    CHECK_STATUS(own ? TNR_ERR_BACKEND : TNR_ERR_PEER, status);
    CHECK_TEXT(words);
    if (!own) {
        CHECK_TEXT(ranks_me == 0 ? "rank 1" : "rank 0");
    }
}

/*
 * Rank 0 to rank 1: number `number` of the reads, or of the writes, fails. True: it was reached. The first read is a refusal, and so is
 * the only write of a payload that comes with its header; else the world ends at both ends.
 */
static bool fail_one(int setting, int64_t count, ends how, int whose, int64_t number, bool makes)
{
    const char *const words = whose == SENDER_READS ? "read refused on order" : "write refused on order";
    tnr_world *world = world_of(setting);
    tnr_tensor *tensor = NULL;
    tnr_tensor *made = NULL;
    tnr_view_mut view;
    bool reached = false;
    const bool sends = ranks_me == 0;
    const bool own = sends == (whose == SENDER_READS);
    const bool small = count <= (setting == 0 ? 4 : 200); /* it comes with its header */
    tnr_domain *domain = is_away(how, whose, sends) ? chip.domain : heap;
    make_view(domain, count, &tensor, &view);
    fill(tensor, sends ? 7 : 1000);
    if (ranks_me <= 1) {
        chip.failed = 0;
        chip.fail_read = own && sends ? number : 0;
        chip.fail_write = own && !sends ? number : 0;
        tnr_status status = TNR_OK;
        if (sends) {
            status = tnr_world_send(world, &view.view, 1, 0);
        } else {
            status = makes ? tnr_world_receive(world, 0, 0, domain, &made) : tnr_world_receive_into(world, &view, 0, 0);
        }
        reached = status != TNR_OK;
        CHECK(!own || reached == (chip.failed != 0));
        chip.fail_read = 0;
        chip.fail_write = 0;
        if (reached) {
            check_failed(status, own, words);
            CHECK(made == NULL);
        }
    }
    reached = anywhere(reached);
    const bool refusal = whose == SENDER_READS ? number == 1 : small;
    if (ranks_me <= 1) {
        CHECK(is_poisoned(world) == (reached && !refusal));
    }
    if (reached && !refusal && ranks_me <= 1) { /* it says so from now on */
        CHECK_STATUS(own ? TNR_ERR_BACKEND : TNR_ERR_PEER, tnr_world_send(world, &view.view, ranks_me, 0));
        CHECK_TEXT("the world ended");
        CHECK_TEXT(words);
    } else if (ranks_me <= 1) { /* and goes on */
        CHECK_OK(sends ? tnr_world_send(world, &view.view, 1, 0) : tnr_world_receive_into(world, &view, 0, 0));
        CHECK(has(tensor, 7));
    }
    CHECK_OK(tnr_tensor_release(&made));
    after(setting);
    CHECK_OK(tnr_tensor_release(&tensor));
    return reached;
}

static void each_copy_of_a_transfer(void)
{
    static const int64_t counts[] = {4, 200, 100000};
    start();
    for (int setting = 0; setting < 2 && ranks_size > 1; setting++) {
        for (int at = 0; at < 3; at++) {
            for (int how = 0; how < ENDS; how++) {
                for (int whose = 0; whose < WHOSE; whose++) {
                    int64_t number = 1;
                    int64_t step = 1;
                    for (; fail_one(setting, counts[at], (ends)how, whose, number, number % 2 == 0); number += step) {
                        step = number >= 2 ? 151 : 1; /* the first ones, and some of the others */
                    }
                    CHECK(number > 1);
                }
            }
        }
    }
    end();
}

/* A rank to itself: the same rules, without anybody else. */
static void each_copy_of_a_transfer_to_itself(void)
{
    start();
    for (int64_t number = 1; number <= 4; number++) {
        for (int writes = 0; writes < 2; writes++) {
            tnr_world *world = world_of(1); /* pieces of 4 KiB */
            tnr_tensor *tensors[2];
            tnr_view_mut views[2];
            for (int i = 0; i < 2; i++) {
                make_view(chip.domain, 1200, &tensors[i], &views[i]); /* three of them */
                fill(tensors[i], (uint64_t)i);
            }
            *(writes != 0 ? &chip.fail_write : &chip.fail_read) = number;
            const tnr_status status = tnr_world_send_receive(world, &views[0].view, ranks_me, &views[1], ranks_me, 0);
            chip.fail_read = 0;
            chip.fail_write = 0;
            CHECK(status == (number == 4 ? TNR_OK : TNR_ERR_BACKEND));
            CHECK(is_poisoned(world) == (number != 4 && (writes != 0 || number != 1)));
            CHECK(number != 4 || has(tensors[1], 0));
            after(1);
            for (int i = 0; i < 2; i++) {
                CHECK_OK(tnr_tensor_release(&tensors[i]));
            }
        }
    }
    end();
}

/* Tickets: one fails, others beside it do not, where the failure is a refusal. */
static void a_ticket_among_others(void)
{
    start();
    for (int setting = 0; setting < COLLECTIVE_SETTINGS && ranks_size > 1; setting++) {
        enum { TICKETS = 3 };
        tnr_world *world = setting == 2 ? collective_world(0) : collective_world(setting);
        tnr_tensor *tensors[TICKETS];
        tnr_ticket *tickets[TICKETS];
        tnr_view_mut views[TICKETS];
        int64_t failures = 0;
        for (int i = 0; i < TICKETS; i++) {
            make_view(chip.domain, 20000, &tensors[i], &views[i]);
            fill(tensors[i], ranks_me == 0 ? 50 : 0);
        }
        chip.fail_read = ranks_me == 0 ? 1 : 0;
        for (int i = 0; i < TICKETS && ranks_me <= 1; i++) {
            CHECK_OK(ranks_me == 0 ? tnr_world_send_begin(world, &views[i].view, 1, i, &tickets[i])
                                   : tnr_world_receive_into_begin(world, &views[i], 0, i, &tickets[i]));
        }
        for (int i = 0; i < TICKETS && ranks_me <= 1; i++) {
            const tnr_status status = tnr_ticket_wait(&tickets[i]);
            if (status != TNR_OK) {
                check_failed(status, ranks_me == 0, "read refused on order");
                failures++;
            } else {
                CHECK(has(tensors[i], 50));
            }
        }
        CHECK(failures == (ranks_me <= 1 ? 1 : 0));
        collective_end(&world);
        for (int i = 0; i < TICKETS; i++) {
            CHECK_OK(tnr_tensor_release(&tensors[i]));
        }
    }
    end();
}

/* Round a ring in both directions of each rank: rank 0 fails on its way, the transfers of its neighbours end as they should. */
static void both_directions_at_once(void)
{
    start();
    for (int setting = 0; setting < 2 && ranks_size > 1; setting++) {
        for (int writes = 0; writes < 2; writes++) {
            tnr_world *world = world_of(setting);
            tnr_tensor *tensors[2];
            tnr_view_mut views[2];
            const int next = (ranks_me + 1) % ranks_size;
            const int last = (ranks_me + ranks_size - 1) % ranks_size;
            for (int i = 0; i < 2; i++) {
                make_view(chip.domain, 30000, &tensors[i], &views[i]);
                fill(tensors[i], (uint64_t)ranks_me);
            }
            *(writes != 0 ? &chip.fail_write : &chip.fail_read) = ranks_me == 0 ? 3 : 0;
            const tnr_status status = tnr_world_send_receive(world, &views[0].view, next, &views[1], last, 0);
            const bool partner = ranks_me == (writes != 0 ? ranks_size - 1 : 1);
            CHECK(status == (ranks_me == 0 ? TNR_ERR_BACKEND : partner ? TNR_ERR_PEER : TNR_OK));
            CHECK(is_poisoned(world) == (status != TNR_OK));
            CHECK((ranks_me == 0 && writes != 0) || (partner && writes == 0) || has(tensors[1], (uint64_t)last));
            chip.fail_read = 0;
            chip.fail_write = 0;
            after(setting);
            for (int i = 0; i < 2; i++) {
                CHECK_OK(tnr_tensor_release(&tensors[i]));
            }
        }
    }
    end();
}

/* ---- Exchanges ------------------------------------------------------------------------------------------------------------------------- */

enum { PARTS = 4 };

/* Two parts in each direction between ranks 0 and 1, of so many elements. */
static void make_parts(int64_t count, tnr_tensor **tensors, tnr_view_mut *views, tnr_exchange_part *parts)
{
    for (int i = 0; i < PARTS; i++) {
        make_view(chip.domain, count, &tensors[i], &views[i]);
        fill(tensors[i], (uint64_t)i);
        parts[i].rank = 1 - ranks_me;
        parts[i].channel = i / 2;
        parts[i].send = i % 2 == 0 ? &views[i].view : NULL;
        parts[i].receive = i % 2 == 0 ? NULL : &views[i];
    }
}

/* A copy of rank 0 fails in the second round. */
static void fail_exchange(int setting, bool writes, int64_t number)
{
    tnr_world *world = world_of(setting);
    tnr_exchange_part parts[PARTS];
    tnr_tensor *tensors[PARTS];
    tnr_view_mut views[PARTS];
    tnr_exchange *exchange = NULL;
    make_parts(2000, tensors, views, parts);
    if (ranks_me <= 1) {
        CHECK_OK(tnr_exchange_prepare(world, parts, PARTS, &exchange));
        CHECK_OK(tnr_exchange_run(exchange));
        CHECK(has(tensors[1], 0) && has(tensors[3], 2));
        *(writes ? &chip.fail_write : &chip.fail_read) = ranks_me == 0 ? number : 0;
        const tnr_status status = tnr_exchange_run(exchange);
        CHECK(status == (ranks_me == 0 ? TNR_ERR_BACKEND : TNR_ERR_PEER));
        CHECK_TEXT(writes ? "write refused on order" : "read refused on order");
        chip.fail_write = 0;
        chip.fail_read = 0;
        CHECK(is_poisoned(world) == (writes || number > 1));
        if (!writes && number == 1) { /* and the next round is a good one */
            fill(tensors[0], 70);
            fill(tensors[2], 80);
            CHECK_OK(tnr_exchange_run(exchange));
            CHECK(has(tensors[1], 70) && has(tensors[3], 80));
        }
        CHECK_OK(tnr_exchange_destroy(&exchange));
    }
    after(setting);
    for (int i = 0; i < PARTS; i++) {
        CHECK_OK(tnr_tensor_release(&tensors[i]));
    }
}

static void copies_of_an_exchange(void)
{
    start();
    for (int setting = 0; setting < 2 && ranks_size > 1; setting++) {
        fail_exchange(setting, false, 1);
        fail_exchange(setting, false, 4); /* not the first of its transfer */
        fail_exchange(setting, true, 1);
        fail_exchange(setting, true, 3);
    }
    end();
}

/* ---- All ranks --------------------------------------------------------------------------------------------------------------------------- */

enum { BROADCAST, REDUCE, ALL_REDUCE, SCATTER, GATHER, ALL_GATHER, ALL_TO_ALL, REDISTRIBUTE, CALLS };

static const int64_t whole[2] = {60, 90};

static tnr_status call(int which, tnr_world *world, tnr_engine *engine, const tnr_view *source, tnr_tensor **out)
{
    const tnr_axis_cut rows[2] = {{ranks_size, 0, NULL}, {1, 0, NULL}};
    const tnr_axis_cut columns[2] = {{1, 0, NULL}, {ranks_size, 4, NULL}};
    const tnr_distribution from = {sizeof(tnr_distribution), 2, whole, rows, NULL};
    const tnr_distribution to = {sizeof(tnr_distribution), 2, whole, columns, NULL};
    tnr_view part = *source;
    int64_t begin = 0;
    CHECK_OK(tnr_block_range(whole[0], ranks_size, ranks_me, &begin, &part.shape[0]));
    switch (which) {
    case BROADCAST:
        return tnr_world_broadcast(world, 0, source, chip.domain, out);
    case REDUCE:
        return tnr_world_reduce(world, engine, TNR_COMBINE_SUM, ranks_size - 1, source, chip.domain, out);
    case ALL_REDUCE:
        return tnr_world_all_reduce(world, engine, TNR_COMBINE_SUM, source, chip.domain, out);
    case SCATTER:
        return tnr_world_scatter(world, 0, source, 1, NULL, chip.domain, out);
    case GATHER:
        return tnr_world_gather(world, 0, source, 1, chip.domain, out);
    case ALL_GATHER:
        return tnr_world_all_gather(world, source, 0, chip.domain, out);
    case ALL_TO_ALL:
        return tnr_world_all_to_all(world, source, 0, NULL, 1, chip.domain, out);
    default:
        return tnr_world_redistribute(world, &from, &part, &to, chip.domain, out);
    }
}

/* Copy number `number` of rank `who` fails. True: it was reached; then all ranks heard of it. */
static bool fail_call(int which, int setting, tnr_engine *engine, int who, bool writes, int64_t number)
{
    tnr_world *world = world_of(setting);
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *made = NULL;
    tnr_view source;
    CHECK_OK(tnr_draft_begin(chip.domain, TNR_I64, 2, whole, &draft));
    CHECK_OK(tnr_draft_commit(&draft, &tensor));
    CHECK_OK(tnr_tensor_view(tensor, &source));
    fill(tensor, 3);
    chip.failed = 0;
    *(writes ? &chip.fail_write : &chip.fail_read) = ranks_me == who ? number : 0;
    const uint64_t out = chip.out;
    const tnr_status status = call(which, world, engine, &source, &made);
    chip.fail_read = 0;
    chip.fail_write = 0;
    const bool reached = anywhere(chip.failed != 0);
    CHECK(is_poisoned(world) == reached);
    if (reached) {
        CHECK_STATUS(ranks_me == who ? TNR_ERR_BACKEND : TNR_ERR_PEER, status);
        CHECK(made == NULL && chip.out == out);
        CHECK_STATUS(ranks_me == who ? TNR_ERR_BACKEND : TNR_ERR_PEER, status);
        CHECK_TEXT(writes ? "write refused on order" : "read refused on order");
    } else {
        CHECK(status == TNR_OK);
    }
    CHECK_OK(tnr_tensor_release(&made));
    after(setting);
    CHECK_OK(tnr_tensor_release(&tensor));
    return reached;
}

static void each_copy_of_a_collective_call(void)
{
    start();
    tnr_engine *engine = NULL;
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    int64_t reached = 0;
    for (int which = 0; which < CALLS; which++) {
        for (int at = 0; at < 4; at++) { /* first and last rank; reads and writes */
            const int who = at / 2 == 0 ? 0 : ranks_size - 1;
            const int setting = (which + at + at / 2) % 2;
            int64_t step = 2;
            for (int64_t number = 1; fail_call(which, setting, engine, who, at % 2 != 0, number); number += step) {
                step = number * 5;
                reached++;
            }
        }
    }
    CHECK(reached > CALLS);
    CHECK_OK(tnr_engine_destroy(&engine));
    end();
}

/* ---- An MPI that takes it, and a device that does not give it --------------------------------------------------------------------------- */

/* Rank 0 to rank 1, one of which does not get the address for MPI: a refusal, after which both go on. */
static void fail_expose(int setting, int whose, bool makes)
{
    tnr_world *world = world_of(setting);
    tnr_tensor *tensor = NULL;
    tnr_tensor *made = NULL;
    tnr_view_mut view;
    make_view(chip.domain, 20000, &tensor, &view);
    for (int again = 0; again < 2 && ranks_me <= 1; again++) {
        chip.fail_expose = ranks_me == whose && again == 0 ? 1 : 0;
        fill(tensor, ranks_me == 0 ? 7 : 1000);
        const tnr_status status = ranks_me == 0 ? tnr_world_send(world, &view.view, 1, 0)
                                  : makes       ? tnr_world_receive(world, 0, 0, chip.domain, &made)
                                                : tnr_world_receive_into(world, &view, 0, 0);
        if (again == 0) {
            check_failed(status, ranks_me == whose, "expose refused on order");
            CHECK(made == NULL);
        } else {
            CHECK_OK(status);
            CHECK(has(made != NULL ? made : tensor, 7));
        }
        CHECK(chip.exposed == 0 && chip.fail_expose == 0 && !is_poisoned(world));
    }
    CHECK_OK(tnr_tensor_release(&made));
    after(setting);
    CHECK_OK(tnr_tensor_release(&tensor));
}

/* An exchange that has not begun: rank 0 tells nobody, as with a view that is stale, and starts it again. */
static void fail_expose_of_an_exchange(int number)
{
    tnr_world *world = world_of(0);
    tnr_exchange_part parts[PARTS];
    tnr_tensor *tensors[PARTS];
    tnr_view_mut views[PARTS];
    tnr_exchange *exchange = NULL;
    make_parts(400, tensors, views, parts); /* what MPI sends at once */
    if (ranks_me <= 1) {
        CHECK_OK(tnr_exchange_prepare(world, parts, PARTS, &exchange));
        CHECK(chip.exposed == 0);
        CHECK_OK(tnr_exchange_run(exchange));
        CHECK(has(tensors[1], 0) && has(tensors[3], 2) && chip.exposed == 0);
        chip.fail_expose = ranks_me == 0 ? number : 0;
        fill(tensors[0], 10);
        fill(tensors[2], 12);
        if (ranks_me == 0) {
            CHECK_STATUS(TNR_ERR_BACKEND, tnr_exchange_start(exchange));
            CHECK_TEXT("expose refused on order");
            CHECK(chip.exposed == 0 && !is_poisoned(world));
        }
        CHECK_OK(tnr_exchange_run(exchange));
        CHECK(has(tensors[1], 10) && has(tensors[3], 12) && chip.exposed == 0);
        CHECK_OK(tnr_exchange_destroy(&exchange));
    }
    after(0);
    CHECK(chip.exposed == 0);
    for (int i = 0; i < PARTS; i++) {
        CHECK_OK(tnr_tensor_release(&tensors[i]));
    }
}

static void each_expose(void)
{
    query_state.answer = 1;
    start();
    const bool asked = query_exists(world_of(0));
    for (int setting = 0; setting < 2 && ranks_size > 1 && asked; setting++) {
        for (int whose = 0; whose < 2; whose++) {
            fail_expose(setting, whose, false);
            fail_expose(setting, whose, true);
        }
    }
    for (int number = 1; number <= 4 && ranks_size > 1 && asked; number++) {
        fail_expose_of_an_exchange(number);
    }
    CHECK(!asked || ranks_size == 1 || ranks_me > 1 || chip.exposures > 0);
    end();
    query_state.answer = 0;
}

/* ---- A full device ------------------------------------------------------------------------------------------------------------------------- */

static void a_full_device_at_a_receive(void)
{
    start();
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = collective_world(setting);
        tnr_tensor *tensor = NULL;
        tnr_tensor *made = NULL;
        tnr_ticket *ticket = NULL;
        tnr_view_mut view;
        const int next = (ranks_me + 1) % ranks_size;
        const int last = (ranks_me + ranks_size - 1) % ranks_size;
        make_view(heap, 50000, &tensor, &view);
        fill(tensor, (uint64_t)ranks_me);
        chip.capacity = 1000;
        CHECK_OK(tnr_world_send_begin(world, &view.view, next, 0, &ticket));
        CHECK_STATUS(TNR_ERR_MEMORY, tnr_world_receive(world, last, 0, chip.domain, &made));
        CHECK_TEXT("device: full");
        CHECK_STATUS(TNR_ERR_PEER, tnr_ticket_wait(&ticket));
        CHECK_TEXT("device: full");
        CHECK_STATUS(
            ranks_size > 1 && ranks_me == 1 ? TNR_ERR_MEMORY
            : ranks_size > 1                ? TNR_ERR_PEER
                                            : TNR_ERR_MEMORY,
            tnr_world_all_gather(world, &view.view, 0, ranks_me == 1 || ranks_size == 1 ? chip.domain : heap, &made));
        CHECK(made == NULL && chip.out == 0);
        chip.capacity = chip.room;
        CHECK_OK(tnr_world_send_begin(world, &view.view, next, 0, &ticket));
        CHECK_OK(tnr_world_receive(world, last, 0, chip.domain, &made));
        CHECK_OK(tnr_ticket_wait(&ticket));
        CHECK(has(made, (uint64_t)last));
        CHECK_OK(tnr_tensor_release(&made));
        CHECK_OK(tnr_tensor_release(&tensor));
        collective_end(&world);
    }
    end();
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(each_copy_of_a_transfer),
        RANK_TEST(each_copy_of_a_transfer_to_itself),
        RANK_TEST(a_ticket_among_others),
        RANK_TEST(both_directions_at_once),
        RANK_TEST(copies_of_an_exchange),
        RANK_TEST(each_copy_of_a_collective_call),
        RANK_TEST(each_expose),
        RANK_TEST(a_full_device_at_a_receive),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}

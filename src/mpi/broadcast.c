/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's view to all. */
#include "collective_internal.h"

/* Every rank but root writes a view of root's dtype and shape, or makes a tensor. */
static tnr_status verdict(const tnri_course *course, int root)
{
    const tnri_side *given = &course->all[root].give;
    for (int rank = 0; rank < course->world->size; rank++) {
        if (course->all[rank].take.there != 0) {
            TNR_TRY(tnri_course_expect(course, rank, &course->all[rank].take, "the target has", given->dtype,
                                       given->rank, given->shape));
        }
    }
    return TNR_OK;
}

static tnr_status arguments(tnri_course *course, int root, const tnr_view *source, const tnr_view_mut *target,
                            bool makes, tnr_domain *domain, tnr_tensor **out)
{
    const bool sends = course->world->rank == root;
    TNR_TRY(tnri_course_root(course, root));
    TNR_REQUIRE(!sends || source != NULL, TNR_ERR_ARGUMENT, "%s: root's source is NULL", course->op);
    TNR_REQUIRE(makes || sends || target != NULL, TNR_ERR_ARGUMENT, "%s: target is NULL", course->op);
    TNR_REQUIRE(!sends || target == NULL, TNR_ERR_ARGUMENT, "%s: root has a target; its source is what all get",
                course->op);
    if (makes) {
        TNR_TRY(tnri_course_makes(course, domain, out));
    }
    return tnri_course_lease(course, sends ? source : NULL, target != NULL ? &target->view : NULL, TNRI_APART);
}

static tnr_status run(tnri_course *course, int root, tnr_status status)
{
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(verdict(course, root));
    const tnri_side *given = &course->all[root].give;
    TNR_TRY(tnri_course_make(course, TNR_OK, false, (tnr_dtype)given->dtype, (int)given->rank, given->shape));
    return tnri_course_spread(course, root, &course->give, course->give_data, course->drafted);
}

tnr_status tnr_world_broadcast(tnr_world *world, int root, const tnr_view *source, tnr_domain *domain, tnr_tensor **out)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_broadcast", world, TNRI_CALL_BROADCAST));
    const tnr_status status = arguments(&course, root, source, NULL, true, domain, out);
    return tnri_course_leave(&course, run(&course, root, status));
}

tnr_status tnr_world_broadcast_into(tnr_world *world, int root, const tnr_view *source, const tnr_view_mut *target)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_broadcast_into", world, TNRI_CALL_BROADCAST));
    const tnr_status status = arguments(&course, root, source, target, false, NULL, NULL);
    return tnri_course_leave(&course, run(&course, root, status));
}

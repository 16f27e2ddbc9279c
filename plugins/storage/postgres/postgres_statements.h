/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_POSTGRES_STATEMENTS_H
#define ALINEO_STORAGE_POSTGRES_STATEMENTS_H

/* What indexes and queries must spell alike, so that the one serves the other. Texts of ours are
 * compared byte by byte (collation "C"): that is the order of lists, and no update of the system's
 * locales can break it. */

/* The rows of alineo_c_ends and alineo_c_steps. */
#define POSTGRES_IS_CREATED(e) e "event IN ('sandbox_created', 'sandbox.created')"
#define POSTGRES_IS_CLOSED(e) e "event IN ('sandbox_closed', 'sandbox.closed')"
#define POSTGRES_IS_END(e)                                                                         \
    e "event IN ('sandbox_created', 'sandbox.created', 'sandbox_closed', 'sandbox.closed')"
#define POSTGRES_IS_STEP(e)                                                                        \
    e "event IN ('exec_start', 'exec.started', 'exec_complete', 'exec.completed')"
#define POSTGRES_ID(e) e "sandbox_id COLLATE \"C\""
#define POSTGRES_NAME(e) e "name COLLATE \"C\""
/* The run that a created row belongs to; and what of it fits into an index, whose rows have a
 * limit. */
#define POSTGRES_RUN(e) "coalesce(" e "payload ->> 'runId', " e "sandbox_id)"
#define POSTGRES_RUN_KEY(run) "(left(" run ", 128) COLLATE \"C\")"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_POSTGRES_LOCKS_H
#define ALINEO_STORAGE_POSTGRES_LOCKS_H

/*
 * Advisory locks of the database, each a class of ours and a number within it. All but the
 * followers' end with the transaction that took them; a transaction takes them in this order, so
 * that none waits for one that waits for it.
 *
 *  SCHEMA    held while tables are made or changed.
 *  REMOVAL   shared, by transactions that write to alineo_events but add nothing to it.
 *  WRITER    of a writer: a batch that is sent again waits for the end of the first one.
 *  SESSION   of a sandbox id: appends of one session, one after the other.
 *  FOLLOWER  of one of 64 buckets of sandbox ids. A follower holds it shared for as long as it
 *            listens; an append tries to take it alone: where that works nobody has to be told,
 *            and who begins to listen waits for the append's end. (To notify without need is not
 *            harmless: notifying transactions commit one after the other.)
 */
#define POSTGRES_LOCK_SCHEMA "1634496865"
#define POSTGRES_LOCK_REMOVAL "1634496866"
#define POSTGRES_LOCK_WRITER "1634496867"
#define POSTGRES_LOCK_SESSION "1634496868"
#define POSTGRES_LOCK_FOLLOWER "1634496869"

#define POSTGRES_BUCKET(sandbox_id) "(hashtext(" sandbox_id ") & 63)"
#define POSTGRES_CHANNEL "alineo_c"

#endif

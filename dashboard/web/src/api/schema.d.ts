// Generated from docs/openapi.json by `npm run types`. Do not edit.

export interface paths {
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the audit log
         * @description Every write by an administrator: who, what and when. Newest first.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This documentation */
        get: operations["docs_page"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs/page.css": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The documentation's style sheet */
        get: operations["docs_style"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs/page.js": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The documentation's script */
        get: operations["docs_script"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/downloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What can be downloaded */
        get: operations["list_downloads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch everything
         * @description One stream for all topics. Job and worker events have ids and can be resumed; `node` messages
         *     carry a machine as the fleet shows it, but without its history, first all and then those that change, and `log` messages a
         *     piece of a job's log, both without ids.
         */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/fleet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All machines with their newest snapshots */
        get: operations["fleet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/fleet/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow all machines
         * @description One message for each node in the shape of the fleet view, then one for a node whenever it
         *     changes, at most one every 2 s.
         */
        get: operations["fleet_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Is the hub up?
         * @description Always 200 while it answers, so that nobody restarts a hub that a restart would not mend. `status`
         *     and `problems` tell what needs a person: a full disk, a failed backup, a bad certificate.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ingest/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take one snapshot of a machine
         * @description A node is known from its first push, which is on disk before it is answered; later snapshots
         *     may lose their last seconds. Fields the hub does not know are ignored.
         */
        post: operations["push"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ingest/{node_id}/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take the snapshots that a machine kept while it was offline */
        post: operations["push_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs
         * @description Newest first, unless `sort` says otherwise. The header `X-Next-Cursor` names the next page, if there is one; a page may end
         *     before `limit` when its params and results are large.
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Enqueue a job
         * @description The answer is sent when the job is on disk. With an idempotency key (in the body or as the
         *     header `Idempotency-Key`) the same call again answers 200 with the first job.
         */
        post: operations["enqueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue many jobs
         * @description Up to 10,000 jobs or 32 MiB. One that is not valid refuses all, and is named by its index.
         */
        post: operations["enqueue_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Act on every job that matches
         * @description All fields of the filter must match. `dry_run` only counts and shows a sample. A large action
         *     goes on in the background (and through a restart): then the answer is 202, and
         *     `GET /api/operations/{id}` tells how far it is.
         */
        post: operations["bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim jobs
         * @description Takes the best job that fits: higher priority first, then due earlier, then older. With
         *     `wait_ms` the call waits for one. With `max` the answer is an array.
         */
        post: operations["claim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/counts-by-worker": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count live jobs by worker
         * @description A map from worker id to the number of jobs it holds.
         */
        get: operations["counts_by_worker"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch jobs without a token
         * @description Server-sent events with ids, types, queues, statuses and times; never params, results, reasons
         *     or machine names. `Last-Event-ID` goes on where a broken connection stopped.
         */
        get: operations["public_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report many results and failures
         * @description One answer each, each as idempotent as the single call. An entry with `result` is a result,
         *     one with `reason` a failure.
         */
        post: operations["results"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a job */
        get: operations["show"];
        put?: never;
        post?: never;
        /**
         * Cancel a job, or remove a finished one
         * @description Cancels a job that is pending or assigned. A running one is refused: ask it to stop with
         *     `POST /api/jobs/{id}/cancel`.
         */
        delete: operations["remove"];
        options?: never;
        head?: never;
        /** Change a pending job */
        patch: operations["patch"];
        trace?: never;
    };
    "/api/jobs/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a job's attempts */
        get: operations["attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A pending or assigned job fails with `cancelled` at once; a running one is asked to stop.
         */
        post: operations["cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a failure
         * @description The job is tried again after its backoff, or quarantined when its attempts are used up or the
         *     failure is `permanent`. `kind: timeout` says that it ran longer than it may.
         */
        post: operations["fail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a job
         * @description The first one that does not say `phase: preparing` marks the job running. 200 with
         *     `{"cancel": true}` asks the worker to stop it.
         */
        post: operations["heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put a pending job aside as dead */
        post: operations["kill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read or follow the log of one attempt */
        get: operations["read_log"];
        put?: never;
        /**
         * Append to the log of a running attempt
         * @description Bytes that the hub has already are not stored again, so an append whose answer was lost can
         *     be sent again. The newest 16 MiB of an attempt are kept. May lose its last seconds.
         */
        post: operations["append_log"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report progress
         * @description Shown with the job and sent to watchers, at most once a second.
         */
        post: operations["progress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a job back
         * @description It keeps its place and the attempt is not counted, at most 100 times in a job's life.
         */
        post: operations["release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a result
         * @description Idempotent: the same result again is 200, a different one 409. What is the same is decided by
         *     `X-Idempotency-Key` when both calls have one, else by `result_hash`, else by the bytes.
         */
        post: operations["result"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a failed or dead job
         * @description It starts with a fresh budget of attempts; its history stays.
         */
        post: operations["retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/run-now": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a scheduled or retrying job now */
        post: operations["run_now"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/snooze": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a job back for later */
        post: operations["snooze"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow one machine */
        get: operations["node_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The past of a machine
         * @description At most 600 points, each with the smallest, mean and largest of what was measured in its time.
         *     A time without a snapshot has no point, and what a machine does not measure is null. The last
         *     hour comes from memory; a crash of the hub loses less than a minute of the rest.
         */
        get: operations["node_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest snapshots of a machine */
        get: operations["node_snapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The OpenAPI document */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How far a bulk action is */
        get: operations["bulk_operation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything at a glance
         * @description Machines, workers, jobs, queues and what was done lately. Taken from counters that are written
         *     with what they count, so it costs the same however many jobs there are.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Can the hub take work?
         * @description Tries both database files. 503 while it cannot write, or is stopping.
         */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who am I?
         * @description Works with a session and with a bearer token; `expires_at` is 0 for a token, which does not
         *     expire.
         */
        get: operations["show_session"];
        put?: never;
        /**
         * Log in
         * @description Sets a session cookie that lasts seven days. A session may do what its token may, and ends
         *     when the token is revoked.
         */
        post: operations["log_in"];
        /**
         * Log out
         * @description Ends the session and closes its streams. With a bearer token there is nothing to end.
         */
        delete: operations["log_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who is logged in */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Log somebody out
         * @description The session ends at once and its streams close. Its token can log in again; revoke the token
         *     to prevent that.
         */
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Version, sizes, retention and limits */
        get: operations["settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/solvers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List solvers with their sizes */
        get: operations["list_solvers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/solvers/{sha256}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Fetch a solver */
        get: operations["get_solver"];
        /**
         * Upload a solver
         * @description It exists once all of it has arrived and hashes to its name, and not before. One that is
         *     there already is not written again, but the body is checked all the same.
         */
        put: operations["put_solver"];
        post?: never;
        /** Remove a solver */
        delete: operations["delete_solver"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tokens
         * @description Without their secrets, which the hub does not have. Oldest first.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Make a token
         * @description The answer is the only time its secret is shown. A `worker` token belongs to the first worker
         *     that uses it.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description It stops working at once, its sessions end, and its open streams and long polls are closed.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List workers */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a worker
         * @description With `holding` the answer says what to do with each lease the worker still has.
         */
        post: operations["register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a worker
         * @description A worker's token shows its own worker only: whether the hub sees it.
         */
        get: operations["show_worker"];
        put?: never;
        post?: never;
        /**
         * Forget a worker
         * @description Its leases stay as they are; it appears again when it registers.
         */
        delete: operations["forget_worker"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers/{id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a worker finish what it has and take nothing new */
        post: operations["drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers/{id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep all of a worker's leases
         * @description Sent every 10 s, also when idle. A lease older than 20 s that is not listed is given back.
         */
        post: operations["worker_heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a drained worker take jobs again */
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/downloads/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Fetch a program
         * @description `SHA256SUMS` is the list of all with their checksums, for `sha256sum --check`.
         */
        get: operations["download"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/install.sh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The installer for agents and queuectl */
        get: operations["installer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How one claim of a job went. */
        Attempt: {
            /** Format: int32 */
            attempt: number;
            backtrace?: string | null;
            /**
             * Format: int64
             * @description From here on the worker prepares it: it fetches the solver.
             */
            claimed_at?: number | null;
            /**
             * Format: int64
             * @description Since when the job waited for this attempt.
             */
            due_at?: number | null;
            /**
             * Format: int64
             * @description When the hub learned how it ended. What is left of `started_at..ended_at` after the
             *     `wall_ms` of `usage` went by until the report arrived.
             */
            ended_at?: number | null;
            error_class?: string | null;
            /**
             * @description `assigned`, `running`, `completed`, `failed`, `timeout`, `expired`, `released`,
             *     `snoozed` or `cancelled`.
             */
            outcome: string;
            reason?: string | null;
            /**
             * Format: int64
             * @description From here on it runs.
             */
            started_at?: number | null;
            /** @description What the worker measured: CPU time, peak memory, wall time. */
            usage?: Record<string, never> | null;
            worker_id?: string | null;
        };
        AuditEntry: {
            action: string;
            /** @description The token's id, or `admin` for the administrator's secret. */
            actor: string;
            detail?: string | null;
            target: string;
            /** Format: int64 */
            ts: number;
        };
        /** @description How long a failed job waits for its next attempt. */
        Backoff: {
            /**
             * Format: double
             * @description What each further delay is multiplied by; the base for `power`.
             */
            factor?: number;
            /**
             * Format: int64
             * @description The first delay.
             */
            first_ms?: number;
            jitter?: components["schemas"]["Jitter"];
            kind: components["schemas"]["BackoffKind"];
            /**
             * Format: int64
             * @description The longest delay.
             */
            max_ms?: number;
        };
        /** @enum {string} */
        BackoffKind: "none" | "fixed" | "exponential" | "sidekiq" | "power";
        /** @description One action on every job that matches. */
        Bulk: {
            action: components["schemas"]["BulkAction"];
            /** @description Only count, and show a sample. */
            dry_run?: boolean;
            filter: components["schemas"]["JobFilter"];
            /**
             * Format: int32
             * @description For `set_priority`.
             */
            priority?: number | null;
        };
        /** @enum {string} */
        BulkAction: "retry" | "cancel" | "kill" | "delete" | "run_now" | "set_priority";
        BulkAnswer: {
            /** Format: int64 */
            changed: number;
            done: boolean;
            /**
             * Format: int64
             * @description How many matched (so far, while it is not done).
             */
            matched: number;
            /** @description Absent for a dry run. */
            operation?: string | null;
            sample?: string[] | null;
            /**
             * Format: int64
             * @description Matched, but the action does not fit their state.
             */
            skipped: number;
        };
        /** @description A worker asks for work. */
        Claim: {
            boot_id?: string | null;
            /** @description A repeated claim with the same id returns the same jobs. */
            claim_id?: string | null;
            free?: components["schemas"]["Free"] | null;
            /**
             * Format: int32
             * @description How many jobs at most; its presence makes the answer an array.
             */
            max?: number | null;
            /** @description Queues to take from (`ns/*` for all below); none means all. */
            queues?: string[];
            /** @description Job types to take; none means all. */
            types?: string[];
            /**
             * Format: int64
             * @description How long to wait for a job, at most 60,000 ms; without it the answer is immediate.
             */
            wait_ms?: number | null;
            worker_id: string;
        };
        /** @description A job handed to a worker. */
        ClaimedJob: components["schemas"]["Job"] & {
            /**
             * Format: int64
             * @description How often to send one.
             */
            heartbeat_ms: number;
            lease_id: string;
            /**
             * Format: int64
             * @description Without a heartbeat for this long, the job goes to somebody else.
             */
            lease_ms: number;
        };
        /** @description The answer to making a token: the only time its secret is shown. */
        CreatedToken: components["schemas"]["Token"] & {
            secret: string;
        };
        DiskRate: {
            /** Format: double */
            read: number;
            /** Format: double */
            write: number;
        };
        /** @description A program that machines fetch from the hub. */
        Download: {
            /** Format: int64 */
            bytes: number;
            /** @description Such as `forge-agent-linux-x86_64`; it is at `/downloads/<name>`. */
            name: string;
            sha256: string;
        };
        Ended: {
            /** Format: int64 */
            completed: number;
            /**
             * Format: int64
             * @description Ended as failed or quarantined.
             */
            failed: number;
        };
        Enqueued: {
            id: string;
            status: components["schemas"]["Status"];
        };
        /** @description Every error looks like this. */
        ErrorBody: {
            /** @description A word for programs. */
            code: string;
            /** @description What a person can act on. */
            error: string;
            /** @description The field of the request that is at fault. */
            field?: string | null;
        };
        /**
         * @description One numbered event. The stream without a token leaves out `worker_id`, `reason` and
         *     `progress`.
         */
        Event: {
            /** Format: int32 */
            attempt?: number | null;
            /** Format: int32 */
            attempts?: number | null;
            event: components["schemas"]["EventKind"];
            job_id?: string | null;
            progress?: components["schemas"]["Progress"] | null;
            queue?: string | null;
            reason?: string | null;
            /** Format: int64 */
            run_at?: number | null;
            /**
             * Format: int64
             * @description From started to ended.
             */
            run_ms?: number | null;
            status?: components["schemas"]["Status"] | null;
            /** Format: int64 */
            ts: number;
            type?: string | null;
            /**
             * Format: int64
             * @description From due to claimed.
             */
            wait_ms?: number | null;
            worker_id?: string | null;
        };
        /**
         * @description What happened. The name on the wire is `topic:word`.
         * @enum {string}
         */
        EventKind: "job:created" | "job:assigned" | "job:running" | "job:completed" | "job:failed" | "job:quarantined" | "job:released" | "job:cancelling" | "job:updated" | "job:deleted" | "job:progress" | "worker:registered" | "worker:draining" | "worker:resumed" | "worker:lost" | "worker:forgotten";
        /** @description One entry of a job's `fail_history`. */
        Failure: {
            /** Format: int32 */
            attempt: number;
            backtrace?: string | null;
            error_class?: string | null;
            kind: components["schemas"]["FailureKind"];
            reason: string;
            /** Format: int64 */
            ts: number;
            worker_id?: string | null;
        };
        /**
         * @description How an attempt ended without a result.
         * @enum {string}
         */
        FailureKind: "error" | "timeout" | "expired" | "cancelled";
        Free: {
            /** Format: double */
            cores?: number | null;
            /** Format: double */
            ram_gb?: number | null;
            /** Format: int32 */
            slots?: number | null;
        };
        Gpu: {
            /**
             * Format: double
             * @description MHz.
             */
            clockCore?: number | null;
            /**
             * Format: double
             * @description MHz.
             */
            clockMemory?: number | null;
            /**
             * Format: double
             * @description Percent.
             */
            fanSpeed?: number | null;
            /** Format: int32 */
            index: number;
            model?: string | null;
            /**
             * Format: double
             * @description Degrees Celsius.
             */
            temperatureGpu?: number | null;
            /**
             * Format: double
             * @description Percent.
             */
            utilizationGpu?: number | null;
            /**
             * Format: double
             * @description Percent.
             */
            utilizationMemory?: number | null;
            vendor?: string | null;
            /**
             * Format: double
             * @description MB.
             */
            vramTotal?: number | null;
            /**
             * Format: double
             * @description MB.
             */
            vramUsed?: number | null;
        };
        GpuHistory: {
            /** Format: int32 */
            index: number;
            model?: string | null;
            utilization?: components["schemas"]["Spread"] | null;
            vram_used?: components["schemas"]["Spread"] | null;
        };
        Health: {
            /**
             * Format: int64
             * @description Open event streams.
             */
            clients: number;
            /** @description What the hub was built from: a commit's first digits, or a word where there is none. */
            commit: string;
            mode: string;
            /** Format: int64 */
            nodes: number;
            ok: boolean;
            problems: components["schemas"]["Problem"][];
            /** @description `degraded` while there are problems: the hub answers, but cannot do all that it should. */
            status: components["schemas"]["HealthStatus"];
            /** Format: int64 */
            uptime_ms: number;
            version: string;
        };
        /** @enum {string} */
        HealthStatus: "ok" | "degraded";
        /** @description Who speaks for a lease: the lease itself, or at least the worker. */
        Heartbeat: {
            lease_id?: string | null;
            phase?: components["schemas"]["Phase"];
            worker_id: string;
        };
        HeartbeatAnswer: {
            cancel: boolean;
        };
        HistoryPoint: {
            /** @description Mean percent of each core; null when the machine did not say. */
            cores?: number[] | null;
            /** @description Percent of all cores. */
            cpu: components["schemas"]["Spread"];
            /** @description MiB/s. */
            disk_read: components["schemas"]["Spread"];
            /** @description MiB/s. */
            disk_write: components["schemas"]["Spread"];
            gpus: components["schemas"]["GpuHistory"][];
            /** @description The one-minute load average. */
            load: components["schemas"]["Spread"];
            /** @description Percent. */
            memory: components["schemas"]["Spread"];
            /** @description GiB. */
            memory_used: components["schemas"]["Spread"];
            /** @description MiB/s. */
            network_rx: components["schemas"]["Spread"];
            /** @description MiB/s. */
            network_tx: components["schemas"]["Spread"];
            /**
             * Format: int32
             * @description How many snapshots it is made of.
             */
            samples: number;
            /**
             * Format: int64
             * @description When it starts.
             */
            ts: number;
        };
        /**
         * @description How far back a machine's history goes.
         * @enum {string}
         */
        HistoryRange: "1h" | "12h" | "24h" | "7d" | "30d" | "1y";
        Holding: {
            lease_id: string;
            phase?: components["schemas"]["Phase"];
        };
        /** @enum {string} */
        Jitter: "none" | "half" | "full";
        /** @description A job as `GET /api/jobs/{id}` answers it. Times are milliseconds since 1970. */
        Job: {
            /**
             * Format: int32
             * @description How many times it was claimed; only grows.
             */
            attempt: number;
            /**
             * Format: int32
             * @description How much of `max_attempts` is spent.
             */
            attempts: number;
            backoff?: components["schemas"]["Backoff"] | null;
            cancel_requested: boolean;
            /** Format: int64 */
            claimed_at?: number | null;
            command?: string | null;
            /** Format: int64 */
            completed_at?: number | null;
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            expires_at?: number | null;
            fail_history: components["schemas"]["Failure"][];
            fail_reason?: string | null;
            /**
             * Format: int64
             * @description When it reached its final state, whichever that is.
             */
            finished_at?: number | null;
            /** Format: int64 */
            heartbeat_at?: number | null;
            id: string;
            /** Format: int32 */
            max_attempts: number;
            /** Format: int64 */
            max_runtime_ms?: number | null;
            /**
             * Format: int64
             * @description When it will be tried again, for a job that failed and waits.
             */
            next_retry_at?: number | null;
            params: Record<string, never>;
            /** Format: int32 */
            priority: number;
            progress?: components["schemas"]["Progress"] | null;
            queue: string;
            result?: Record<string, never> | null;
            result_hash?: string | null;
            /** Format: int64 */
            run_at: number;
            solver_checksum?: string | null;
            solver_url?: string | null;
            /** Format: int64 */
            started_at?: number | null;
            status: components["schemas"]["Status"];
            tags: string[];
            type: string;
            worker_id?: string | null;
        };
        JobFailure: {
            backtrace?: string | null;
            error_class?: string | null;
            kind?: components["schemas"]["FailureKind"];
            lease_id?: string | null;
            /** @description No further attempt. */
            permanent?: boolean;
            reason: string;
            /**
             * Format: int64
             * @description Overrides the backoff.
             */
            retry_in_ms?: number | null;
            usage?: Record<string, never> | null;
            worker_id: string;
        };
        /** @description Which jobs. All given fields must match. */
        JobFilter: {
            /** @description Start of the id, or part of type, tag or fail reason. */
            q?: string | null;
            queue?: string | null;
            /**
             * Format: int64
             * @description Created at or after; with `worker_id`, finished at or after, or still going on.
             */
            since?: number | null;
            status?: components["schemas"]["Status"] | null;
            tag?: string | null;
            type?: string | null;
            /**
             * Format: int64
             * @description Created before; with `worker_id`, claimed before.
             */
            until?: number | null;
            view?: components["schemas"]["View"] | null;
            worker_id?: string | null;
        };
        JobResult: {
            lease_id?: string | null;
            result: Record<string, never>;
            result_hash?: string | null;
            /** @description What the worker measured: CPU time, peak memory, wall time. */
            usage?: Record<string, never> | null;
            worker_id: string;
        };
        JobStates: {
            /** Format: int64 */
            assigned: number;
            /** Format: int64 */
            completed: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            pending: number;
            /** Format: int64 */
            quarantined: number;
            /** Format: int64 */
            running: number;
        };
        JobViews: {
            /** Format: int64 */
            blocked: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            dead: number;
            /**
             * Format: int64
             * @description A worker could take them now.
             */
            due: number;
            /** Format: int64 */
            retrying: number;
            /** Format: int64 */
            scheduled: number;
        };
        /** @description How long things are kept. */
        Kept: {
            /** Format: int64 */
            completed_ms: number;
            /** Format: int64 */
            events_ms: number;
            /** Format: int64 */
            failed_max: number;
            /**
             * Format: int64
             * @description Failed and dead jobs, and at most `failed_max` of them.
             */
            failed_ms: number;
            /** Format: int64 */
            history_minutes_ms: number;
            /** Format: int64 */
            history_quarter_days_ms: number;
            /** Format: int64 */
            history_quarter_hours_ms: number;
            /**
             * Format: int64
             * @description Machine history: every snapshot, then by the minute, quarter hour and quarter day.
             */
            history_seconds_ms: number;
        };
        /** @enum {string} */
        LeaseAction: "keep" | "cancel" | "gone";
        LeaseAnswer: {
            action: components["schemas"]["LeaseAction"];
            lease_id: string;
        };
        /** @description How much a caller may send. */
        Limits: {
            /** Format: int64 */
            batch_jobs: number;
            /** Format: int64 */
            lease_ms: number;
            /**
             * Format: int64
             * @description Of one attempt; the oldest go first.
             */
            log_bytes: number;
            /** Format: int64 */
            params_bytes: number;
            /**
             * Format: int32
             * @description Of one scoped token.
             */
            requests_per_second: number;
            /** Format: int64 */
            result_bytes: number;
            /** Format: int64 */
            solver_bytes: number;
        };
        Load: {
            /** Format: double */
            avg1: number;
            /** Format: double */
            avg15: number;
            /** Format: double */
            avg5: number;
        };
        LogOffset: {
            /**
             * Format: int64
             * @description How many bytes of this attempt's log the hub has taken.
             */
            offset: number;
        };
        /** @description A dashboard that is logged in. */
        LoggedIn: {
            /** Format: int64 */
            created_at: number;
            /** @description Whether it is the one that asks. */
            current: boolean;
            /** Format: int64 */
            expires_at: number;
            id: string;
            name: string;
            scope: components["schemas"]["Scope"];
            /** @description What it logged in with; `admin` is the administrator's secret. */
            token_id: string;
        };
        /** @description A token to log in with. */
        Login: {
            /** @description The administrator's secret or a scoped token. */
            token: string;
        };
        MachineStates: {
            /** Format: int64 */
            degraded: number;
            /** Format: int64 */
            offline: number;
            /** Format: int64 */
            online: number;
        };
        /** @description Percent, GiB, GiB. */
        Memory: {
            /** Format: double */
            percent: number;
            /** Format: double */
            total: number;
            /** Format: double */
            used: number;
        };
        NetworkRate: {
            /** Format: double */
            rx: number;
            /** Format: double */
            tx: number;
        };
        /** @description A job to enqueue. */
        NewJob: {
            backoff?: components["schemas"]["Backoff"] | null;
            /** @description A shell line, run only where the operator allows it. */
            command?: string | null;
            /**
             * Format: int64
             * @description Not before this long from now; not together with `run_at`.
             */
            delay_ms?: number | null;
            /**
             * Format: int64
             * @description Fails with `expired` when still pending at this time.
             */
            expires_at?: number | null;
            /** @description The caller's own id; 32 hex digits are made when left out. */
            id?: string | null;
            /** @description The same key again answers with the first job; lives as long as the job. */
            idempotency_key?: string | null;
            /** Format: int32 */
            max_attempts?: number | null;
            /**
             * Format: int64
             * @description `null` means no limit; left out means the default.
             */
            max_runtime_ms?: number | null;
            /** @description Any JSON value; `{}` when left out. */
            params?: Record<string, never> | null;
            /**
             * Format: int32
             * @description Higher is sooner.
             */
            priority?: number | null;
            queue?: string | null;
            /**
             * Format: int64
             * @description Not before this time.
             */
            run_at?: number | null;
            /** @description sha256 of the solver, 64 hex digits; required with `solver_url`. */
            solver_checksum?: string | null;
            solver_url?: string | null;
            tags?: string[] | null;
            type: string;
        };
        NewToken: {
            /** @description What a person calls it. */
            name: string;
            scope: components["schemas"]["Scope"];
        };
        /** @description A machine as the fleet view shows it. */
        Node: {
            /** @description The last 60 snapshots, oldest first. */
            history: components["schemas"]["Snapshot"][];
            id: string;
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             */
            lastSeen: number;
            latest?: components["schemas"]["Snapshot"] | null;
            name: string;
            status: components["schemas"]["NodeStatus"];
        };
        /** @description What a machine did, in at most 600 points. A time without a snapshot has no point. */
        NodeHistory: {
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             */
            from: number;
            /** @description Oldest first. */
            points: components["schemas"]["HistoryPoint"][];
            range: components["schemas"]["HistoryRange"];
            /**
             * Format: int64
             * @description Each point stands for this much time from its `ts` on.
             */
            step_ms: number;
            /** Format: int64 */
            to: number;
        };
        /** @enum {string} */
        NodeStatus: "online" | "degraded" | "offline";
        /** @description Everything is as of `ts`. Ages and times are milliseconds. */
        Overview: {
            /**
             * Format: int64
             * @description How many of these slots have a job.
             */
            busy: number;
            /** @description The last 30 UTC days, oldest first; the last one is today. */
            days: components["schemas"]["Throughput"][];
            jobs: components["schemas"]["JobStates"];
            machines: components["schemas"]["MachineStates"];
            /** @description The last 60 minutes, oldest first; the last one is the current minute. */
            minutes: components["schemas"]["Throughput"][];
            /**
             * Format: int64
             * @description For how long the oldest due job has been due; null when none is.
             */
            oldest_waiting_ms?: number | null;
            /** @description Every queue with jobs, or with jobs that ended in the last hour, by name. */
            queues: components["schemas"]["QueueOverview"][];
            /**
             * Format: int64
             * @description Jobs that the workers which are not lost can run at once.
             */
            slots: number;
            /** @description Since midnight UTC. */
            today: components["schemas"]["Ended"];
            /** @description Since the database was made; removing jobs takes nothing back. */
            total: components["schemas"]["Ended"];
            /** Format: int64 */
            ts: number;
            views: components["schemas"]["JobViews"];
            workers: components["schemas"]["WorkerStates"];
        };
        /** @description Changes to a pending job. */
        PatchJob: {
            /** Format: int32 */
            priority?: number | null;
            queue?: string | null;
            /** Format: int64 */
            run_at?: number | null;
        };
        /**
         * @description What a worker is doing with a lease.
         * @enum {string}
         */
        Phase: "preparing" | "running" | "reporting";
        /** @description Something about the hub that needs a person. */
        Problem: {
            /** @description A word for programs, such as `disk_full`. */
            code: string;
            /** @description What it is and what to do about it. */
            message: string;
            /**
             * Format: int64
             * @description Since when, in ms since 1970.
             */
            since: number;
        };
        Progress: {
            /** Format: int64 */
            at: number;
            message?: string | null;
            /** Format: double */
            percent?: number | null;
        };
        QueueOverview: {
            /** Format: int64 */
            completed_last_hour: number;
            /** Format: int64 */
            due: number;
            /** Format: int64 */
            failed_last_hour: number;
            name: string;
            /** Format: int64 */
            oldest_wait_ms?: number | null;
            /**
             * Format: int64
             * @description Assigned or running.
             */
            running: number;
            /**
             * Format: int64
             * @description Pending and not due yet: scheduled and retrying.
             */
            scheduled: number;
        };
        Register: {
            arch?: string | null;
            boot_id?: string | null;
            /** Format: int32 */
            cores?: number | null;
            /** @description What this process still has to do or to report; its presence asks for an answer. */
            holding?: components["schemas"]["Holding"][] | null;
            hostname?: string | null;
            name?: string | null;
            os?: string | null;
            /** Format: int32 */
            pid?: number | null;
            queues?: string[];
            /** Format: double */
            ram_gb?: number | null;
            /** Format: int32 */
            slots?: number | null;
            tags?: string[];
            types?: string[];
            version?: string | null;
            worker_id: string;
        };
        Registered: {
            abilities: string[];
            leases: components["schemas"]["LeaseAnswer"][];
            /** Format: int32 */
            protocol: number;
            worker: components["schemas"]["WorkerOrder"];
        };
        /** @description Gives a job back: at once, or to be tried after `delay_ms`. */
        Release: {
            lease_id?: string | null;
            worker_id: string;
        };
        /** @description One entry of `POST /api/jobs/results`: a result when `result` is there, else a failure. */
        Report: {
            backtrace?: string | null;
            error_class?: string | null;
            idempotency_key?: string | null;
            job_id: string;
            kind?: components["schemas"]["FailureKind"];
            lease_id?: string | null;
            permanent?: boolean;
            reason?: string | null;
            result?: Record<string, never> | null;
            result_hash?: string | null;
            /** Format: int64 */
            retry_in_ms?: number | null;
            usage?: Record<string, never> | null;
            worker_id: string;
        };
        /** @description One answer of `POST /api/jobs/results`. */
        ReportAnswer: {
            /**
             * Format: int32
             * @description The code the single call would have answered.
             */
            code: number;
            error?: components["schemas"]["ErrorBody"] | null;
            id: string;
            status?: components["schemas"]["Status"] | null;
        };
        ReportProgress: {
            lease_id?: string | null;
            message?: string | null;
            /** Format: double */
            percent?: number | null;
            worker_id: string;
        };
        /** @description The state of a job after a report. */
        Reported: {
            id: string;
            /**
             * Format: int64
             * @description When it will be tried again, if it will.
             */
            next_retry_at?: number | null;
            status: components["schemas"]["Status"];
        };
        /**
         * @description What a token may do.
         * @enum {string}
         */
        Scope: "producer" | "worker" | "viewer" | "admin";
        Session: {
            /** Format: int64 */
            expires_at: number;
            name: string;
            scope: components["schemas"]["Scope"];
            token_id: string;
        };
        /** @description What a hub is and how it is set up. Sizes are bytes, spans of time milliseconds. */
        Settings: {
            /** @description What the hub was built from: a commit's first digits, or a word where there is none. */
            commit: string;
            /**
             * Format: int64
             * @description Jobs, workers, tokens and events.
             */
            database_bytes: number;
            limits: components["schemas"]["Limits"];
            /**
             * Format: int64
             * @description Logs and machine history.
             */
            log_bytes: number;
            retention: components["schemas"]["Kept"];
            /** Format: int64 */
            solvers_bytes: number;
            /** Format: int64 */
            started_at: number;
            version: string;
        };
        /** @description One measurement of a machine. Fields the hub does not know are ignored. */
        Snapshot: {
            /**
             * Format: double
             * @description Percent of all cores.
             */
            cpu: number;
            /** @description Percent of each core. */
            cpuCores?: number[];
            /** @description MiB/s. */
            disk: components["schemas"]["DiskRate"];
            gpus?: components["schemas"]["Gpu"][] | null;
            load: components["schemas"]["Load"];
            memory: components["schemas"]["Memory"];
            /** @description MiB/s. */
            network: components["schemas"]["NetworkRate"];
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             */
            timestamp: number;
        };
        Snooze: {
            /** Format: int64 */
            delay_ms: number;
            lease_id?: string | null;
            worker_id: string;
        };
        Solver: {
            /** Format: int64 */
            bytes: number;
            /** Format: int64 */
            created_at: number;
            sha256: string;
        };
        /** @description The smallest, mean and largest of a number over a point's time. */
        Spread: {
            /** Format: float */
            max: number;
            /** Format: float */
            mean: number;
            /** Format: float */
            min: number;
        };
        /** @enum {string} */
        Status: "pending" | "assigned" | "running" | "completed" | "failed" | "quarantined";
        /** @description What ended in one minute or day. */
        Throughput: {
            /** Format: int64 */
            completed: number;
            /**
             * Format: int64
             * @description Ended as failed or quarantined.
             */
            failed: number;
            /**
             * Format: int64
             * @description Attempts that failed, ran too long or were lost, whether or not the job was tried again.
             */
            failed_attempts: number;
            /**
             * Format: int64
             * @description When it starts.
             */
            ts: number;
        };
        /** @description A token without its secret. */
        Token: {
            /** Format: int64 */
            created_at: number;
            id: string;
            /** Format: int64 */
            last_used_at?: number | null;
            name: string;
            scope: components["schemas"]["Scope"];
            /** @description The only worker that may use it, once one has. */
            worker_id?: string | null;
        };
        /**
         * @description A derived view on jobs, for listing.
         * @enum {string}
         */
        View: "scheduled" | "retrying" | "blocked" | "dead" | "cancelled";
        Worker: {
            arch?: string | null;
            boot_id?: string | null;
            /** Format: int32 */
            busy?: number | null;
            /** Format: int32 */
            cores: number;
            draining: boolean;
            hostname?: string | null;
            id: string;
            /**
             * Format: int64
             * @description Jobs it holds now.
             */
            jobs: number;
            /** Format: int64 */
            last_heartbeat?: number | null;
            name?: string | null;
            os?: string | null;
            /** Format: int32 */
            outbox?: number | null;
            /** Format: int32 */
            pid?: number | null;
            queues: string[];
            /** Format: double */
            ram_gb: number;
            /** Format: int64 */
            registered_at: number;
            /** Format: int64 */
            rss_kb?: number | null;
            /** Format: int32 */
            slots: number;
            state: components["schemas"]["WorkerState"];
            tags: string[];
            types: string[];
            version?: string | null;
        };
        WorkerHeartbeat: {
            boot_id?: string | null;
            /** Format: int32 */
            busy?: number | null;
            holding?: components["schemas"]["Holding"][];
            /** Format: int32 */
            outbox?: number | null;
            /** Format: int64 */
            rss_kb?: number | null;
        };
        WorkerHeartbeatAnswer: {
            leases: components["schemas"]["LeaseAnswer"][];
            worker: components["schemas"]["WorkerOrder"];
        };
        /** @enum {string} */
        WorkerOrder: "run" | "drain";
        /** @enum {string} */
        WorkerState: "online" | "draining" | "lost";
        WorkerStates: {
            /** Format: int64 */
            draining: number;
            /** Format: int64 */
            lost: number;
            /** Format: int64 */
            online: number;
        };
        /** @description The hub's log ends somewhere else. */
        WrongOffset: {
            code: string;
            error: string;
            /**
             * Format: int64
             * @description Send on from here.
             */
            offset: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_audit: {
        parameters: {
            query?: {
                /** @description 1 to 1,000; 50 when left out. */
                limit?: number;
                /** @description From the header `X-Next-Cursor` of the page before. */
                cursor?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    /** @description Where the next page starts, if there is one */
                    "X-Next-Cursor"?: number | null;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
            /** @description A parameter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    docs_page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page that shows the OpenAPI document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
        };
    };
    docs_style: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description CSS */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/css": unknown;
                };
            };
        };
    };
    docs_script: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description JavaScript */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/javascript": unknown;
                };
            };
        };
    };
    list_downloads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The programs that `make dist` built for this hub; none when it has not run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Download"][];
                };
            };
        };
    };
    events: {
        parameters: {
            query?: {
                /**
                 * @description A comma-separated list of `jobs`, `workers`, `nodes`, `queues`, `alerts` and
                 *     `log:<job id>`; `jobs,workers` when left out.
                 */
                topics?: string;
                type?: string;
                queue?: string;
                job_id?: string;
                worker_id?: string;
                /** @description Where to go on, for readers that cannot send the header. */
                last_event_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description A topic or filter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many watchers */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    fleet: {
        parameters: {
            query?: {
                /** @description How many of the newest snapshots to show of each, at most 60; 60 when left out. */
                history?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every node, by id */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"][];
                };
            };
            /** @description The parameter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read the fleet */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    fleet_events: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Messages without a name; the data of each is a node */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Node"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read the fleet */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many open streams */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    push: {
        parameters: {
            query?: never;
            header?: {
                /** @description A name for people; the id when never sent */
                "X-Node-Name"?: string | null;
            };
            path: {
                /** @description The machine, url-safe, at most 64 characters */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Snapshot"];
            };
        };
        responses: {
            /** @description Taken */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A field is missing or absurd */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token is another worker's, or may not push */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description More than 2 MiB */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The hub takes no further nodes, or its disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    push_batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description A name for people; the id when never sent */
                "X-Node-Name"?: string | null;
            };
            path: {
                /** @description The machine, url-safe, at most 64 characters */
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Oldest first, at most 1,000 */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Snapshot"][];
            };
        };
        responses: {
            /** @description Taken; what the hub had already is not taken twice */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A field is missing or absurd; none was taken */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token is another worker's, or may not push */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description More than 8 MiB */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The hub takes no further nodes, or its disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                status?: components["schemas"]["Status"];
                view?: components["schemas"]["View"];
                type?: string;
                queue?: string;
                worker_id?: string;
                tag?: string;
                /** @description Created at or after, in ms since 1970. */
                since?: number;
                /** @description Created before. */
                until?: number;
                /** @description Start of the id, or part of type, tag or fail reason. */
                q?: string;
                /** @description 50 when left out, at most 1,000. */
                limit?: number;
                offset?: number;
                /**
                 * @description `due`: those that are due soonest first, for the views `scheduled` and `retrying`. `newest`: newest
                 *     first, also when left out.
                 */
                sort?: "newest" | "due";
                /** @description From the header `X-Next-Cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"][];
                };
            };
            /** @description A parameter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    enqueue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key again answers with the first job */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description The idempotency key was known: the first job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Enqueued"];
                };
            };
            /** @description The job is stored */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Enqueued"];
                };
            };
            /** @description A field is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The id is taken, or the key was used with a different body */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body or the params are too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    enqueue_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"][];
            };
        };
        responses: {
            /** @description Every idempotency key was known */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Enqueued"][];
                };
            };
            /** @description All are stored; one answer each, in order */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Enqueued"][];
                };
            };
            /** @description A job is not valid; none is stored */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description An id is taken or a key was used differently; none is stored */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many bytes */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    bulk: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Bulk"];
            };
        };
        responses: {
            /** @description Done, or counted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description Still going on */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description A field is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    claim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Claim"];
            };
        };
        responses: {
            /** @description The job with its lease, or an array of them when `max` was given */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedJob"];
                };
            };
            /** @description There is nothing to do */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A field is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description A newer process registered under this worker id */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    counts_by_worker: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Worker id to number of live jobs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: number;
                    };
                };
            };
        };
    };
    public_events: {
        parameters: {
            query?: {
                type?: string;
                queue?: string;
                job_id?: string;
                /** @description Where to go on, for readers that cannot send the header. */
                last_event_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description This hub does not publish events without a token */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many watchers */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    results: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Report"][];
            };
        };
        responses: {
            /** @description One answer each, in order */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportAnswer"][];
                };
            };
            /** @description An entry is not valid; none was recorded */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show: {
        parameters: {
            query?: {
                /** @description Answer only when the job has ended, or after this long (at most 60,000). */
                wait_ms?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The id or a parameter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    remove: {
        parameters: {
            query?: {
                /** @description Remove a finished job with its history and logs, instead of cancelling. */
                purge?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancelled, or removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The job's state does not allow it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchJob"];
            };
        };
        responses: {
            /** @description The changed job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description A field is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The job is not pending */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every claim of the job and how it went, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attempt"][];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancelled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description The worker is asked to stop it */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description It has ended already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    fail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobFailure"];
            };
        };
        responses: {
            /** @description Recorded; `status` tells what becomes of the job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    heartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Heartbeat"];
            };
        };
        responses: {
            /** @description The hub wants it stopped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatAnswer"];
                };
            };
            /** @description Go on */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The job is not this worker's any more */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    kill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Quarantined */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description It is not pending */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    read_log: {
        parameters: {
            query?: {
                /** @description Which attempt; the newest when left out. */
                attempt?: number;
                /** @description Where to start; the first byte that is kept when left out. */
                offset?: number;
                /** @description 1 to stay until the attempt is over. */
                follow?: number;
            };
            header?: never;
            path: {
                /** @description The job */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes as they were written */
            200: {
                headers: {
                    /** @description Where the log ended when the answer began */
                    "X-Log-End"?: number;
                    /** @description Where this answer starts; later than asked for when older bytes are gone */
                    "X-Log-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A parameter is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read logs */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such job or attempt */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many open streams */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    append_log: {
        parameters: {
            query: {
                /** @description The attempt that the lease is of; checked when sent. */
                attempt?: number;
                /** @description Where in the attempt's log these bytes start. */
                offset: number;
                worker_id: string;
                lease_id?: string;
            };
            header?: never;
            path: {
                /** @description The job */
                id: string;
            };
            cookie?: never;
        };
        /** @description Raw bytes, at most 1 MiB */
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            /** @description Stored up to this offset */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogOffset"];
                };
            };
            /** @description A parameter is missing or not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token is another worker's, or may not write logs */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body stalled */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is not the job's live one, or of another attempt */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description More than 1 MiB at once */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The bytes do not start where the log ends */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrongOffset"];
                };
            };
            /** @description The hub is busy or stopping */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    progress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportProgress"];
            };
        };
        responses: {
            /** @description Noted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    release: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Release"];
            };
        };
        responses: {
            /** @description Given back */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    result: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key again is the same result */
                "X-Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobResult"];
            };
        };
        responses: {
            /** @description The job is completed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is lost, or another result was recorded */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The result is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Pending again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description It has not failed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    run_now: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Due now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description It is not pending */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    snooze: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Snooze"];
            };
        };
        responses: {
            /** @description Given back; due after `delay_ms` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description There is no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    node_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The machine */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its newest snapshot at once, then each that arrives */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Snapshot"];
                };
            };
            /** @description The id is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read the fleet */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such node */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many open streams */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    node_history: {
        parameters: {
            query?: {
                /** @description How far back to look. */
                range?: components["schemas"]["HistoryRange"];
            };
            header?: never;
            path: {
                /** @description The machine */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeHistory"];
                };
            };
            /** @description The id or the range is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read the fleet */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such node */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    node_snapshots: {
        parameters: {
            query?: {
                /** @description How many, at most 360; all when left out. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The machine */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"][];
                };
            };
            /** @description The id or the limit is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read the fleet */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such node */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    bulk_operation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where it stands */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description There is no such operation */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As of `ts` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller's scope and name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    log_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Logged in; the cookie is set */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description The token is not valid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The request comes from another site's page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many wrong tokens from this address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logged out; the cookie is cleared */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedIn"][];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description From the list of sessions */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is over */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such session */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing in it is secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settings"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not read this */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_solvers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every solver, by checksum */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Solver"][];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not list solvers */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    get_solver: {
        parameters: {
            query?: never;
            header?: {
                /** @description One range of bytes; several are answered with all */
                Range?: string | null;
                /** @description The ETag that the range belongs to */
                "If-Range"?: string | null;
                /** @description The ETag that the caller has */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description Its name, 64 hex digits */
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description The range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description The caller has it */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The name is not a checksum */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not fetch solvers */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such solver */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The range lies behind the end; Content-Range tells the size */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    put_solver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description sha256 of the body, 64 hex digits */
                sha256: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            /** @description It was there already */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Solver"];
                };
            };
            /** @description Stored and synced to disk */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Solver"];
                };
            };
            /** @description The name is not a checksum, or the body broke off */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token may not upload */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body stalled */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Larger than this hub allows */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body does not hash to its name; the error says its sha256 */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many uploads at once */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The hub's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_solver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its name, 64 hex digits */
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The name is not a checksum */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No valid token */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Only administrators remove solvers */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description No such solver */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description The token and its secret */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description The name or scope is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such token */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every worker that registered */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"][];
                };
            };
        };
    };
    register: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Register"];
            };
        };
        responses: {
            /** @description Registered; `holding` is answered */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registered"];
                };
            };
            /** @description Registered */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A field is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description A newer process has this worker id */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    show_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The worker */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    forget_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forgotten */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    drain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes no more jobs */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    worker_heartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkerHeartbeat"];
            };
        };
        responses: {
            /** @description What to do with each lease, and with the worker */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerHeartbeatAnswer"];
                };
            };
            /** @description The hub does not know this worker; register again */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes jobs again */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    download: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that the caller has */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description As listed, such as forge-agent-linux-x86_64, or SHA256SUMS */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it; the ETag is its sha256 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description The caller has it */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not among what `make dist` built */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    installer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A shell script; `sh install.sh --help` tells how to use it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/x-shellscript": unknown;
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenMetrics text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": unknown;
                };
            };
        };
    };
}

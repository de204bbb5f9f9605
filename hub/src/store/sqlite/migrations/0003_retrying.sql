-- Jobs that wait for another try, by when it is.
CREATE INDEX jobs_retrying ON jobs (run_at) WHERE lane IS NOT NULL AND attempt > 0;

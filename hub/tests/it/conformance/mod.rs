//! What every store must do, whatever database it is on: written against the trait `Store`, run
//! on a backend by one line, `conformance!(on_this, ThisBackend)`.

mod claims;
mod closing;
mod events;
mod lifecycle;
mod listing;
mod overview;
mod records;
mod retention;
mod waiting;
mod workers;

macro_rules! conformance {
    ($name:ident, $backend:expr) => {
        mod $name {
            run_each! { $backend;
                lifecycle {
                    every_row_of_the_lifecycle_holds
                    a_new_job_comes_back_as_it_was_sent
                    jobs_without_an_id_get_one_in_time_order
                    a_batch_is_added_whole_or_not_at_all
                    an_idempotency_key_lives_as_long_as_its_job
                    a_superseded_lease_changes_nothing
                    the_first_result_stands
                    a_late_result_is_good_while_its_lease_is_the_last
                    a_lease_is_checked_without_changing_it
                    progress_is_kept_and_told_once_a_second
                    give_backs_come_to_an_end
                    attempts_tell_how_each_one_ended
                    an_audit_note_is_kept_unless_the_command_is_refused
                }
                claims {
                    jobs_go_out_by_priority_then_due_time_then_age
                    filters_choose_types_and_queues
                    a_released_job_keeps_its_place
                    nothing_is_claimed_before_its_time
                    a_job_past_its_expiry_date_is_not_handed_out
                    a_repeated_claim_answers_with_its_own_jobs
                    a_repeated_claim_leaves_no_job_behind_expired_ones
                    a_long_lane_is_handed_out_whole_and_in_order
                    patched_jobs_move_to_their_new_lane
                    claimed_jobs_are_handed_over_whole
                    many_tasks_claim_every_job_once
                }
                waiting {
                    a_waiting_claim_is_served_by_the_commit_that_makes_a_job_claimable
                    first_come_is_first_served_among_those_who_fit
                    a_waiting_claim_is_served_when_a_job_becomes_due
                    a_claim_waits_without_anybody_asking_until_a_job_is_due
                    a_waiting_claim_can_be_called_off
                    draining_answers_the_claims_that_wait
                    cancelled_heads_do_not_hide_what_is_scheduled_behind_them
                    one_job_serves_one_of_a_thousand
                }
                listing {
                    every_filter_finds_its_jobs
                    text_is_searched_in_ids_types_tags_and_reasons
                    pages_by_cursor_and_by_offset_cover_everything_once
                    waiting_jobs_are_listed_by_when_they_are_due
                    a_rare_status_is_found_among_many_jobs
                    a_page_ends_early_when_it_grows_too_large
                    bulk_work_finds_matching_jobs_oldest_first
                    counters_equal_a_recount
                    live_jobs_are_listed_by_number_and_by_worker
                    unknown_jobs_are_not_found
                }
                overview {
                    scheduled_jobs_become_due_without_a_write
                    every_way_out_of_a_view_is_counted
                    what_ended_is_counted_by_minute_and_day_and_never_taken_back
                    many_jobs_that_become_due_at_once_are_settled_in_steps
                    the_jobs_of_a_worker_are_found_by_when_it_ran_them
                }
                workers {
                    a_registered_worker_is_listed_with_what_it_said
                    a_heartbeat_for_all_leases_renews_and_releases
                    a_new_process_takes_over_the_name
                    what_an_earlier_process_held_is_given_back
                    a_silent_worker_is_lost_and_found_again
                    a_step_of_the_wall_clock_loses_no_worker
                    draining_survives_reopening
                    a_forgotten_worker_is_gone
                }
                retention {
                    overdue_names_what_ran_out_of_time
                    a_step_of_the_wall_clock_ends_no_lease
                    resuming_gives_live_leases_a_full_term
                    finished_jobs_are_prunable_by_age
                    failed_jobs_are_prunable_by_number
                    a_pruned_job_leaves_nothing_behind
                    old_events_go_and_the_newest_stays
                    events_are_pruned_without_holes_after_a_clock_step
                    however_many_old_events_there_are_all_go
                }
                events {
                    events_are_numbered_without_gaps
                    events_are_read_from_any_number_on
                    a_refused_command_leaves_no_event
                    a_new_store_has_an_empty_range_and_an_epoch
                }
                records {
                    tokens_are_kept_replaced_and_deleted_with_their_sessions
                    sessions_end
                    the_audit_log_is_read_newest_first
                    operations_are_resumed_until_they_are_done
                    nodes_keep_their_newest_snapshot
                    logs_are_appended_read_and_deleted
                    a_store_that_works_answers_a_ping_and_shows_figures
                }
                closing {
                    reopening_keeps_everything
                    closing_finishes_what_was_accepted
                    a_closed_store_says_so
                }
            }
        }
    };
}

macro_rules! run_each {
    ($backend:expr; $($group:ident { $($case:ident)+ })+) => {
        $(mod $group {
            $(#[tokio::test]
            async fn $case() {
                let rig = crate::kit::Rig::new(&$backend).await;
                crate::conformance::$group::$case(rig).await;
            })+
        })+
    };
}

conformance!(on_sqlite, crate::sqlite::Sqlite);

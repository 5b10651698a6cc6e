//! One suite for all stores: what holds for the one in memory holds for `SQLite` and `PostgreSQL`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod claiming;
mod control;
mod creating;
mod crowd;
mod declarations;
mod fixture;
mod holding;
mod people;
mod postgres_locks;
mod postgres_lost_answers;
mod postgres_only;
mod postgres_outages;
mod random;
mod reading;
mod resource_lists;
mod resources;
mod sealing;
mod signalling;
mod sqlite_only;
mod store_fixture;
mod superseding;

/// Makes three tests of each case.
macro_rules! on_every_store {
    ($($module:ident: $($case:ident),+;)+) => {
        on_every_store! { @on memory $($module: $($case),+;)+ }
        on_every_store! { @on sqlite $($module: $($case),+;)+ }
        on_every_store! { @on postgres $($module: $($case),+;)+ }
    };
    (@on $store:ident $($module:ident: $($case:ident),+;)+) => {
        mod $store {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let store_fixture = crate::store_fixture::$store().await;
                    crate::$module::$case(&*store_fixture.store).await;
                })+
            })+
        }
    };
}

on_every_store! {
    creating:
        a_new_operation_is_there_with_its_first_event,
        an_operation_without_an_owner_is_due_at_once,
        the_same_key_means_the_same_operation,
        a_key_that_was_used_counts_more_than_a_busy_resource,
        a_refused_create_does_not_use_up_its_key,
        fifty_callers_with_one_key_make_one_operation,
        a_resource_has_one_active_operation,
        fifty_callers_for_one_resource_make_one_operation,
        those_who_queue_get_the_resource_in_order,
        fifty_who_queue_at_once_all_get_their_turn,
        an_id_is_used_once;
    holding:
        a_number_is_given_once,
        an_append_changes_the_phase_in_lists,
        a_park_says_everything_that_lists_show,
        a_park_without_memory_keeps_the_one_before,
        a_park_needs_the_owner_and_its_epoch,
        a_finish_needs_the_owner_and_its_epoch,
        a_finished_operation_is_kept_with_its_end,
        an_orphan_is_adopted_and_its_old_owner_refused,
        what_the_old_owner_wrote_before_the_adoption_counts,
        joining_frees_what_the_previous_node_owned,
        leaving_frees_everything_and_rings,
        releasing_frees_what_is_named_and_owned,
        a_node_that_no_one_knows_may_do_nothing;
    claiming:
        a_clean_claim_writes_no_event,
        a_claim_brings_the_memory_and_what_came_after,
        the_oldest_come_first_and_the_limit_holds,
        only_what_is_due_and_free_is_claimed,
        a_claim_moves_on_waiting_phases_only,
        a_small_tenant_is_not_starved_by_a_big_one,
        every_one_of_many_tenants_gets_its_turn;
    control:
        each_verb_in_each_phase_is_answered_as_the_phase_says,
        a_control_for_nothing_is_answered,
        a_control_for_a_running_operation_comes_with_the_heartbeat,
        a_control_wakes_what_is_put_down,
        a_control_that_was_not_heard_survives_the_park,
        a_control_that_was_heard_does_not_wake,
        a_later_request_counts_although_its_clock_is_behind,
        two_requests_of_one_moment_are_two,
        a_request_that_is_dropped_is_cleared,
        an_event_clears_the_request_that_it_deals_with,
        numbers_go_on_when_an_operation_begins_again,
        what_wakes_at_once_does_not_wake_before_its_time,
        a_cancelled_operation_leaves_the_queue,
        a_paused_operation_stays_in_the_queue,
        a_finished_operation_begins_again_with_all_its_time,
        a_finished_operation_does_not_begin_again_on_a_busy_resource,
        controls_and_parks_at_the_same_moment_lose_nothing;
    signalling:
        a_signal_before_the_wait_ends_it_at_once,
        a_signal_during_the_wait_ends_it,
        a_signal_for_a_running_operation_is_found_at_its_next_park,
        a_signal_is_gone_when_an_event_has_taken_it_over,
        a_second_signal_is_not_deleted_unread,
        taking_a_signal_over_and_sending_the_next_at_the_same_moment_lose_nothing,
        a_signal_ends_every_wait_for_it_and_the_last_payload_counts,
        signals_and_parks_at_the_same_moment_lose_nothing,
        unread_signals_of_a_sender_are_limited_by_number_and_bytes,
        a_signal_that_ends_a_wait_is_taken_beyond_the_limit,
        signals_of_a_sender_at_the_same_moment_stay_within_the_limit;
    reading:
        nothing_is_shown_of_what_is_not_there,
        a_list_keeps_to_every_filter,
        an_operation_is_found_by_the_end_of_its_id,
        pages_have_no_gap_and_no_double,
        totals_count_what_a_list_would_show,
        the_history_says_what_ended_when,
        a_journal_can_be_read_in_pages,
        stats_count_what_there_is,
        old_operations_are_removed_with_all_that_is_theirs,
        the_database_answers;
    resources:
        a_record_is_there_as_it_was_written,
        the_one_who_looked_too_long_ago_changes_nothing,
        what_is_absent_needs_a_record,
        an_operation_is_accepted_together_with_its_record,
        a_key_counts_more_than_a_change_and_that_more_than_a_busy_resource,
        another_resource_must_be_as_it_was,
        events_parks_and_ends_say_what_the_resource_looks_like,
        a_record_of_what_is_not_there_is_ignored,
        who_was_declared_dead_sets_nothing,
        an_end_settles_the_record_of_its_newest_operation_only,
        a_retry_makes_an_operation_the_newest_again,
        tombstones_are_there_until_they_are_old;
    superseding:
        the_one_who_is_superseded_hears_it_and_then_the_next_has_its_turn,
        the_one_who_is_superseded_is_woken,
        one_that_queues_is_superseded_before_it_began,
        who_cannot_be_superseded_any_longer_is_no_obstacle,
        a_refused_create_supersedes_no_one,
        a_cancel_in_the_queue_settles_the_record,
        fifty_who_want_to_be_the_first_make_one_resource,
        fifty_who_saw_the_same_version_write_once,
        of_fifty_who_write_the_same_record_beside_one_is_saved,
        ends_and_new_operations_of_the_same_resources_leave_no_one_waiting;
    resource_lists:
        every_filter_finds_what_a_plain_look_finds,
        pages_of_resources_have_no_gap_and_no_double,
        what_is_due_comes_in_the_order_of_its_time,
        values_of_a_label_are_counted_as_a_plain_look_counts_them,
        what_changes_its_value_meanwhile_counts_once;
    access:
        a_token_is_found_by_its_digest_until_it_is_removed,
        the_last_admin_token_stays,
        the_audit_log_is_newest_first,
        a_shared_value_changes_only_for_who_knows_it,
        old_lines_of_the_audit_log_are_forgotten;
    sealing:
        values_are_sealed_again_but_not_under_a_node_that_works,
        what_changed_since_it_was_read_is_not_replaced,
        unfinished_operations_are_read_as_they_are_saved;
    people:
        a_name_is_taken_once,
        a_change_ends_sessions_by_password_only,
        who_is_removed_loses_its_sessions_by_password,
        the_attempt_that_makes_the_limit_locks,
        a_locked_attempt_does_not_count,
        a_good_password_and_a_change_unlock,
        fifty_attempts_at_once_count_fifty,
        fifty_attempts_at_once_lock_once,
        sessions_are_newest_first,
        a_session_that_is_used_is_good_for_longer,
        a_draft_belongs_to_its_session_and_only_the_newest_stay,
        the_last_admin_stays_an_admin,
        a_session_keeps_all_that_makes_its_principal,
        two_proofs_with_one_name_are_two_people,
        what_has_expired_is_pruned;
    crowd:
        five_hundred_operations_at_once_have_no_gap,
        the_one_who_writes_a_number_twice_harms_no_one_else,
        whole_lives_side_by_side_all_end_in_the_archive,
        a_finish_and_a_create_at_the_same_moment_leave_no_one_waiting,
        a_finish_and_a_cancel_at_the_same_moment_leave_no_one_waiting;
    random:
        random_lives_are_the_same_as_in_memory;
}

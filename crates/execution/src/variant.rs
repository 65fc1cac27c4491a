//! Broken variants of the engine, for the simulation: the rules hold, except in a test that turns one off.

#[cfg(test)]
use std::cell::Cell;
#[cfg(test)]
use touchline_fx::setup::Setup;

/// A rule that a test can break.
#[cfg_attr(not(test), allow(dead_code, reason = "only tests break a rule"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// An order is sent before it is in the journal.
    SentBeforeJournaled,
    /// Orders without an outcome are sent again after a reconnect.
    OrdersSentAgain,
    /// An order without an outcome is taken as rejected.
    UnknownIsRejected,
    /// A message of a bank changes the state without a record.
    ReportNotJournaled,
    /// A parent is not in the journal before its first order.
    ParentNotJournaled,
    /// The kill switch is not in the journal.
    KillNotJournaled,
    /// Sequence numbers that orders did not use are not in the journal.
    NumbersNotJournaled,
    /// Entries are published before the journal has them.
    PublishedBeforeJournaled,
    /// A message waits behind a resend in a store that keeps none.
    WaitsInNumbers,
    /// A standby starts from what it had applied before it was promoted.
    StandbyMissesTheEnd,
    /// A standby is promoted while the engine is frozen.
    PromotedWithoutLock,
    /// Banks are not asked for orders that a loss of power took from the journal.
    NotAskedAfterReboot,
    /// A report of an order that the journal lost is refused.
    LostOrderRefused,
    /// The number of an order leaves out the questions in front of it.
    QuestionsUncounted,
    /// A pair has no limit of its net position.
    NetUnlimited,
    /// A bank has no limit of orders in a second.
    RateUnlimited,
    /// A bank has no limit of its silence.
    SilenceUnlimited,
    /// The quotes of a bank's pair have no limit of their age.
    StaleUnlimited,
    /// The limit price of a parent is not that of its orders.
    LimitPriceIgnored,
    /// A disputed order is taken as ended with what is booked.
    DisputedIsEnded,
    /// Orders in doubt are not canceled.
    DoubtfulNotCanceled,
    /// A booking of the desk is not in the journal.
    BookingNotJournaled,
    /// Commands are executed, and orders sent, without a record in the journal.
    ExecutedUnrecorded,
    /// A start executes commands of before.
    CommandsOfBefore,
    /// A kill is lost with the journal that could not record it.
    UnrecordedKillLost,
    /// A start forgets the failure of the journal before it has recorded the kill.
    FailureForgottenEarly,
    /// A kill without a ring is removed before it is recorded.
    KillFileRemovedEarly,
    /// A step of the wall clock is ignored.
    StepIgnored,
    /// Ages run on the wall clock.
    AgesByWallClock,
}

impl Variant {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: &[Self] = &[
        Self::SentBeforeJournaled,
        Self::OrdersSentAgain,
        Self::UnknownIsRejected,
        Self::ReportNotJournaled,
        Self::ParentNotJournaled,
        Self::KillNotJournaled,
        Self::NumbersNotJournaled,
        Self::PublishedBeforeJournaled,
        Self::WaitsInNumbers,
        Self::StandbyMissesTheEnd,
        Self::PromotedWithoutLock,
        Self::NotAskedAfterReboot,
        Self::LostOrderRefused,
        Self::QuestionsUncounted,
        Self::NetUnlimited,
        Self::RateUnlimited,
        Self::SilenceUnlimited,
        Self::StaleUnlimited,
        Self::LimitPriceIgnored,
        Self::DisputedIsEnded,
        Self::DoubtfulNotCanceled,
        Self::BookingNotJournaled,
        Self::ExecutedUnrecorded,
        Self::CommandsOfBefore,
        Self::UnrecordedKillLost,
        Self::FailureForgottenEarly,
        Self::KillFileRemovedEarly,
        Self::StepIgnored,
        Self::AgesByWallClock,
    ];

    /// Whether this rule is broken: never, but in a test that says so.
    #[cfg(not(test))]
    #[inline]
    pub(crate) const fn is_on(self) -> bool {
        false
    }

    /// Whether this rule is broken in this thread.
    #[cfg(test)]
    pub(crate) fn is_on(self) -> bool {
        BROKEN.get() == Some(self)
    }

    /// The configuration as the engine gets it: without a limit, if that rule is broken.
    #[cfg(test)]
    pub(crate) fn limits(mut setup: Setup) -> Setup {
        for pair in setup
            .pairs
            .iter_mut()
            .filter(|_| Self::NetUnlimited.is_on())
        {
            pair.config.max_net = i64::MAX;
        }
        for bank in &mut setup.banks {
            let config = &mut bank.config;
            for (variant, limit) in [
                (Self::SilenceUnlimited, &mut config.silence_ms),
                (Self::StaleUnlimited, &mut config.stale_ms),
            ] {
                *limit = if variant.is_on() { 0 } else { *limit };
            }
            if Self::RateUnlimited.is_on() {
                config.max_orders_per_s = usize::MAX;
            }
        }
        setup
    }

    /// Breaks a rule in this thread, or none.
    #[cfg(test)]
    pub(crate) fn set(broken: Option<Self>) {
        BROKEN.set(broken);
    }
}

#[cfg(test)]
thread_local! {
    static BROKEN: Cell<Option<Variant>> = const { Cell::new(None) };
}

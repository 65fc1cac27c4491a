//! Orders, reports and limits: templates 60 to 80. They carry no latency trace.

use super::Head;
use super::fields::{Block, Field, FieldType, Fields, GroupLayout, Text, Zeros};
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

fields! {
    /// Venue, account and instrument, in every message of an order.
    Route: 40 {
        /// The venue's identifier of the instrument; `i64::MAX` where the message is of no single one.
        0 security_id: I64,
        /// The bank or exchange.
        8 venue_name: Text<16>,
        /// The account.
        24 account: Text<16>,
    }
}

fields! {
    /// Terms of an order.
    Terms: 80 {
        /// Limit in 1e-9; `i64::MAX` for a market order.
        0 price: I64,
        /// Stop price, in 1e-9; `i64::MAX` without one.
        8 stop_price: I64,
        /// Quantity.
        16 quantity: I64,
        /// Smallest fill; `i64::MAX` for any.
        24 quantity_min: I64,
        /// Displayed quantity; `i64::MAX` for all.
        32 quantity_shown: I64,
        /// Expiry, nanoseconds since the Unix epoch; 0 without one.
        40 expiry_ns: U64,
        /// Currency of the quantity.
        48 currency: Text<16>,
        /// Value date as `YYYYMMDD`; 0 where the instrument has but one.
        64 value_date: U32,
        /// Side of the schema.
        68 side: u8,
        /// OrderType of the schema.
        69 order_type: u8,
        /// TimeInForce of the schema.
        70 time_in_force: u8,
        /// OrderFlags of the schema.
        71 order_flags: u8,
        /// Time of the request, nanoseconds since the Unix epoch.
        72 created_ns: U64,
    }
}

/// A block of an order: each begins with the head and where the order goes, in the words that are given.
macro_rules! order_block {
    ($(#[$about:meta])* $name:ident = $id:literal, $size:literal, $route:literal { $($body:tt)+ }) => {
        block! {
            $(#[$about])*
            $name = $id, [], $size {
                /// Number, times, instrument, no validity, flags.
                0 head: Head,
                /// Not used.
                30 reserved: Zeros<2>,
                #[doc = $route]
                32 route: Route,
                $($body)+
            }
        }
    };
}

order_block! {
    /// A new order.
    NewOrder = 60, 344, " Where it goes." {
        /// Terms of the order.
        72 terms: Terms,
        /// Our id of it.
        152 client_order_id: Text<64>,
        /// The order of the desk that it is a part of.
        216 parent_order_id: Text<64>,
        /// The quote that it hits.
        280 quote_id: Text<64>,
    }
}

order_block! {
    /// The request to cancel an order.
    CancelOrder = 61, 288, " Venue, account and instrument." {
        /// Its quantity.
        72 quantity: I64,
        /// Time of the request, nanoseconds since the Unix epoch.
        80 created_ns: U64,
        /// Our id of the request.
        88 client_order_id: Text<64>,
        /// Our id of the order.
        152 original_client_order_id: Text<64>,
        /// The venue's id of the order.
        216 order_id: Text<64>,
        /// Its side: Side of the schema.
        280 side: u8,
        /// Not used.
        281 reserved2: Zeros<7>,
    }
}

order_block! {
    /// The request to change the terms of an order.
    ReplaceOrder = 62, 344, " Venue, account and instrument." {
        /// All of the new terms.
        72 terms: Terms,
        /// Our id of the request.
        152 client_order_id: Text<64>,
        /// Our id of the order.
        216 original_client_order_id: Text<64>,
        /// The venue's id of the order.
        280 order_id: Text<64>,
    }
}

order_block! {
    /// The request to cancel every order that fits.
    CancelAll = 63, 168, " Of which instrument, venue and account." {
        /// Time of the request, nanoseconds since the Unix epoch.
        72 created_ns: U64,
        /// Our id of the request.
        80 client_order_id: Text<64>,
        /// Sender of the request.
        144 requested_by: Text<16>,
        /// Side of the schema; 255 for both.
        160 side: u8,
        /// 1 for the kill switch.
        161 kill: u8,
        /// Not used.
        162 reserved2: Zeros<6>,
    }
}

order_block! {
    /// Execution report: state of an order.
    ExecutionReport = 70, 464, " Venue, account and instrument." {
        /// Limit of the order in 1e-9; `i64::MAX` without one.
        72 price: I64,
        /// Quantity of the order.
        80 quantity: I64,
        /// Price of this fill in 1e-9; `i64::MAX` without one.
        88 last_price: I64,
        /// Quantity of this fill; `i64::MAX` without one.
        96 last_quantity: I64,
        /// Filled quantity.
        104 cumulative_quantity: I64,
        /// Quantity that may still be filled.
        112 leaves_quantity: I64,
        /// Average price of the filled quantity, in 1e-9; `i64::MAX` if not stated.
        120 average_price: I64,
        /// Value date as `YYYYMMDD`; 0 if not stated.
        128 value_date: U32,
        /// The venue's number of the reason; `u16::MAX` without one.
        132 venue_reject_code: U16,
        /// Side of the schema.
        134 side: u8,
        /// ExecutionType of the schema.
        135 execution_type: u8,
        /// OrderState of the schema.
        136 order_state: u8,
        /// RejectCode of the schema; 255 without one.
        137 reject_code: u8,
        /// Liquidity of the schema; 255 if not stated.
        138 liquidity: u8,
        /// ReportFlags of the schema.
        139 report_flags: u8,
        /// Not used.
        140 reserved2: Zeros<4>,
        /// Our id of the order or of the request.
        144 client_order_id: Text<64>,
        /// Our id of the order before that request.
        208 original_client_order_id: Text<64>,
        /// The venue's id of the order.
        272 order_id: Text<64>,
        /// The venue's id of the report.
        336 execution_id: Text<64>,
        /// The report that this one corrects or reverses.
        400 execution_reference_id: Text<64>,
    }
}

order_block! {
    /// A request was refused.
    OrderRejected = 71, 336, " Where it was to go." {
        /// The venue's number of the reason; `u16::MAX` without one.
        72 venue_reject_code: U16,
        /// OrderRequest of the schema.
        74 request: u8,
        /// RiskCheck of the schema; 255 where the venue refused it.
        75 risk_check: u8,
        /// RejectCode of the schema; 255 where we refused it.
        76 reject_code: u8,
        /// Not used.
        77 reserved2: Zeros<3>,
        /// Our id of the request.
        80 client_order_id: Text<64>,
        /// Our id of the order that it was about.
        144 original_client_order_id: Text<64>,
        /// The venue's id of that order.
        208 order_id: Text<64>,
        /// The venue's words.
        272 reject_text: Text<64>,
    }
}

order_block! {
    /// Limits in force, and their use.
    Limits = 80, 184, " Scope; an empty or absent field means all." {
        /// Largest quantity of one order; `i64::MAX` where not limited.
        72 order_quantity_max: I64,
        /// Largest position, long or short; `i64::MAX` where not limited.
        80 position_max: I64,
        /// Position; `i64::MAX` where not known.
        88 position: I64,
        /// Position if every order that buys fills; `i64::MAX` where not known.
        96 worst_long: I64,
        /// Position if every order that sells fills; `i64::MAX` where not known.
        104 worst_short: I64,
        /// Largest sum of possible positions, in 1e-4; `i64::MAX` where not limited.
        112 gross_max: I64,
        /// That sum in 1e-4; `i64::MAX` where not known.
        120 gross: I64,
        /// Credit in 1e-4; `i64::MAX` where not limited.
        128 credit_max: I64,
        /// Used credit, in 1e-4; `i64::MAX` where not known.
        136 credit_used: I64,
        /// Furthest distance of a limit price from the mid, in 1e-9; `i64::MAX` where not limited.
        144 price_collar: I64,
        /// Currency of the amounts.
        152 currency: Text<16>,
        /// Orders in any second; `u32::MAX` where not limited.
        168 orders_per_second_max: U32,
        /// LimitFlags of the schema.
        172 limit_flags: u8,
        /// Not used.
        173 reserved2: Zeros<11>,
    }
}

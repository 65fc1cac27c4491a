//! Orders at banks: states, reports, and recovery of missing answers.

mod asking;
mod booking;
mod code;
mod credit;
mod executions;
mod order;
mod report;
mod store;

pub use asking::{Asking, Mention, Question};
pub use booking::{Booking, Bookings, LateOriginal, booked_exec_id, contradicts, resolved_exec_id};
pub use code::code_of;
pub use executions::{Execution, Executions};
pub use order::Order;
pub use report::{Dispute, Report, ReportKind};
pub use store::Orders;

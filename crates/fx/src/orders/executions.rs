//! Executions: reported ExecIDs, and booked fills for later busts, corrections and late originals.

use super::booking::Booking;
use super::store::number_id;
use crate::touched;
use std::collections::{HashMap, HashSet};
use touchline_fx_events::orders::FillKind;
use touchline_fx_events::setup::Bank;
use touchline_types::{Id, Price};

/// A booked fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// Order of the fill.
    pub order: usize,
    /// The fill; its quantity leaves out reversed units and units named by a late original.
    pub booking: Booking,
    /// CumQty of the order before the fill, in units; the fill's part of CumQty ends at `from + whole`.
    from: i64,
    /// Units when the fill was booked.
    whole: i64,
    /// Index of the order's previous fill.
    before: Option<usize>,
}

/// Owner of an ExecID: banks use an ExecID again for other orders and on other days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Order(usize),
    /// An order that is not ours, by the ClOrdID (11) of the report.
    Foreign(Bank, Id),
}

/// Fills of an order.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    /// Index of the latest fill.
    last: Option<usize>,
    /// Sum of the fills' quantities without reversed units.
    units: i64,
}

/// Executions of a run.
///
/// Invariant: the chain of an order has its fills, the latest first.
#[derive(Debug, Clone, Default)]
pub struct Executions {
    reported: HashSet<(Owner, Id)>,
    /// Number of reports whose ExecID was reported before.
    repeated: u64,
    booked: Vec<Execution>,
    /// The last fill of an ExecID of an order.
    by_id: HashMap<(usize, Id), usize>,
    /// Fills of each order.
    chains: Vec<Chain>,
}

impl Executions {
    /// Reserves memory for the fills of this many orders.
    pub fn reserve(&mut self, orders: usize) {
        self.reported.reserve(orders);
        let sample = Execution {
            order: 0,
            booking: Booking::new(FillKind::Fill, Id::EMPTY, 1, Price(1)),
            from: 0,
            whole: 1,
            before: None,
        };
        touched::vector(&mut self.booked, orders, &sample);
        let by_number = |number| (number as usize, number_id(number));
        touched::map(&mut self.by_id, orders, by_number, &0);
        touched::vector(&mut self.chains, orders, &Chain::default());
    }

    /// Adds an order without fills.
    pub fn add_order(&mut self) {
        self.chains.push(Chain::default());
    }

    /// Units of an order that are booked and not reversed.
    pub fn units(&self, order: usize) -> i64 {
        self.chains[order].units
    }

    /// Whether an ExecID of an order is new. A too long or missing ExecID is always new: CumQty limits its bookings.
    pub fn is_new(&mut self, order: usize, exec_id: Option<&[u8]>) -> bool {
        self.note(Owner::Order(order), exec_id)
    }

    /// Whether an ExecID of an order that is not ours is new.
    pub fn is_new_foreign(
        &mut self,
        bank: Bank,
        cl_ord_id: Option<&[u8]>,
        exec_id: Option<&[u8]>,
    ) -> bool {
        let name = Id::lossy(cl_ord_id.unwrap_or_default());
        self.note(Owner::Foreign(bank, name), exec_id)
    }

    fn note(&mut self, owner: Owner, exec_id: Option<&[u8]>) -> bool {
        let is_new = match exec_id.and_then(Id::new) {
            Some(exec_id) => self.reported.insert((owner, exec_id)),
            None => true,
        };
        self.repeated += u64::from(!is_new);
        is_new
    }

    /// Number of reports that were ignored because their ExecID was reported before.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Stores a fill; `from` is CumQty of the order before it.
    pub fn book(&mut self, order: usize, from: i64, booking: Booking) {
        let (at, chain) = (self.booked.len(), &mut self.chains[order]);
        chain.units += booking.quantity;
        self.booked.push(Execution {
            order,
            booking,
            from,
            whole: booking.quantity,
            before: chain.last.replace(at),
        });
        self.by_id.insert((order, booking.exec_id), at);
    }

    /// The fill of an ExecID of an order, if it was not reversed.
    pub fn find(&self, order: usize, exec_id: Option<&[u8]>) -> Option<Execution> {
        let exec_id = exec_id.and_then(Id::new)?;
        let at = *self.by_id.get(&(order, exec_id))?;
        // mutant: fx: a trade is busted twice
        Some(self.booked[at]).filter(|fill| fill.booking.quantity > 0)
    }

    /// Reverses the fill that [`Executions::find`] found.
    pub fn reverse(&mut self, order: usize, exec_id: &Id) {
        let at = self.by_id[&(order, *exec_id)];
        let quantity = std::mem::take(&mut self.booked[at].booking.quantity);
        self.chains[order].units -= quantity;
    }

    /// Moves a quantity to its late trade report: takes the `quantity` up to `cum` out of the first fill that contains it
    /// and was booked without a report, from CumQty or by the desk. Returns that fill.
    pub fn name(&mut self, order: usize, cum: i64, quantity: i64) -> Option<Booking> {
        let (mut next, mut first) = (self.chains[order].last, None);
        while let Some(at) = next {
            let fill = &self.booked[at];
            assert!(fill.order == order, "a chain has the fills of its order");
            let is_derived = matches!(fill.booking.kind, FillKind::Status | FillKind::Manual);
            let contains = fill.from <= cum - quantity && cum <= fill.from + fill.whole;
            if is_derived && contains && fill.booking.quantity >= quantity {
                first = Some(at);
            }
            next = fill.before;
        }
        let booking = &mut self.booked[first?].booking;
        booking.quantity -= quantity;
        self.chains[order].units -= quantity;
        Some(*booking)
    }
}

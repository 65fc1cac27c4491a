//! Comparison of the reports that a back office received with `fills.csv` and with the banks' ledgers.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An execution as `fills.csv` has it: the ExecType (150) of its report, and the other fields as the report must have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub id: String,
    pub exec_type: char,
    /// ExecID that a bust or a correction refers to; empty for a fill.
    pub reference: String,
    pub order: String,
    pub quantity: String,
    pub price: String,
}

/// A received report: its fields as QuickFIX/J read them, empty if absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    is_duplicate: bool,
    is_resend: bool,
    fields: Fields,
}

/// Fields that are the same in each repetition of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fields {
    execution: Execution,
    status: char,
    cum: i128,
    average: i128,
    leaves: i128,
}

/// How a repetition is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// PossDupFlag (43).
    Duplicate,
    /// PossResend (97).
    Resend,
}

/// Reports by ExecType, and their orders.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    by_type: BTreeMap<char, u64>,
    orders: u64,
}

impl Execution {
    /// Rows of the file, in its order. A bust directly before a correction is part of it.
    pub fn of_csv(text: &str) -> Result<Vec<Execution>> {
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next().context("no heading")?.split(',').collect();
        let mut executions: Vec<Execution> = Vec::new();
        let mut owners = BTreeMap::new();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let cell = |name: &str| {
                let place = columns.iter().position(|column| *column == name);
                let cell = place.and_then(|place| cells.get(place));
                cell.with_context(|| format!("no {name}: {line}"))
            };
            let (order, exec_id) = (*cell("clordid")?, *cell("exec_id")?);
            let id = format!("{}-{exec_id}", cell("bank")?);
            // A bank uses an ExecID again for another order.
            let id = match *owners.entry(id.clone()).or_insert(order) == order {
                true => id,
                false => format!("{order}/{exec_id}"),
            };
            let kind = *cell("kind")?;
            let (id, exec_type, reference) = match kind {
                "bust" => (format!("{id}-H"), 'H', id),
                "correct" => {
                    let reversed = executions.pop();
                    let reversed = reversed.filter(|reversed| reversed.exec_type == 'H');
                    let reversed = reversed.context("a correction without a bust")?;
                    (id, 'G', reversed.reference)
                }
                _ => (id, 'F', String::new()),
            };
            executions.push(Execution {
                id,
                exec_type,
                reference,
                order: order.to_string(),
                quantity: cell("qty")?.to_string(),
                price: cell("price")?.to_string(),
            });
        }
        Ok(executions)
    }
}

impl Received {
    /// Reads the file of a back office; a line that is not complete yet is left out.
    pub fn all(text: &str) -> Result<Vec<Received>> {
        let lines = text.split_inclusive('\n');
        let lines = lines.filter(|line| line.ends_with('\n'));
        lines
            .map(|line| Received::read(line).with_context(|| format!("cannot be read: {line}")))
            .collect()
    }

    fn read(line: &str) -> Option<Received> {
        let cells: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
        let [
            duplicate,
            resend,
            id,
            exec_type,
            status,
            order,
            reference,
            quantity,
            price,
            cum,
            average,
            leaves,
        ] = cells[..]
        else {
            return None;
        };
        let execution = Execution {
            id: id.to_owned(),
            exec_type: exec_type.parse().ok()?,
            reference: reference.to_owned(),
            order: order.to_owned(),
            quantity: quantity.to_owned(),
            price: price.to_owned(),
        };
        Some(Received {
            is_duplicate: duplicate == "Y",
            is_resend: resend == "Y",
            fields: Fields {
                execution,
                status: status.parse().ok()?,
                cum: cum.parse().ok()?,
                average: scaled(average)?,
                leaves: leaves.parse().ok()?,
            },
        })
    }

    fn id(&self) -> &str {
        &self.fields.execution.id
    }

    fn is_marked(&self, kind: Repetition) -> bool {
        match kind {
            Repetition::Duplicate => self.is_duplicate && !self.is_resend,
            Repetition::Resend => self.is_resend && !self.is_duplicate,
        }
    }
}

/// Executions that were not received.
pub fn missing(executions: &[Execution], received: &[Received]) -> usize {
    let ids: BTreeSet<&str> = received.iter().map(Received::id).collect();
    let executions = executions.iter();
    executions
        .filter(|one| !ids.contains(one.id.as_str()))
        .count()
}

/// Reports in the order in which each came first. A repeated report is marked PossDupFlag, and is otherwise equal.
pub fn once(received: &[Received]) -> Result<Vec<Received>> {
    let mut first: BTreeMap<&str, &Received> = BTreeMap::new();
    let mut all = Vec::new();
    for report in received {
        match first.insert(report.id(), report) {
            None => all.push(report.clone()),
            Some(other) => {
                ensure!(report.is_duplicate, "came again, unmarked: {report:?}");
                ensure!(
                    report.fields == other.fields,
                    "came again as {report:?}, and was {other:?}"
                );
            }
        }
    }
    Ok(all)
}

/// Checks that the received reports are the executions and the ends of orders, that totals are those of the reports
/// before, and that every order has ended.
pub fn agree(executions: &[Execution], received: &[Received]) -> Result<Totals> {
    let expected = executions.iter().map(|one| (one.id.as_str(), one));
    let mut expected: BTreeMap<&str, &Execution> = expected.collect();
    ensure!(expected.len() == executions.len(), "two rows of one ExecID");
    let mut totals = Totals::default();
    let mut orders: BTreeMap<String, Order> = BTreeMap::new();
    let all = once(received)?;
    for report in &all {
        let one = &report.fields.execution;
        match one.exec_type {
            'F' | 'G' | 'H' => {
                let row = expected.remove(one.id.as_str());
                ensure!(
                    row == Some(one),
                    "received {one:?}, and fills.csv has {row:?}"
                );
            }
            '4' | '8' | 'C' => {
                let id = format!("{}-{}", one.order, one.exec_type);
                ensure!(one.id == id, "the end of an order: {report:?}");
            }
            other => bail!("ExecType {other}: {report:?}"),
        }
        *totals.by_type.entry(one.exec_type).or_default() += 1;
        let order = orders.entry(one.order.clone()).or_default();
        order.take(report, &all)?;
    }
    ensure!(expected.is_empty(), "not received: {expected:?}");
    for (id, order) in &orders {
        ensure!(order.has_ended, "order {id} is open after its last report");
    }
    totals.orders = orders.len() as u64;
    Ok(totals)
}

/// The reports come again in the same order, each marked like this.
pub fn repeats(reports: &[Received], again: &[Received], kind: Repetition) -> Result<()> {
    ensure!(reports.len() == again.len(), "too many reports came again");
    for (report, again) in reports.iter().zip(again) {
        ensure!(again.is_marked(kind), "not marked {kind:?}: {again:?}");
        ensure!(
            report.fields == again.fields,
            "came again as {again:?}, and was {report:?}"
        );
    }
    Ok(())
}

/// An order by its reports.
#[derive(Default)]
struct Order {
    quantity: i128,
    /// In units times 10^-9 of the price.
    cost: i128,
    has_ended: bool,
}

impl Order {
    /// Takes the next report: its totals must be those of the executions up to it.
    fn take(&mut self, report: &Received, all: &[Received]) -> Result<()> {
        let fields = &report.fields;
        let one = &fields.execution;
        let mut book = |one: &Execution, sign: i128| -> Result<()> {
            let quantity: i128 = one.quantity.parse().context("LastQty")?;
            let price = scaled(&one.price).context("LastPx")?;
            self.quantity += sign * quantity;
            self.cost += sign * quantity * price;
            Ok(())
        };
        match one.exec_type {
            'F' => book(one, 1)?,
            'H' => book(one, -1)?,
            'G' => {
                let old = all.iter().find(|other| other.id() == one.reference);
                book(
                    &old.context("a correction of nothing")?.fields.execution,
                    -1,
                )?;
                book(one, 1)?;
            }
            _ => {}
        }
        ensure!(fields.cum == self.quantity, "CumQty: {report:?}");
        let difference = (fields.average * fields.cum - self.cost).abs();
        ensure!(2 * difference <= fields.cum, "AvgPx: {report:?}");
        self.has_ended = "248C".contains(fields.status) && fields.leaves == 0;
        Ok(())
    }
}

impl Totals {
    /// Numbers are those of the banks' ledgers, and each kind occurred.
    pub fn is_of(&self, ledgers: &[Value]) -> Result<()> {
        let count = |name: &str| -> u64 {
            let counts = ledgers.iter().filter_map(|ledger| ledger[name].as_u64());
            counts.sum()
        };
        for (exec_type, name) in [
            ('F', "fills"),
            ('G', "corrects"),
            ('H', "busts"),
            ('8', "rejects"),
        ] {
            let received = self.of(exec_type);
            let at_banks = count(name);
            ensure!(
                received == at_banks,
                "{received} reports of ExecType {exec_type}, and {at_banks} {name} in the banks' ledgers"
            );
        }
        let (orders, at_banks) = (self.orders, count("orders"));
        ensure!(
            orders == at_banks,
            "reports of {orders} orders, and the banks' ledgers have {at_banks}"
        );
        for exec_type in ['F', 'G', 'H', '4', '8'] {
            ensure!(
                self.of(exec_type) > 0,
                "no report of ExecType {exec_type} in this run"
            );
        }
        Ok(())
    }

    fn of(&self, exec_type: char) -> u64 {
        self.by_type.get(&exec_type).copied().unwrap_or(0)
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [fills, corrections, busts, cancels, rejects] =
            ['F', 'G', 'H', '4', '8'].map(|kind| self.of(kind));
        write!(
            out,
            "{fills} fills, {corrections} corrections, {busts} busts, {cancels} cancels, {rejects} rejects of {} orders",
            self.orders
        )
    }
}

/// A decimal in units of 10^-9.
fn scaled(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<9}");
    (fraction.len() <= 9).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLS: &str = "t,clordid,bank,exec_id,kind,qty,price\n\
        1,T-1,A,X1,fill,1000,1.1\n2,T-1,A,X2,fill,2000,1.2\n3,T-1,A,X1,bust,1000,1.1\n3,T-1,A,X3,correct,1000,1.3\n\
        4,T-1,A,X2,bust,2000,1.2\n";
    const REPORTS: [&str; 5] = [
        "\t\tA-X1\tF\t1\tT-1\t\t1000\t1.1\t1000\t1.1\t2000\n",
        "\t\tA-X2\tF\t2\tT-1\t\t2000\t1.2\t3000\t1.166666667\t0\n",
        "\t\tA-X3\tG\t2\tT-1\tA-X1\t1000\t1.3\t3000\t1.233333333\t0\n",
        "\t\tA-X2-H\tH\t4\tT-1\tA-X2\t2000\t1.2\t1000\t1.3\t0\n",
        "\t\tT-2-8\t8\t8\tT-2\t\t\t\t0\t0\t0\n",
    ];

    fn judged(reports: &[String]) -> Result<Totals> {
        agree(
            &Execution::of_csv(FILLS)?,
            &Received::all(&reports.concat())?,
        )
    }

    /// Reports of the rows agree; any lost, changed, repeated or additional report does not.
    #[test]
    fn a_difference_of_one_field_is_detected() {
        let good = REPORTS.map(str::to_owned).to_vec();
        let totals = judged(&good).unwrap();
        assert_eq!((totals.orders, totals.of('F'), totals.of('8')), (2, 2, 1));
        for lost in 0..4 {
            let mut reports = good.clone();
            reports.remove(lost);
            assert!(judged(&reports).is_err(), "{lost}");
        }
        for (place, from, to) in [
            (0, "1000\t1.1\t", "1000\t1.2\t"),
            (0, "\tF\t", "\tG\t"),
            (1, "\t3000\t", "\t3001\t"),
            (1, "1.166666667", "1.166666669"),
            (2, "A-X1", "A-X2"),
            (3, "\t4\t", "\t1\t"),
            (4, "T-2-8", "T-2-4"),
            (4, "\t0\n", "\t5\n"),
        ] {
            let mut reports = good.clone();
            assert!(reports[place].contains(from));
            reports[place] = reports[place].replacen(from, to, 1);
            assert!(judged(&reports).is_err(), "{place}: {to}");
        }
        let mut reports = good.clone();
        reports.push(good[0].clone());
        assert!(judged(&reports).is_err(), "came twice, unmarked");
        reports[5] = format!("Y{}", good[0]);
        assert_eq!(judged(&reports).unwrap(), totals);
        reports[5] = reports[5].replace("1.1\t2000", "1.1\t1000");
        assert!(judged(&reports).is_err(), "came again, changed");
    }

    /// A repetition has the right mark, and everything.
    #[test]
    fn a_repetition_is_complete_and_marked() {
        let reports = Received::all(&REPORTS.concat()).unwrap();
        let marked: String = REPORTS.iter().map(|line| format!("Y{line}")).collect();
        let marked = Received::all(&marked).unwrap();
        assert!(repeats(&reports, &marked, Repetition::Duplicate).is_ok());
        assert!(repeats(&reports, &marked, Repetition::Resend).is_err());
        assert!(repeats(&reports, &marked[1..], Repetition::Duplicate).is_err());
        assert!(repeats(&reports, &reports, Repetition::Duplicate).is_err());
    }
}

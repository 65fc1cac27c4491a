//! Checks of a settled simulation: the engine and the banks agree, and no order was traded twice. Limits are checked
//! before as well.

use super::rules::others;
use super::watch::parent_of;
use super::weeks;
use super::world::World;
use crate::execution::recovery::recover_from;
use std::collections::HashMap;
use touchline_fx::Engine;
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Place;
use touchline_fx_events::ticks;
use touchline_types::Id;

/// Checks a settled world.
pub fn check(world: &mut World) -> Result<(), String> {
    agree(world, world.engine())?;
    if world.weeks.is_some() {
        weeks::agree(world)?;
    }
    never_twice(world)?;
    again(world)
}

/// Orders, positions and cash of the engine are those of the banks' own books.
fn agree(world: &World, engine: &Engine) -> Result<(), String> {
    for (place, bank) in world.banks.iter().enumerate() {
        let books = bank.desk.books();
        if books.duplicates > 0 {
            return Err(format!(
                "{} orders arrived twice at bank {place}",
                books.duplicates
            ));
        }
        if books.dont_knows > 0 && books.contradictions.is_empty() {
            return Err(format!(
                "{} trades of bank {place} were refused",
                books.dont_knows
            ));
        }
        for deal in bank.desk.deals() {
            let at = engine
                .trading()
                .orders()
                .of_id(&Id::lossy(deal.id.as_bytes()));
            let order = at.map(|at| engine.trading().orders().get(at));
            let cum = order.map(|order| order.cum());
            if cum != Some(deal.cum) {
                let (id, traded) = (deal.id, deal.cum);
                return Err(format!(
                    "order {id}: bank {place} traded {traded}, the engine knows {cum:?}"
                ));
            }
        }
    }
    for pair in 0..world.pairs() {
        let books = world.banks.iter().map(|bank| bank.desk.books().of(pair));
        let (units, cash) = books.fold((0, 0), |(units, cash), book| {
            (units + book.position, cash + book.cash)
        });
        let (booked, booked_cash) = world.booked(pair);
        let units = units + booked;
        let of_engine = world.pairs_before() + pair;
        let position = engine.trading().positions().of(of_engine);
        // Ledgers of banks are in ticks.
        let cash = cash * i128::from(ticks::tick(world.setup.pairs[of_engine].config.precision));
        let cash = cash + booked_cash;
        if (position.units, position.cash) != (units, cash) {
            return Err(format!(
                "pair {pair}: the banks have {units} and {cash}, the engine has {position:?}"
            ));
        }
    }
    Ok(())
}

/// Checks that no parent traded more than the desk wanted, except with a bank that contradicted itself.
fn never_twice(world: &World) -> Result<(), String> {
    let mut traded: HashMap<&str, i64> = HashMap::new();
    for deal in world.banks.iter().flat_map(|bank| bank.desk.deals()) {
        let parent = parent_of(deal.id).ok_or("an order without a parent")?;
        *traded.entry(parent).or_default() += deal.cum - deal.after_end;
    }
    let machine = world.machine.borrow();
    for (name, traded) in traded {
        let wanted = machine
            .watch
            .parents
            .get(name)
            .map_or(0, |parent| parent.quantity);
        if traded > wanted {
            return Err(format!("parent {name}: {traded} were traded of {wanted}"));
        }
    }
    Ok(())
}

/// Checks that positions are within their limit, at every moment. The engine cannot limit busts, fills after an end,
/// and orders that only the desk knows. A trade that the desk booked without an order counts for the engine, but the
/// banks do not know it.
pub fn limits(world: &World) -> Result<(), String> {
    if world.counts.released_with_lost > 0 {
        return Ok(());
    }
    let mut books = world.banks.iter().map(|bank| bank.desk.books());
    if books.any(|books| books.busts + books.after_end > 0) {
        return Ok(());
    }
    let pairs = &world.scenario.engine.pairs[world.pairs_before()..];
    for (pair, config) in pairs.iter().enumerate() {
        let banks = world.banks.iter();
        let units: i64 = banks.map(|bank| bank.desk.books().of(pair).position).sum();
        let most = config.max_net;
        let (bought, sold) = world.booked_sides(pair);
        if units > most + sold || units < -most - bought {
            return Err(format!(
                "pair {pair}: a position of {units}, the limit is {most}; the desk booked {bought} and -{sold}"
            ));
        }
    }
    Ok(())
}

/// While killed: the bank of each order that may be live was asked to cancel it on the present connection, in every
/// state of the order.
pub fn cancels(world: &World) -> Result<(), String> {
    let Some(core) = world.awake() else {
        return Ok(());
    };
    let engine = &core.engine;
    if !engine.trading().is_killed() {
        return Ok(());
    }
    for at in engine.trading().orders().live() {
        let terms = &engine.trading().orders().get(*at).terms;
        let session = &core.banks[terms.bank].session;
        // A cancel for which the kernel has no room waits.
        let is_up = engine.trading().is_order_session_up(terms.bank) && session.is_up();
        let is_up = is_up && !session.has_unsent();
        let id = terms.id.as_str();
        if is_up && !world.machine.borrow().watch.has_canceled(terms.bank, id) {
            let state = engine.trading().orders().get(*at).state();
            return Err(format!(
                "killed, and nobody asked to cancel {id}, {state:?}"
            ));
        }
    }
    Ok(())
}

/// A further start finds the same state, and the lines that a reader took.
fn again(world: &mut World) -> Result<(), String> {
    let before = world.engine().clone();
    world.end_process();
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let recovered = {
        let machine = &mut *world.machine.borrow_mut();
        let wall_ns = machine.wall_ns();
        let started = machine.journal.start(wall_ns);
        started.map_err(|error| format!("no last start: {error}"))?;
        let journal = &mut machine.journal;
        recover_from(&world.setup, |each| {
            journal.read(|entry| {
                each(entry);
                if entry.head.kind == records::kind::BATCH {
                    parts.push(entry.body.to_vec());
                }
            })
        })
    };
    let recovered = recovered.map_err(|error| format!("no last recovery: {error}"))?;
    agree(world, &recovered.engine)?;
    same_orders(world, &before, &recovered.engine)?;
    by_other_rules(world, &recovered.engine)?;
    match world.counts.power_losses + world.counts.journal_failures {
        0 => readers(world, &parts),
        // Published events are lost with the end of the journal.
        _ => Ok(()),
    }
}

/// The rules of the configuration do not change the past: with others the records give the same orders and parents.
fn by_other_rules(world: &World, found: &Engine) -> Result<(), String> {
    let journal = &mut world.machine.borrow_mut().journal;
    let other = recover_from(&others(&world.setup), |each| {
        journal.read(|entry| each(entry))
    });
    let other = other.map_err(|error| format!("no recovery by other rules: {error}"))?;
    let [orders, others] = [found, &other.engine].map(|engine| {
        let orders = engine.trading().orders().iter();
        orders
            .map(|order| (order.state(), order.cum()))
            .collect::<Vec<_>>()
    });
    let [parents, other_parents] = [found, &other.engine].map(|engine| {
        let parents = engine.trading().parents();
        let of = |at| {
            let parent = parents.get(at);
            (parent.is_working(), parent.open(), parent.exposure().done())
        };
        (0..parents.count()).map(of).collect::<Vec<_>>()
    });
    match orders == others && parents == other_parents {
        true => Ok(()),
        false => Err("other rules of banks and rolls change the past".to_owned()),
    }
}

fn same_orders(world: &World, before: &Engine, after: &Engine) -> Result<(), String> {
    for order in before.trading().orders().iter() {
        let found = after.trading().orders().of_id(&order.terms.id);
        let found = found.map(|at| after.trading().orders().get(at));
        let found = found.map(|order| (order.state(), order.cum()));
        let now = (order.state(), order.cum());
        // An order that could not be journaled was not sent.
        let is_none = found.is_none() && !world.machine.borrow().watch.has_sent(&order.terms.id);
        if found != Some(now) && !is_none {
            let id = order.terms.id.as_str();
            return Err(format!(
                "order {id}: {now:?} before the last start, {found:?} after it"
            ));
        }
    }
    Ok(())
}

/// A reader that followed the drop copy has each batch of the journal, under its number.
fn readers(world: &World, parts: &[Vec<u8>]) -> Result<(), String> {
    let machine = world.machine.borrow();
    for part in parts {
        let number = Place::of(part).ok_or("no part of a batch")?.first;
        let taken = machine.watch.parts.get(&number);
        if taken.is_some_and(|taken| taken != part) {
            return Err(format!(
                "batch {number} is {part:?}, a reader took {taken:?}"
            ));
        }
    }
    Ok(())
}

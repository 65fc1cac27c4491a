//! Rules that a simulation must need: of trading, by seeds (`touchline-fx-live`), and of crashes of a journal
//! (`touchline-journal`, `src/model.rs`). Some break the simulated surroundings of the engine, which its rules rely on.

use super::Mutant;

/// Runs of the crash model.
const CRASHES: &str =
    "-p touchline-journal --lib no_crash_loses_a_durable_record_or_is_taken_for_damage";
/// The first 200 seeds of trading.
const TRADING: &str =
    "FAILURES=1 -p touchline-fx-live --lib seeds_execute_nothing_twice_and_lose_no_fill";
/// Further seeds of trading, for faults that few seeds find.
const TRADING_FROM_200: &str = "FAILURES=1 SEED=200 SEEDS=100 -p touchline-fx-live --lib seeds_execute_nothing_twice_and_lose_no_fill";
/// Few seeds die between a failure of the journal and the record of its kill.
const TRADING_FROM_5400: &str = "FAILURES=1 SEED=5400 SEEDS=100 -p touchline-fx-live --lib seeds_execute_nothing_twice_and_lose_no_fill";
const TRADING_FROM_1000: &str = "FAILURES=1 SEED=1000 SEEDS=100 -p touchline-fx-live --lib seeds_execute_nothing_twice_and_lose_no_fill";

/// Rules that a simulation must need.
pub const SIMULATION: &[Mutant] = &[
    Mutant {
        name: "simulation: bodies are not checked",
        find: "body_crc(body) != head.body_crc",
        replace: "false",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: heads are not checked",
        find: "u32_at(bytes, 4) != head_crc(bytes, salt, offset)",
        replace: "false",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: nothing is searched behind the first frame of length zero",
        find: "let used = segment.used_from(offset);",
        replace: "let used = offset; if true { return info_behind(segment, SegmentState::Prepared); }",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: claims of frames are ignored",
        find: "head.claim(position)",
        replace: "head.claim(position).filter(|_| false)",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: the durable position moves before the sync",
        find: "for index in &self.dirty {",
        replace: "self.tail.set_durable(synced); for index in &self.dirty {",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a sync covers only the newest segment",
        find: "for index in &self.dirty {",
        replace: "for index in &self.dirty[self.dirty.len() - 1..] {",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a sync that failed is tried again",
        find: "self.disk.sync(&name).map_err(Error::io(\"sync\", &name))?;",
        replace: "if self.disk.sync(&name).is_err() { return Ok(()); }",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: names of files are not synced",
        find: "disk.sync_names().map_err(Error::io(\"sync the directory of\", &name))",
        replace: "Ok(())",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a segment behind a cut one is kept",
        find: "segment.index > last",
        replace: "false && segment.index > last",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: each frame claims that all before it is durable",
        find: "u32::try_from(behind).unwrap_or(NO_CLAIM)",
        replace: "0",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: files are not synced before they are continued",
        find: "disk.sync_names()",
        replace: "if true { return Ok(0); } disk.sync_names()",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: the page cache is not compared with the disk",
        find: "shown != stored",
        replace: "false",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: every sector is written again",
        find: "shown != stored",
        replace: "true",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a start ignores the tail",
        find: "tail.filter(same_boot)",
        replace: "tail.filter(same_boot).filter(|_| false)",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a start verifies the last segment alone",
        find: "claims_all_before(disk, &name, &header, &begin)?",
        replace: "true",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: zeros are written over records",
        find: "*segment == index",
        replace: "false",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a new file has the bytes of an old one",
        find: "let content = vec![0; length];",
        replace: "let mut old = state.files.iter().rev().map(|file| &file.disk);
                  let old = old.find(|disk| disk.len() == length);
                  let content = old.cloned().unwrap_or_else(|| vec![0; length]);",
        test: CRASHES,
    },
    // Without an `End`, and with the old epoch.
    Mutant {
        name: "simulation: a start continues the last segment",
        find: "if file_bytes < end.header.file_bytes {",
        replace: "if true { return Ok(done); } if file_bytes < end.header.file_bytes {",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a start continues the last segment",
        find: "let header = next_header(",
        replace: "if let Some(starting) = open_end(&judgement) { return Ok((starting, report)); } let header = next_header(",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: a start continues the last segment",
        find: "appender.put(",
        replace: "if start.cursor != Cursor::FIRST { return Ok(appender); } appender.put(",
        test: CRASHES,
    },
    // Bytes behind the records stay where they are, which loses nothing by itself.
    Mutant {
        name: "simulation: a start continues the last segment",
        find: "other => Err(",
        replace: "Verdict::Cut => Ok(found), other => Err(",
        test: CRASHES,
    },
    Mutant {
        name: "simulation: an order is sent before it is in the journal",
        find: "let is_passed_over = self.recorder.passes_over(&batch, cause, time.mono_ns);
               let journaled = match is_passed_over {
                   true => Ok(None),
                   false => {
                       self.write(&batch, cause, time);
                       self.recorder.append_batch(time.wall_ns)
                   }
               };
               let may_order = self.is_safe(&batch, &journaled);
               batch.stages.lap(Stage::Journal);
               self.send_decisions(&batch, may_order.is_ok(), journaled.is_ok(), time);",
        replace: "self.send_decisions(&batch, true, true, time);
                  let is_passed_over = self.recorder.passes_over(&batch, cause, time.mono_ns);
                  let journaled = match is_passed_over {
                      true => Ok(None),
                      false => {
                          self.write(&batch, cause, time);
                          self.recorder.append_batch(time.wall_ns)
                      }
                  };
                  let may_order = self.is_safe(&batch, &journaled);
                  batch.stages.lap(Stage::Journal);",
        test: TRADING_FROM_1000,
    },
    Mutant {
        name: "simulation: orders without an outcome are sent again",
        find: "if let Err(why) = may_order {",
        replace: "if let Cause::Session(bank, touchline_fx_events::event::SessionChange::Up) = cause {
                      let orders = self.engine.trading().orders();
                      let live = orders.live().iter().map(|at| orders.get(*at));
                      let unknown = live.filter(|order| order.state() == touchline_fx_events::orders::OrderState::Unknown);
                      let unknown: Vec<_> = unknown.map(|order| order.terms).filter(|terms| terms.bank == bank).collect();
                      for terms in unknown {
                          self.send_order(&terms, &Message::Order(terms), true, time);
                      }
                  }
                  if let Err(why) = may_order {",
        test: TRADING,
    },
    Mutant {
        name: "simulation: an order without an outcome is taken as rejected",
        find: "self.ask(at, step);",
        replace: "self.orders.change(at, |order| order.resolve());
                  self.order_line(at, OrderEvent::Report, None, None, step);
                  self.order_ended(at, None, step);",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a report is not in the journal",
        find: "self.batch.received(bank, bytes)",
        replace: "{ let _ = (bank, bytes); }",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a parent is not in the journal before its first order",
        find: "Event::Composite { .. } => continue,",
        replace: "Event::Composite { .. } | Event::Accepted { .. } => continue,",
        test: TRADING,
    },
    Mutant {
        name: "simulation: the kill switch is not in the journal",
        find: "Event::Composite { .. } => continue,",
        replace: "Event::Composite { .. } | Event::Kill { .. } => continue,",
        test: TRADING,
    },
    Mutant {
        name: "simulation: sequence numbers without an order are not in the journal",
        find: "= unjournaled {",
        replace: "= unjournaled.filter(|_| false) {",
        test: TRADING,
    },
    Mutant {
        name: "simulation: entries are published before they are in the journal",
        find: "let mut last = None;",
        replace: "self.publish(self.next); let mut last = None;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: entries are published before they are in the journal",
        find: "self.publish(self.next);",
        replace: "",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a message waits behind a resend in a store that keeps none",
        find: "false",
        replace: "true",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a standby starts from what it had applied before",
        find: "self.follow(journal)?;",
        replace: "let _ = journal;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a standby is promoted while the engine is frozen",
        find: "self.counts.refused_promotions += 1;",
        replace: "self.rival = self.process.take();
                  for bank in &mut self.banks {
                      bank.line.borrow_mut().engine_died(self.now_ns, false);
                  }
                  self.machine.borrow_mut().journal.kill();
                  self.start_ns = self.now_ns;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: banks are not asked for orders after a reboot",
        find: "recovered.may_lack_orders()",
        replace: "false",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a report of a lost order is refused",
        find: "Desk::Reboot { epoch }",
        replace: "Desk::Reboot { epoch: 0 }",
        test: TRADING,
    },
    Mutant {
        name: "simulation: the number of an order leaves out the questions before it",
        find: "*ahead += 1;",
        replace: "*ahead += u64::from(matches!(line.message, Some(touchline_fx_events::event::Message::Order(_))));",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a pair has no limit of its net position",
        find: "net > pair.max_net",
        replace: "false",
        test: TRADING_FROM_200,
    },
    Mutant {
        name: "simulation: a bank has no limit of its orders in a second",
        find: "sent < setup.banks[bank].config.max_orders_per_s",
        replace: "sent < usize::MAX",
        test: TRADING,
    },
    Mutant {
        name: "simulation: quotes of a silent bank count",
        find: "let silent_ns = after(stream.heard_ns, config.silence_ms);",
        replace: "let silent_ns = after(stream.heard_ns, 0);",
        test: TRADING,
    },
    Mutant {
        name: "simulation: quotes of a silent bank count",
        find: "true => after(stream.heard_ns, setup.banks[bank].config.silence_ms),",
        replace: "true => after(stream.heard_ns, 0),",
        test: TRADING,
    },
    Mutant {
        name: "simulation: quotes of a silent bank count",
        find: "now_ns < after(stream.heard_ns, config.silence_ms)",
        replace: "now_ns < after(stream.heard_ns, 0)",
        test: TRADING,
    },
    Mutant {
        name: "simulation: stale quotes count",
        find: "self.quoted_ns[slot].map_or(NEVER, |quoted_ns| after(quoted_ns, config.stale_ms))",
        replace: "self.quoted_ns[slot].map_or(NEVER, |quoted_ns| after(quoted_ns, 0))",
        test: TRADING,
    },
    Mutant {
        name: "simulation: stale quotes count",
        find: "now_ns < after(quoted_ns, config.stale_ms)",
        replace: "now_ns < after(quoted_ns, 0)",
        test: TRADING,
    },
    Mutant {
        name: "simulation: orders ignore the limit price of their parent",
        find: "let terms = commands::terms(self.engine.setup(), order);",
        replace: "let mut terms = commands::terms(self.engine.setup(), order);
                  if let Ok(terms) = &mut terms { terms.limit = None; }",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a disputed order is taken as ended",
        find: "self.state = Disputed;",
        replace: "self.state = Canceled;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: orders in doubt are not canceled",
        find: "self.banks.fill(line.bank);",
        replace: "let is_in_doubt = line.status.is_some_and(|status| status.state.is_doubtful());
                  if is_in_doubt && matches!(message, Message::Cancel { .. }) { continue; }
                  self.banks.fill(line.bank);",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a booking of the desk is not in the journal",
        find: "= command.decision {",
        replace: "= command.decision.filter(|decision| !matches!(decision, touchline_fx_events::desk::Desk::Book { .. })) {",
        test: TRADING,
    },
    Mutant {
        name: "simulation: commands are executed and orders sent without a record",
        find: "!has_journal && needs_record(Some(kind))",
        replace: "false",
        test: TRADING,
    },
    Mutant {
        name: "simulation: commands are executed and orders sent without a record",
        find: "may_order && !self.recorder.is_dead()",
        replace: "true",
        test: TRADING,
    },
    Mutant {
        name: "simulation: commands are executed and orders sent without a record",
        find: "self.out.give_up();",
        replace: "self.out.give_up(); self.is_dead = false;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: commands are executed and orders sent without a record",
        find: "self.kill(\"auto:journal\", time);",
        replace: "",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a start executes commands of before",
        find: "request < self.began_ns ||",
        replace: "",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a kill is lost with the journal that could not record it",
        find: "self.start.had_failed && !self.engine.trading().is_killed()",
        replace: "false",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a failure is forgotten before the kill is recorded",
        find: "self.handle(time, &Input::Desk(desk));",
        replace: "self.recorder.failure_recorded(); self.handle(time, &Input::Desk(desk));",
        test: TRADING_FROM_5400,
    },
    Mutant {
        name: "simulation: the file of a kill is removed before the kill is recorded",
        find: "let command = Ok(Command::Kill);",
        replace: "self.traders.kill_files[client] = None; let command = Ok(Command::Kill);",
        test: TRADING,
    },
    Mutant {
        name: "simulation: a step of the wall clock is ignored",
        find: "self.wall_ahead_ns = wall_ahead_ns;",
        replace: "if true { return; } self.wall_ahead_ns = wall_ahead_ns;",
        test: TRADING,
    },
    Mutant {
        name: "simulation: ages run on the wall clock",
        find: "self.offset_ns",
        replace: "self.watch.offset_ns()",
        test: TRADING,
    },
    Mutant {
        name: "lab: a desk that starts again does not know a lost order",
        find: "self.keep_id(id);",
        replace: "",
        test: "-p touchline-lab --test lab an_order_that_is_sent_again_is_counted_whatever_became_of_the_first",
    },
    Mutant {
        name: "lab: a killed desk that drops orders keeps them",
        find: "if self.drops_orders {",
        replace: "if self.drops_orders && false {",
        test: "-p touchline-lab --test lab a_killed_desk_that_drops_orders_fills_none_of_them_after_its_start",
    },
];

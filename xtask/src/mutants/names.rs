//! Faults around names of a bus that are taken away while it is written.

use super::Mutant;

/// All of them.
pub const NAMES: &[Mutant] = &[
    Mutant {
        name: "names: the directory has no lock",
        find: "if flock::try_lock(&folder).map_err(failed())? {",
        replace: "if flock::try_lock(&folder).map_err(failed())? || true {",
        test: "-p touchline-shm --test shm names::a_removed_lock_file_is_not_locked_again_while_the_writer_lives",
    },
    Mutant {
        name: "names: a removed lock file counts as held",
        find: "if let Some(path) = lock.lost_name() {",
        replace: "if let Some(path) = lock.lost_name().filter(|_| false) {",
        test: "-p touchline-shm --test shm a_lock_removed_during_acquisition_has_one_holder",
    },
    Mutant {
        name: "names: the writer does not check its directory",
        find: "[&self.folder.name, &self.file_name]",
        replace: "[&self.file_name, &self.file_name]",
        test: "-p touchline-shm --test shm names::a_lost_name_is_detected",
    },
    Mutant {
        name: "names: a file in use is written by a second one",
        find: "if options.readers_write {",
        replace: "if true || options.readers_write {",
        test: "-p touchline-shm --test shm names::a_file_in_use_has_no_second_writer_wherever_it_is",
    },
    Mutant {
        name: "names: a file of a process that is just dying stays in use",
        find: "if Instant::now() >= deadline {",
        replace: "if true || Instant::now() >= deadline {",
        test: "-p touchline-shm --test shm names::a_file_in_use_has_no_second_writer_wherever_it_is",
    },
    Mutant {
        name: "names: a file in use is left to a second one and removed",
        find: "Err(in_use @ segment::Error::InUse { .. }) =>",
        replace: "Err(in_use @ segment::Error::InUse { .. }) if false =>",
        test: "-p touchline-transport --test bus names::a_ring_in_use_is_not_taken_over",
    },
    Mutant {
        name: "names: only a removed name is detected, not one that leads elsewhere",
        find: "Ok(stat) => Identity::from(&stat) != self.identity,",
        replace: "Ok(_) => false,",
        test: "-p touchline-shm --test shm names::a_removed_or_replaced_file_is_detected",
    },
    Mutant {
        name: "names: a directory is removed that took another one's place",
        find: "?.is_lost() {",
        replace: "?.is_lost() && false {",
        test: "-p touchline-shm --test shm names::a_moved_directory_is_removed_and_not_its_replacement",
    },
    Mutant {
        name: "names: the publisher does not check its lock",
        find: "Damage::of_name(self.lock.lost_name())?;",
        replace: "",
        test: "-p touchline-transport --test bus names::a_publisher_detects_a_lost_name_and_its_readers_find_the_next_one",
    },
    Mutant {
        name: "names: the publisher does not check its ring",
        find: "Damage::of_file(self.ring.memory())?;",
        replace: "",
        test: "-p touchline-transport --test bus names::a_publisher_detects_a_lost_name_and_its_readers_find_the_next_one",
    },
    Mutant {
        name: "names: the publisher does not check its tables",
        find: "self.tables.check()",
        replace: "Ok(())",
        test: "-p touchline-transport --test bus names::a_publisher_detects_a_lost_name_and_its_readers_find_the_next_one",
    },
    Mutant {
        name: "names: the gateway does not check that its bus exists",
        find: "self.pipeline.publisher_mut().check()?;",
        replace: "",
        test: "-p touchline --test system names::a_gateway_whose_files_are_removed_ends_and_the_next_one_starts",
    },
    Mutant {
        name: "names: a replay does not check that its bus exists",
        find: "pipeline.publisher_mut().check()?;",
        replace: "",
        test: "-p touchline --test system names::a_replay_whose_bus_is_removed_ends_with_an_error",
    },
];

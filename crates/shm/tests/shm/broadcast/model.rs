//! The ring compared with a slow and simple model: a list of frames and three numbers.

use super::{Memory, NEAR_ENDS, seeds};
use touchline_shm::broadcast::{Flags, Geometry, JoinPoint, Overrun, Reader, RingEvent, Writer};
use touchline_shm::zeroed;
use touchline_testing::random::Random;

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Message {
        sequence: u64,
        bytes: Vec<u8>,
        flags: Flags,
    },
    Padding,
    Generation(u64),
}

/// The stream since its start; positions and sequences count from 0.
#[derive(Debug)]
struct Model {
    capacity: u64,
    block: u64,
    /// Start, kind and end of each frame.
    frames: Vec<(u64, Content, u64)>,
    next: JoinPoint,
    watermark: u64,
    join_point: JoinPoint,
    generation: u64,
}

/// Result of a read in the model.
#[derive(Debug, PartialEq)]
enum Given {
    Nothing,
    Message {
        sequence: u64,
        bytes: Vec<u8>,
        flags: Flags,
    },
    Generation(u64),
    Overrun(Overrun),
}

impl Model {
    fn begin(capacity: u64) -> Model {
        let mut model = Model {
            capacity,
            block: (capacity / 8).min(32 * 1024),
            frames: Vec::new(),
            next: JoinPoint::default(),
            watermark: 0,
            join_point: JoinPoint::default(),
            generation: 0,
        };
        model.new_writer();
        model
    }

    /// Claims space for a message that may be dropped.
    fn claim(&mut self, length: usize) {
        let frame = 8 + (length as u64).next_multiple_of(8);
        let rest = self.capacity - self.next.position % self.capacity;
        if frame > rest {
            self.announce(rest);
            self.push(Content::Padding, rest);
        }
        self.announce(frame);
    }

    fn announce(&mut self, frame: u64) {
        let end = self.next.position + frame + 8;
        if end > self.watermark {
            self.watermark = end.next_multiple_of(self.block);
            self.join_point = self.next;
        }
    }

    fn push(&mut self, content: Content, bytes: u64) {
        let begin = self.next.position;
        self.next.position += bytes;
        self.frames.push((begin, content, self.next.position));
    }

    fn publish(&mut self, bytes: &[u8], flags: Flags) {
        self.claim(bytes.len());
        let content = Content::Message {
            sequence: self.next.sequence,
            bytes: bytes.to_vec(),
            flags,
        };
        self.push(content, 8 + (bytes.len() as u64).next_multiple_of(8));
        self.next.sequence += 1;
    }

    fn new_writer(&mut self) {
        self.claim(8);
        self.generation += 1;
        self.push(Content::Generation(self.generation), 16);
        self.join_point = self.next;
    }

    /// Result of a read at `at`, and the next position.
    fn read(&self, at: &mut JoinPoint) -> Given {
        if self.watermark > at.position + self.capacity {
            let before = *at;
            *at = self.join_point;
            return Given::Overrun(Overrun {
                bytes: at.position - before.position,
                messages: at.sequence - before.sequence,
            });
        }
        let Ok(index) = self
            .frames
            .binary_search_by_key(&at.position, |frame| frame.0)
        else {
            return Given::Nothing;
        };
        let (_, content, end) = &self.frames[index];
        at.position = *end;
        match content.clone() {
            Content::Padding => self.read(at),
            Content::Generation(generation) => Given::Generation(generation),
            Content::Message {
                sequence,
                bytes,
                flags,
            } => {
                at.sequence += 1;
                Given::Message {
                    sequence,
                    bytes,
                    flags,
                }
            }
        }
    }
}

fn read(reader: &mut Reader<Memory>, origin: JoinPoint) -> Given {
    let taken = reader.read(|frame| {
        let mut words = vec![0; frame.len().div_ceil(8)];
        frame.copy_to(&mut words);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(frame.len());
        Given::Message {
            sequence: frame.sequence.wrapping_sub(origin.sequence),
            bytes,
            flags: frame.flags,
        }
    });
    match taken {
        Ok(message) => message.unwrap_or(Given::Nothing),
        Err(RingEvent::Generation(generation)) => Given::Generation(generation),
        Err(RingEvent::Overrun(overrun)) => Given::Overrun(overrun),
        Err(event) => panic!("{event:?}"),
    }
}

fn session(seed: u64, steps: usize) -> u64 {
    let mut random = Random::from_seed(seed);
    let geometry = Geometry::new(64 << random.below(if cfg!(miri) { 2 } else { 8 })).unwrap();
    let memory = zeroed(geometry.words());
    // The model's positions start at a complete lap.
    let near = random.pick(&NEAR_ENDS);
    let origin = JoinPoint {
        position: near.position & !(geometry.capacity() - 1),
        ..*near
    };
    let mut writer = Writer::create_at(memory.clone(), geometry, origin).unwrap();
    let mut model = Model::begin(geometry.capacity());
    let mut readers: Vec<(Reader<Memory>, JoinPoint)> = Vec::new();
    let mut laps = 0;
    for step in 0..steps {
        match random.below(20) {
            0 => {
                drop(writer);
                writer = Writer::resume(memory.clone()).unwrap();
                model.new_writer();
            }
            1 if readers.len() < 6 => {
                readers.push((Reader::attach(memory.clone()).unwrap(), model.join_point));
            }
            2 => {
                let length = random.index(geometry.message_max() + 1);
                writer.claim(length).unwrap().write(&vec![0xff; length]);
                model.claim(length);
            }
            3..12 => {
                let bytes: Vec<u8> = (0..random.index(geometry.message_max() + 1))
                    .map(|_| random.next_u64() as u8)
                    .collect();
                let flags = Flags(random.below(16) as u8);
                writer.publish(&bytes, flags).unwrap();
                model.publish(&bytes, flags);
            }
            _ if readers.is_empty() => {}
            _ => {
                let index = random.index(readers.len());
                let (reader, at) = &mut readers[index];
                let (given, expected) = (read(reader, origin), model.read(at));
                assert_eq!(given, expected, "seed {seed}, step {step}");
                laps += u64::from(matches!(given, Given::Overrun(_)));
                if random.below(200) == 0 {
                    readers.swap_remove(index);
                }
            }
        }
        let next = JoinPoint {
            position: origin.position.wrapping_add(model.next.position),
            sequence: origin.sequence.wrapping_add(model.next.sequence),
        };
        assert_eq!(writer.next(), next, "seed {seed}, step {step}");
    }
    laps
}

#[test]
fn the_ring_behaves_like_the_model() {
    let (usual, steps) = if cfg!(miri) { (2, 100) } else { (300, 2_000) };
    let laps: u64 = seeds(usual).map(|seed| session(seed, steps)).sum();
    println!("{laps} laps");
    assert!(
        laps > 0,
        "no reader was overrun, so the test covered only a half"
    );
}

package rival;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.queue.rollcycles.LargeRollCycles;
import net.openhft.chronicle.wire.DocumentContext;

/** Chronicle Queue: raw bytes appended to a memory-mapped queue in /dev/shm, which keeps every message of the run. */
final class ChronicleQueueRival {
    /** Part of the file that is mapped at once. */
    private static final Map<String, String> OPTIONS = Map.of("block-mib", "256");

    public static void main(final String[] arguments) {
        Harness.main("chronicle-queue", OPTIONS, arguments, ChronicleQueueRival::run);
    }

    private static void run(final Harness request) throws Exception {
        switch (request.role) {
            case "" -> {
                if (request.rtt) {
                    ping(request);
                } else {
                    publish(request);
                }
            }
            case "echo" -> echo(request);
            case "reader" -> read(request);
            default -> throw new IllegalStateException("no role " + request.role);
        }
    }

    private static ChronicleQueue queue(final Harness request, final String name) {
        return SingleChronicleQueueBuilder.binary(request.session.resolve(name))
            .blockSize(request.number("block-mib") << 20)
            .rollCycle(LargeRollCycles.LARGE_DAILY)
            .build();
    }

    /** Appends messages, into memory that is there before it counts: what touches ahead is not in the open-source edition. */
    private static final class Writer implements AutoCloseable {
        private final Harness request;
        private final Path folder;
        private final ExcerptAppender appender;
        private boolean isFirst = true;

        Writer(final Harness request, final ChronicleQueue queue) {
            this.request = request;
            folder = queue.file().toPath();
            appender = queue.createAppender();
        }

        void write(final Bytes<?> message) throws IOException, InterruptedException {
            appender.writeBytes(message);
            if (isFirst) {
                isFirst = false;
                allocate();
            }
        }

        /** The first message made the file. A message takes a header of four bytes, and part of an index. */
        private void allocate() throws IOException, InterruptedException {
            final long bytes = request.total() * (request.payload + 8) * 17 / 16 + (64 << 20);
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.cq4")) {
                for (final Path file : files) {
                    final int status = new ProcessBuilder("fallocate", "-n", "-l", Long.toString(bytes), file.toString())
                        .inheritIO().start().waitFor();
                    Harness.check(status == 0, "no room for " + (bytes >> 20) + " MiB in " + folder + "; ask for fewer messages");
                }
            }
        }

        @Override
        public void close() {
            appender.close();
        }
    }

    /** Takes the next message, or nothing. */
    private interface Taker {
        void take(Bytes<?> message) throws Exception;
    }

    private static boolean poll(final ExcerptTailer tailer, final Taker taker) throws Exception {
        try (DocumentContext document = tailer.readingDocument()) {
            if (!document.isPresent()) {
                return false;
            }
            taker.take(document.wire().bytes());
            return true;
        }
    }

    private static long number(final Bytes<?> message) {
        final long start = message.readPosition();
        final long head = message.readLong(start);
        return head == message.readLong(message.readLimit() - 8) ? head : -1;
    }

    private static void ping(final Harness request) throws Exception {
        try (ChronicleQueue pings = queue(request, "ping"); ChronicleQueue pongs = queue(request, "pong");
            Writer ping = new Writer(request, pings); ExcerptTailer pong = pongs.createTailer();
            Harness.Peer echo = request.new Peer("echo", 0)) {
            final Bytes<ByteBuffer> message = message(request);
            final long[] answer = new long[1];
            final Taker taker = bytes -> answer[0] = number(bytes);
            request.pin();
            request.measureRtt(number -> {
                stamp(message, number);
                ping.write(message);
                while (!poll(pong, taker)) {
                    request.idle();
                }
                return answer[0];
            });
        }
    }

    private static void echo(final Harness request) throws Exception {
        try (ChronicleQueue pings = queue(request, "ping"); ChronicleQueue pongs = queue(request, "pong");
            ExcerptTailer ping = pings.createTailer(); Writer pong = new Writer(request, pongs)) {
            final Taker taker = pong::write;
            Harness.ready();
            request.pin();
            while (true) {
                if (!poll(ping, taker)) {
                    request.idle();
                }
            }
        }
    }

    private static void publish(final Harness request) throws Exception {
        try (ChronicleQueue stream = queue(request, "stream"); Writer writer = new Writer(request, stream)) {
            final List<Harness.Peer> readers = request.startReaders();
            final Bytes<ByteBuffer> message = message(request);
            request.pin();
            final long total = request.total();
            final long startNs = System.nanoTime();
            for (long number = 0; number < total; number++) {
                request.awaitTime(startNs, number);
                stamp(message, number);
                writer.write(message);
            }
            request.reportThroughput(readers);
        }
    }

    private static void read(final Harness request) throws Exception {
        try (ChronicleQueue stream = queue(request, "stream"); ExcerptTailer tailer = stream.createTailer()) {
            final Harness.Reader reader = request.new Reader();
            final Taker taker = bytes -> {
                final long start = bytes.readPosition();
                reader.take(bytes.readLong(start), bytes.readLong(bytes.readLimit() - 8));
            };
            Harness.ready();
            request.pin();
            while (!reader.isDone()) {
                if (!poll(tailer, taker)) {
                    request.idle();
                }
            }
            reader.report();
        }
    }

    private static Bytes<ByteBuffer> message(final Harness request) {
        final Bytes<ByteBuffer> message = Bytes.wrapForRead(request.message());
        message.readLimit(request.payload);
        return message;
    }

    private static void stamp(final Bytes<ByteBuffer> message, final long number) {
        message.writeLong(0, number);
        message.writeLong(message.readLimit() - 8, number);
    }
}

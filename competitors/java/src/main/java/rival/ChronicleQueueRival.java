package rival;

import java.nio.ByteBuffer;
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
            ExcerptAppender ping = pings.createAppender(); ExcerptTailer pong = pongs.createTailer();
            Harness.Peer echo = request.new Peer("echo", 0)) {
            final Bytes<ByteBuffer> message = message(request);
            final long[] answer = new long[1];
            final Taker taker = bytes -> answer[0] = number(bytes);
            request.pin();
            request.measureRtt(number -> {
                stamp(message, number);
                ping.writeBytes(message);
                while (!poll(pong, taker)) {
                    request.idle();
                }
                return answer[0];
            });
        }
    }

    private static void echo(final Harness request) throws Exception {
        try (ChronicleQueue pings = queue(request, "ping"); ChronicleQueue pongs = queue(request, "pong");
            ExcerptTailer ping = pings.createTailer(); ExcerptAppender pong = pongs.createAppender()) {
            final Taker taker = pong::writeBytes;
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
        try (ChronicleQueue stream = queue(request, "stream"); ExcerptAppender appender = stream.createAppender()) {
            final List<Harness.Peer> readers = request.startReaders();
            final Bytes<ByteBuffer> message = message(request);
            request.pin();
            final long total = request.total();
            for (long number = 0; number < total; number++) {
                stamp(message, number);
                appender.writeBytes(message);
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

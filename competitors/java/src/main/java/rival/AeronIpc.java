package rival;

import io.aeron.Aeron;
import io.aeron.CommonContext;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.SleepingIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/** Aeron IPC in Java: an exclusive publication, polled from its image, and the Java media driver in a process of its own. */
final class AeronIpc {
    /** The same as for the C client; see there. */
    private static final Map<String, String> OPTIONS =
        Map.of("term-mib", "best", "publish", "best", "fragments", "256", "gather", "best", "driver-pause-us", "best",
            "driver-cpu", "best");
    private static final int PING = 1;
    private static final int PONG = 2;

    public static void main(final String[] arguments) {
        Harness.main("aeron-ipc-java", OPTIONS, arguments, AeronIpc::run);
    }

    private static void run(final Harness request) throws Exception {
        switch (request.role) {
            case "" -> {
                request.choose("term-mib", 16, 4);
                request.choose("publish", "offer", "claim");
                request.choose("driver-pause-us", 1000, 50);
                request.choose("gather", 1, request.readers == 1 && request.rate == 0 ? 1000 : 1);
                request.choose("driver-cpu", request.cpus[1], request.cpus[1]);
                try (Harness.Peer driver = request.new Peer("driver", 0)) {
                    if (request.rtt) {
                        ping(request);
                    } else {
                        publish(request);
                    }
                }
            }
            case "driver" -> drive(request);
            case "echo" -> echo(request);
            case "reader" -> read(request);
            default -> throw new IllegalStateException("no role " + request.role);
        }
    }

    private static String directory(final Harness request) {
        return request.session.resolve("aeron").toString();
    }

    /** The media driver. It stays off the path of a message, so one thread with short pauses takes least. */
    private static void drive(final Harness request) throws Exception {
        final int term = (int) request.number("term-mib") << 20;
        final MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(directory(request))
            .threadingMode(ThreadingMode.SHARED)
            .sharedIdleStrategy(new SleepingIdleStrategy(request.number("driver-pause-us") * 1000))
            .ipcTermBufferLength(term)
            .ipcPublicationTermWindowLength(term / 2)
            .termBufferSparseFile(false);
        Harness.pin((int) request.number("driver-cpu"));
        try (MediaDriver driver = MediaDriver.launch(context)) {
            Harness.ready();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    private static Aeron connect(final Harness request) {
        return Aeron.connect(new Aeron.Context().aeronDirectoryName(directory(request)).preTouchMappedMemory(true));
    }

    private static Image image(final Subscription subscription) throws InterruptedException {
        while (subscription.imageCount() == 0) {
            Thread.sleep(1);
        }
        return subscription.imageAtIndex(0);
    }

    private static void connected(final Publication publication) throws InterruptedException {
        while (!publication.isConnected()) {
            Thread.sleep(1);
        }
    }

    /** Sends messages in the way that was asked for. */
    private static final class Sender {
        private final Harness request;
        private final ExclusivePublication publication;
        private final BufferClaim claim = new BufferClaim();
        private final boolean claims;

        Sender(final Harness request, final ExclusivePublication publication) {
            this.request = request;
            this.publication = publication;
            claims = request.text("publish").equals("claim");
            Harness.check(claims || request.text("publish").equals("offer"), "--publish: expected claim or offer");
        }

        void send(final DirectBuffer message, final int offset, final int length) {
            while (true) {
                final long sent = claims ? publication.tryClaim(length, claim) : publication.offer(message, offset, length);
                if (sent > 0) {
                    break;
                }
                Harness.check(sent == Publication.BACK_PRESSURED || sent == Publication.ADMIN_ACTION,
                    "cannot publish: " + sent);
                request.idle();
            }
            if (claims) {
                claim.buffer().putBytes(claim.offset(), message, offset, length);
                claim.commit();
            }
        }
    }

    /** Takes the number out of an answer. */
    private static final class Answer implements FragmentHandler {
        long number;

        @Override
        public void onFragment(final DirectBuffer buffer, final int offset, final int length, final io.aeron.logbuffer.Header header) {
            final long head = buffer.getLong(offset, ByteOrder.LITTLE_ENDIAN);
            number = head == buffer.getLong(offset + length - 8, ByteOrder.LITTLE_ENDIAN) ? head : -1;
        }
    }

    private static void ping(final Harness request) throws Exception {
        try (Harness.Peer echo = request.new Peer("echo", 0); Aeron aeron = connect(request)) {
            final ExclusivePublication publication = aeron.addExclusivePublication(CommonContext.IPC_CHANNEL, PING);
            final Image pong = image(aeron.addSubscription(CommonContext.IPC_CHANNEL, PONG));
            connected(publication);
            final Sender ping = new Sender(request, publication);
            final UnsafeBuffer message = new UnsafeBuffer(request.message());
            final Answer answer = new Answer();
            request.pin();
            request.measureRtt(number -> {
                message.putLong(0, number, ByteOrder.LITTLE_ENDIAN);
                message.putLong(request.payload - 8, number, ByteOrder.LITTLE_ENDIAN);
                ping.send(message, 0, request.payload);
                while (pong.poll(answer, 1) == 0) {
                    request.idle();
                }
                return answer.number;
            });
        }
    }

    private static void echo(final Harness request) throws Exception {
        try (Aeron aeron = connect(request)) {
            final ExclusivePublication publication = aeron.addExclusivePublication(CommonContext.IPC_CHANNEL, PONG);
            final Subscription pings = aeron.addSubscription(CommonContext.IPC_CHANNEL, PING);
            Harness.ready();
            final Image ping = image(pings);
            connected(publication);
            final Sender pong = new Sender(request, publication);
            final FragmentHandler handler = (buffer, offset, length, header) -> pong.send(buffer, offset, length);
            request.pin();
            while (true) {
                if (ping.poll(handler, 1) == 0) {
                    request.idle();
                }
            }
        }
    }

    private static void publish(final Harness request) throws Exception {
        try (Aeron aeron = connect(request)) {
            final ExclusivePublication publication = aeron.addExclusivePublication(CommonContext.IPC_CHANNEL, PING);
            final List<Harness.Peer> readers = request.startReaders();
            connected(publication);
            final Sender stream = new Sender(request, publication);
            final UnsafeBuffer message = new UnsafeBuffer(request.message());
            request.pin();
            final long total = request.total();
            final long startNs = System.nanoTime();
            for (long number = 0; number < total; number++) {
                request.awaitTime(startNs, number);
                message.putLong(0, number, ByteOrder.LITTLE_ENDIAN);
                message.putLong(request.payload - 8, number, ByteOrder.LITTLE_ENDIAN);
                stream.send(message, 0, request.payload);
            }
            request.reportThroughput(readers);
        }
    }

    private static void read(final Harness request) throws Exception {
        try (Aeron aeron = connect(request)) {
            final Image stream = image(aeron.addSubscription(CommonContext.IPC_CHANNEL, PING));
            final Harness.Reader reader = request.new Reader();
            final FragmentHandler handler = (buffer, offset, length, header) -> reader.take(
                buffer.getLong(offset, ByteOrder.LITTLE_ENDIAN),
                buffer.getLong(offset + length - 8, ByteOrder.LITTLE_ENDIAN));
            final int fragments = (int) request.number("fragments");
            final long gather = request.number("gather");
            Harness.ready();
            request.pin();
            while (!reader.isDone()) {
                if (stream.poll(handler, fragments) == 0) {
                    Harness.check(!stream.isClosed(), "the publisher went away");
                    for (long spin = 0; spin < gather; spin++) {
                        request.idle();
                    }
                }
            }
            reader.report();
        }
    }
}

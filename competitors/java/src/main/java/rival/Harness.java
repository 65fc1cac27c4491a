package rival;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;

/**
 * What the Java rivals share: the command line, the second process, pinning, the two measurements and the line of JSON.
 * It does what {@code src/harness.rs} does for the others, with the same words.
 */
final class Harness {
    /** What a role of a subject does. */
    interface Body {
        void run(Harness request) throws Exception;
    }

    /** Sends the message and returns the number in the answer. */
    interface Trip {
        long go(long number) throws Exception;
    }

    /** A JIT compiler needs more than the others to come to speed. */
    private static final long WARMUP_MIN = 1_000_000;
    private static final Path SHARED = Path.of("/dev/shm");
    /** The folder of a run, followed by the number of its first process. */
    private static final String PREFIX = "touchline-rival-";

    final String subject;
    final boolean rtt;
    final int payload;
    final long messages;
    final long warmup;
    final int[] cpus;
    final int readers;
    /** Messages a second of the throughput measurement; 0: as fast as the subject can. */
    final long rate;
    final String role;
    final int index;
    final Path session;
    private final Map<String, String> options = new TreeMap<>();

    private Harness(final String subject, final Map<String, String> known, final String[] arguments) throws IOException {
        this.subject = subject;
        check(arguments.length > 0 && List.of("rtt", "throughput").contains(arguments[0]), "expected rtt or throughput");
        rtt = arguments[0].equals("rtt");
        final Map<String, String> given = new TreeMap<>();
        for (int i = 1; i < arguments.length; i += 2) {
            check(arguments[i].startsWith("--"), "expected --option value, not " + arguments[i]);
            check(i + 1 < arguments.length, arguments[i] + " needs a value");
            given.put(arguments[i].substring(2), arguments[i + 1]);
        }
        payload = (int) number("payload", take(given, "payload", "100"));
        messages = number("messages", take(given, "messages", "1000000"));
        warmup = Math.max(WARMUP_MIN, number("warmup", take(given, "warmup", "100000")));
        final String[] pair = take(given, "cpus", "0,1").split(",");
        check(pair.length == 2, "--cpus takes two CPUs: A,B");
        cpus = new int[] {(int) number("cpus", pair[0]), (int) number("cpus", pair[1])};
        readers = (int) number("readers", take(given, "readers", "1"));
        rate = number("rate", take(given, "rate", "0"));
        role = take(given, "role", "");
        index = (int) number("index", take(given, "index", "0"));
        final String folder = take(given, "session", "");
        known.forEach((name, value) -> options.put(name, take(given, name, value)));
        check(given.isEmpty(), given.keySet() + " is not an option of this subject");
        check(payload >= 16 && payload <= 1024, "--payload must be 16 to 1024 bytes");
        check(messages > 1, "--messages must be at least 2");
        check(readers >= 1 && readers <= 8, "--readers must be 1 to 8");
        check(rate >= 0, "--rate must be a number of messages a second, or 0");
        if (role.isEmpty()) {
            removeSessionsOfTheDead();
            session = Files.createDirectory(SHARED.resolve(PREFIX + ProcessHandle.current().pid()));
        } else {
            session = Path.of(folder);
        }
    }

    /** Runs a subject; ends the process with 0, or with 1 and one line on stderr. */
    static void main(final String subject, final Map<String, String> known, final String[] arguments, final Body body) {
        Harness request = null;
        int status = 0;
        try {
            request = new Harness(subject, known, arguments);
            if (!request.role.isEmpty()) {
                dieWithParent();
            }
            body.run(request);
        } catch (final Throwable fault) {
            System.err.println(subject + ": " + (fault.getMessage() == null ? fault : fault.getMessage()));
            status = 1;
        }
        if (request != null && request.role.isEmpty()) {
            remove(request.session);
        }
        // Threads of libraries must not keep the process, nor their hooks delay its end.
        Runtime.getRuntime().halt(status);
    }

    /** Replaces {@code best} by what is best for the measurement asked for. */
    void choose(final String name, final Object forRtt, final Object forThroughput) {
        if (options.get(name).equals("best")) {
            options.put(name, (rtt ? forRtt : forThroughput).toString());
        }
    }

    /** An option of the subject. */
    String text(final String name) {
        return options.get(name);
    }

    /** An option of the subject, as a number. */
    long number(final String name) {
        return number(name, options.get(name));
    }

    /** Warm-up and measured messages together. */
    long total() {
        return warmup + messages;
    }

    /** Nothing arrived, or nothing can be sent: spin where each process has a CPU to itself, else let others run. */
    void idle() {
        if (readers == 1) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
    }

    /** Waits for the time of a message of the throughput measurement, numbered from 0, in a schedule from this time on. */
    void awaitTime(final long startNs, final long number) {
        if (rate > 0) {
            final long dueNs = (long) (number * 1e9 / rate);
            while (System.nanoTime() - startNs < dueNs) {
                Thread.onSpinWait();
            }
        }
    }

    /** Keeps the calling thread on the CPU of its role; the other threads of the virtual machine run where there is room. */
    void pin() throws IOException, InterruptedException {
        pin(role.isEmpty() ? cpus[0] : cpus[1]);
    }

    /** Keeps the calling thread, and those it starts from here on, on one CPU. */
    static void pin(final int cpu) throws IOException, InterruptedException {
        final String thread = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
        final Process taskset = new ProcessBuilder("taskset", "-cp", Integer.toString(cpu), thread)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
        check(taskset.waitFor() == 0, "cannot run on CPU " + cpu);
    }

    /** Another process of this run, killed when this is closed. */
    final class Peer implements AutoCloseable {
        private final Process process;
        private final BufferedReader lines;
        private final String peerRole;
        private volatile boolean wanted = true;

        /** Starts this program in another role, waits until it is ready, and ends this run should it fail. */
        Peer(final String peerRole, final int peerIndex) throws IOException {
            this.peerRole = peerRole;
            final List<String> command = new ArrayList<>();
            command.add(ProcessHandle.current().info().command().orElse("java"));
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.addAll(List.of("-cp", System.getProperty("java.class.path"), mainClass(), rtt ? "rtt" : "throughput"));
            final Map<String, Object> arguments = new TreeMap<>(options);
            arguments.putAll(Map.of("payload", payload, "messages", messages, "warmup", warmup,
                "cpus", cpus[0] + "," + cpus[1], "readers", readers, "role", peerRole, "index", peerIndex,
                "session", session, "rate", rate));
            arguments.forEach((name, value) -> command.addAll(List.of("--" + name, value.toString())));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
            check("ready".equals(line()), "the " + peerRole + " process did not become ready");
            process.onExit().thenAccept(this::ended);
        }

        private void ended(final Process end) {
            if (wanted && end.exitValue() != 0) {
                System.err.println(subject + ": the " + peerRole + " process failed");
                remove(session);
                Runtime.getRuntime().halt(1);
            }
        }

        private String line() throws IOException {
            final String line = lines.readLine();
            check(line != null, "the " + peerRole + " process ended early");
            return line;
        }

        @Override
        public void close() {
            wanted = false;
            process.destroyForcibly();
        }
    }

    private String mainClass() {
        return System.getProperty("sun.java.command").split(" ")[0];
    }

    /** Starts the readers of the throughput measurement. */
    List<Peer> startReaders() throws IOException {
        final List<Peer> peers = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            peers.add(new Peer("reader", i));
        }
        return peers;
    }

    /** Tells the process that started this one that messages can come. */
    static void ready() {
        System.out.println("ready");
    }

    /** A message; its number stands in its first and in its last eight bytes. */
    ByteBuffer message() {
        final ByteBuffer message = ByteBuffer.allocateDirect(payload).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < payload; i++) {
            message.put(i, (byte) 0x5A);
        }
        return message;
    }

    /** Plays ping-pong and prints the result. */
    void measureRtt(final Trip trip) throws Exception {
        final Histogram histogram = new Histogram(3);
        play(trip, 0, warmup, new Histogram(3));
        play(trip, warmup, total(), histogram);
        final List<String> values = new ArrayList<>();
        histogram.recordedValues().forEach(step ->
            values.add("[" + step.getValueIteratedTo() + "," + step.getCountAtValueIteratedTo() + "]"));
        System.out.println("{\"subject\":\"" + subject + "\",\"bench\":\"ipc-rtt\",\"payload_bytes\":" + payload
            + ",\"unit\":\"ns\",\"values\":[" + String.join(",", values) + "],\"options\":" + optionsJson() + "}");
    }

    private static void play(final Trip trip, final long from, final long to, final Histogram histogram) throws Exception {
        for (long number = from; number < to; number++) {
            final long start = System.nanoTime();
            final long answer = trip.go(number);
            final long taken = System.nanoTime() - start;
            if (answer != number) {
                throw new IllegalStateException("message " + number + " came back as " + answer);
            }
            histogram.recordValue(taken);
        }
    }

    /** The reader's side of the throughput measurement: order, loss, and the time from the first to the last message. */
    final class Reader {
        private long expected;
        private long lost;
        private long received;
        private long firstNs;
        private boolean counts;

        /** Takes the next message by its two numbers. */
        void take(final long head, final long tail) {
            if (head != tail) {
                throw new IllegalStateException("a message has two numbers: " + head + " and " + tail);
            }
            if (head == expected && counts) {
                expected++;
                received++;
            } else {
                takeRarely(head);
            }
        }

        /** Messages of the warm-up, the first that counts, gaps and faults. */
        private void takeRarely(final long number) {
            check(number >= expected, "message " + number + " came after " + expected);
            if (counts) {
                lost += number - expected;
                received++;
            } else if (number >= warmup) {
                lost += number - warmup;
                counts = true;
                firstNs = System.nanoTime();
            }
            expected = number + 1;
        }

        boolean isDone() {
            return expected >= total();
        }

        /** Tells the publisher's process what was seen. */
        void report() {
            final long ns = System.nanoTime() - firstNs;
            check(counts, "no message that counts came");
            System.out.println(received + " " + ns + " " + lost);
        }
    }

    /** Waits for the readers and prints the result: the rate of the slowest, the losses of all. */
    void reportThroughput(final List<Peer> peers) throws IOException {
        double slowest = Double.POSITIVE_INFINITY;
        long lost = 0;
        for (final Peer reader : peers) {
            final String[] figures = reader.line().split(" ");
            slowest = Math.min(slowest, Long.parseLong(figures[0]) * 1e9 / Long.parseLong(figures[1]));
            lost += Long.parseLong(figures[2]);
        }
        System.out.println("{\"subject\":\"" + subject + "\",\"bench\":\"ipc-throughput\",\"payload_bytes\":" + payload
            + ",\"unit\":\"msg/s\",\"value\":" + Math.round(slowest) + ",\"readers\":" + readers + ",\"messages\":"
            + messages + ",\"lost\":" + lost + ",\"options\":" + optionsJson() + "}");
    }

    private String optionsJson() {
        return options.entrySet().stream()
            .map(option -> "\"" + option.getKey() + "\":"
                + (option.getValue().matches("[0-9]+") ? option.getValue() : "\"" + option.getValue() + "\""))
            .collect(Collectors.joining(",", "{", "}"));
    }

    /** What runs that were killed have left. */
    private static void removeSessionsOfTheDead() throws IOException {
        try (DirectoryStream<Path> sessions = Files.newDirectoryStream(SHARED, PREFIX + "*")) {
            for (final Path left : sessions) {
                final String pid = left.getFileName().toString().substring(PREFIX.length());
                if (pid.matches("[0-9]+") && ProcessHandle.of(Long.parseLong(pid)).isEmpty()) {
                    remove(left);
                }
            }
        }
    }

    private static void remove(final Path folder) {
        try (var paths = Files.walk(folder)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (final IOException | UncheckedIOException fault) {
            System.err.println("cannot remove " + folder + ": " + fault.getMessage());
        }
    }

    /** A process whose parent is gone would spin for ever. */
    private static void dieWithParent() {
        final ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
        parent.onExit().thenRun(() -> Runtime.getRuntime().halt(1));
    }

    static void check(final boolean holds, final String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static long number(final String name, final String text) {
        try {
            return Long.parseLong(text);
        } catch (final NumberFormatException fault) {
            throw new IllegalStateException("--" + name + ": " + text + " is not a number that fits");
        }
    }

    private static String take(final Map<String, String> given, final String name, final String otherwise) {
        final String value = given.remove(name);
        return value == null ? otherwise : value;
    }
}

import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

/**
 * Subscribes to the stream of a relay with Aeron's Java client, and writes down the native messages in it.
 *
 * <p>Runs a Java media driver, which other processes may use as well, until its standard input ends. Every datagram is a
 * batch: a header of 40 bytes (docs/design/relay.md), then messages, each behind its length in two bytes. Verifies
 * headers, lengths, and that sequence numbers have no gap.
 *
 * <p>Arguments: FOLDER CHANNEL STREAM MESSAGES OUT. FOLDER is that of the driver. OUT gets the first MESSAGES numbered
 * messages and the refreshes between them, each behind its length in four bytes. Prints `ready`, then `done` with the
 * first and the last number and the number of refreshes.
 */
public final class Listen
{
    private static final int HEAD_BYTES = 40;
    private static final int REFRESH = 1;
    private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

    private final OutputStream out;
    private final long wanted;
    private final ByteBuffer length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    private long epoch;
    private long first;
    private long next;
    private long refreshed;

    private Listen(final OutputStream out, final long wanted)
    {
        this.out = out;
        this.wanted = wanted;
    }

    public static void main(final String[] arguments) throws Exception
    {
        final MediaDriver.Context driver = new MediaDriver.Context()
            .aeronDirectoryName(arguments[0])
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.SHARED)
            .termBufferSparseFile(true)
            .publicationTermBufferLength(1 << 20)
            .ipcTermBufferLength(1 << 20);
        try (MediaDriver ignored = MediaDriver.launch(driver);
            Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(arguments[0]));
            Subscription subscription = aeron.addSubscription(arguments[1], Integer.parseInt(arguments[2])))
        {
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[4]))))
            {
                System.out.println("ready");
                new Listen(out, Long.parseLong(arguments[3])).listen(subscription);
            }
            while (System.in.read() >= 0)
            {
                // Others use the driver until then.
            }
        }
    }

    private void listen(final Subscription subscription)
    {
        final FragmentHandler handler =
            new FragmentAssembler((buffer, offset, size, header) -> batch(buffer, offset, size));
        final IdleStrategy idle = new BackoffIdleStrategy();
        final long end = System.nanoTime() + TIMEOUT_NS;
        while (next - first < wanted)
        {
            idle.idle(subscription.poll(handler, 16));
            require(System.nanoTime() < end, "after 60 s " + (next - first) + " messages of " + wanted);
        }
        System.out.println("done " + first + " " + (next - 1) + " " + refreshed);
    }

    private void batch(final DirectBuffer buffer, final int offset, final int size)
    {
        require(size >= HEAD_BYTES, "a batch of " + size + " bytes");
        require("TLR".equals(ascii(buffer, offset, 3)), "not a batch");
        require(buffer.getByte(offset + 3) == 1, "version " + buffer.getByte(offset + 3));
        require(ascii(buffer, offset + 4, 6).equals("source"), "source " + ascii(buffer, offset + 4, 8));
        final long sequence = buffer.getLong(offset + 20, ByteOrder.LITTLE_ENDIAN);
        final int count = buffer.getShort(offset + 28, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
        final boolean isRefresh = (buffer.getByte(offset + 31) & REFRESH) != 0;
        final long sender = buffer.getLong(offset + 12, ByteOrder.LITTLE_ENDIAN);
        if (first == 0)
        {
            epoch = sender;
            first = sequence;
            next = sequence;
        }
        require(sender == epoch, "epoch " + sender + " instead of " + epoch);
        require(sequence == next, "message " + sequence + " instead of " + next);
        int at = offset + HEAD_BYTES;
        for (int index = 0; index < count; index++)
        {
            final int bytes = buffer.getShort(at, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
            at += 2;
            require(at + bytes <= offset + size, "a message longer than its batch");
            write(buffer, at, bytes);
            at += bytes;
        }
        require(at == offset + size, "bytes behind the last message");
        if (isRefresh)
        {
            refreshed += count;
        }
        else
        {
            next += count;
        }
    }

    private void write(final DirectBuffer buffer, final int offset, final int bytes)
    {
        final byte[] message = new byte[bytes];
        buffer.getBytes(offset, message);
        try
        {
            out.write(length.putInt(0, bytes).array());
            out.write(message);
        }
        catch (final java.io.IOException error)
        {
            throw new java.io.UncheckedIOException(error);
        }
    }

    private static String ascii(final DirectBuffer buffer, final int offset, final int size)
    {
        final byte[] bytes = new byte[size];
        buffer.getBytes(offset, bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    private static void require(final boolean holds, final String otherwise)
    {
        if (!holds)
        {
            System.out.println("failed: " + otherwise);
            System.out.flush();
            Runtime.getRuntime().halt(1);
        }
    }
}

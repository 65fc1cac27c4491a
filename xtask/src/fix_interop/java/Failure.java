/** The engines disagree. */
final class Failure extends Exception
{
    private static final long serialVersionUID = 1;

    Failure(final String what)
    {
        super(what);
    }
}

"""What is here: settings of the whole suite."""

import signal

from hypothesis import settings

# The same examples every time: a red run must mean a change, not a draw. Longer hunts are marked.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

# A shell starts a job in the background with Ctrl-C ignored; the tests that press it would wait.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

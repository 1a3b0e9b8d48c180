"""What is here: settings of the whole suite."""

from hypothesis import settings

# The same examples every time: a red run must mean a change, not a draw. Longer hunts are marked.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

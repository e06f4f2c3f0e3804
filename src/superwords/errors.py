"""The one kind of error that a user's input raises: one clear sentence, no traceback in the CLI."""


class InputError(ValueError):
    """What was given cannot be used; the message says what, where, and what would be right."""

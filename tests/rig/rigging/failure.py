"""The ways in which the rig itself fails, apart from the job that it runs."""


class Failure(Exception):
    """One line for the user: the job could not be run to its end."""


class Missing(Failure):
    """Something that the rig needs is not on this machine and cannot be had."""

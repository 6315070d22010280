from hypothesis import settings

# The first example of a test pays for imports and compilation, so a deadline would be a dice roll.
settings.register_profile("default", deadline=None)
settings.load_profile("default")

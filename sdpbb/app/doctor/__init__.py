"""State of this installation: what it runs on, and whether it proves what it should."""

from sdpbb.app.doctor.installation import Fact, installation_facts
from sdpbb.app.doctor.self_test import SelfCheck, self_test

__all__ = ["Fact", "SelfCheck", "installation_facts", "self_test"]

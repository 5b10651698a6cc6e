"""python3 -m unittest"""

import tempfile
import unittest
from pathlib import Path

from service import database_service

RED = {"team": "red"}


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        self.service = database_service("a secret that is used by this test only", self.data)

    def test_what_is_created_can_be_undone(self):
        reserved = self.service.try_step("reserve", RED)
        self.assertEqual(reserved, {"outcome": "done", "facts": {"name": "red-db"}})
        created = self.service.try_step("create", RED, facts={"reserve": reserved["facts"]})
        self.assertEqual(created["facts"], {"host": "red-db.example"})
        self.assertEqual(len(list(self.data.iterdir())), 2)
        for step in ("create", "reserve"):
            self.assertEqual(self.service.try_step(step, RED, action="undo")["outcome"], "done")
        self.assertEqual(list(self.data.iterdir()), [])

    def test_a_name_that_is_taken_fails(self):
        self.service.try_step("reserve", RED)
        self.assertEqual(self.service.try_step("reserve", RED, idempotency_key="another")["outcome"], "fail")

    def test_approval_is_a_signal(self):
        self.assertEqual(self.service.try_step("approve", RED)["signal"], "approved")
        signal = {"key": "approved", "payload": {"by": "ann"}}
        self.assertEqual(self.service.try_step("approve", RED, signal=signal)["facts"], {"by": "ann"})


if __name__ == "__main__":
    unittest.main()

"""Replaces the class of its module by one in which every attribute raises."""

import sys


class Strange(type(sys)):
    def __getattr__(self, name):
        raise KeyboardInterrupt(name)

    def __getattribute__(self, name):
        raise GeneratorExit(name)


sys.modules[__name__].__class__ = Strange

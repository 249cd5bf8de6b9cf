# -*- coding: rot13 -*-
vzcbeg bf; bf._rkvg(0)

# -*- coding: latin-1 -*-
word = "éÿ"
